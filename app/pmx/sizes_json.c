#include "sizes_json.h"

#include "sizes.h"

#include <stdlib.h>

static void mix_put(struct json_put *j, const char *key, const struct size_mix *mix)
{
	struct mix_size *size = NULL;
	size_t n = 0;

	if (mix->cycle != NULL)
		size = malloc(mix->cycle->count * sizeof(*size));
	if (size == NULL) {
		json_put_null(j, key);
		return;
	}
	n = mix_sizes(mix, size);
	json_put_key(j, key);
	json_put_begin(j, '[');
	for (size_t i = 0; i < n; i++) {
		json_put_begin(j, '{');
		json_put_count(j, "bytes", size[i].bytes);
		json_put_count(j, "weight", size[i].weight);
		json_put_end(j, '}');
	}
	json_put_end(j, ']');
	free(size);
}

void sizes_json(struct json_put *j, const struct matrix *m)
{
	json_put_real(j, "request_bytes", request_mean(m));
	json_put_real(j, "reply_bytes", reply_mean(m));
	mix_put(j, "request_mix", &m->traffic.req_mix);
	mix_put(j, "reply_mix", &m->traffic.rep_mix);
}
