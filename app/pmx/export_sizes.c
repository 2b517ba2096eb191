#include "export_sizes.h"

#include <errno.h>
#include <stdlib.h>

int export_sizes_init(struct export_sizes *z, const struct result *r)
{
	*z = (struct export_sizes){ .mix = calloc(r->mix_count + 1, sizeof(*z->mix)) };
	if (z->mix == NULL)
		return -ENOMEM;
	for (; z->mix_count < r->mix_count; z->mix_count++) {
		const struct size_mix *from = &r->mix[z->mix_count];
		struct export_mix *to = &z->mix[z->mix_count];

		to->size = calloc(from->cycle->count, sizeof(*to->size));
		if (to->size == NULL)
			return -ENOMEM;
		to->count = mix_sizes(from, to->size);
	}
	return 0;
}

void export_sizes_free(struct export_sizes *z)
{
	for (size_t i = 0; i < z->mix_count; i++)
		free(z->mix[i].size);
	free(z->mix);
	*z = (struct export_sizes){ 0 };
}

// Where nothing was counted the cycle tells.
struct export_mean export_size_mean(const struct export_sizes *z, const struct export_way *way,
				    const struct sender *by)
{
	uint32_t mix = way->reply ? way->rep_mix : way->req_mix;
	struct export_mean sum = { 0 };
	double n = 0;

	if (mix == 0)
		return (struct export_mean){ way->bytes,
					     datagram_l1_bytes(by, by->tags, way->bytes) };
	const struct export_mix *m = &z->mix[mix - 1];
	const uint64_t *count = way->by_size != NULL ? way->by_size->v : NULL;
	if (count != NULL && way->second)
		count += way->by_size->count / 2;
	if (count != NULL && way->reply && way->req_mix > 0)
		count += z->mix[way->req_mix - 1].count;
	for (int weights = count == NULL; weights < 2 && n == 0; weights++)
		for (size_t i = 0; i < m->count; i++) {
			double k = weights ? m->size[i].weight : (double)count[i];

			n += k;
			sum.bytes += k * m->size[i].bytes;
			sum.l1_bytes += k * datagram_l1_bytes(by, by->tags, m->size[i].bytes);
		}
	return (struct export_mean){ sum.bytes / n, sum.l1_bytes / n };
}
