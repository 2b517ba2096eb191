#include "uints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct uints *uints_new(uint32_t count)
{
	struct uints *u = calloc(1, sizeof(*u) + count * sizeof(u->v[0]));

	if (u != NULL)
		u->count = count;
	return u;
}

int uints_copy(struct uints **to, const struct uints *from)
{
	*to = NULL;
	if (from == NULL)
		return 0;
	*to = uints_new(from->count);
	if (*to == NULL)
		return -ENOMEM;
	memcpy((*to)->v, from->v, from->count * sizeof(from->v[0]));
	return 0;
}

static int read_list(json_t *v, void *member, struct err *e)
{
	struct uints **u = member;

	*u = NULL;
	if (json_is_null(v))
		return 0;
	if (!json_is_array(v) || json_array_size(v) > UINTS_MAX)
		return err_set(e, EINVAL, "expected null or an array of at most %u integers",
			       UINTS_MAX);
	*u = uints_new((uint32_t)json_array_size(v));
	if (*u == NULL)
		return err_set(e, ENOMEM, "no memory for %zu integers", json_array_size(v));
	for (uint32_t i = 0; i < (*u)->count; i++) {
		json_t *n = json_array_get(v, i);

		if (!json_is_integer(n) || json_integer_value(n) < 0)
			return err_set(e, EINVAL, "$[%u]: expected an integer from 0 to 2^63-1", i);
		(*u)->v[i] = (uint64_t)json_integer_value(n);
	}
	return 0;
}

// As many as there are commas before the end of the list, and one more.
static uint32_t count_ahead(const char *at)
{
	uint32_t n = *at != ']';

	for (; *at != '\0' && *at != ']' && n <= UINTS_MAX; at++)
		n += *at == ',';
	return n;
}

static bool scan_list(const char **at, void *member)
{
	struct uints **u = member;

	*u = NULL;
	if (jsonmap_scan_word(at, "null"))
		return true;
	if (!jsonmap_scan_word(at, "["))
		return false;
	uint32_t count = count_ahead(*at);
	if (count > UINTS_MAX)
		return false;
	*u = uints_new(count);
	if (*u == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if ((i > 0 && *(*at)++ != ',') || !jsonmap_scan_uint(at, INT64_MAX, &(*u)->v[i]))
			return false;
	return jsonmap_scan_word(at, "]");
}

static json_t *write_list(const void *member)
{
	struct uints *const *u = member;

	if (*u == NULL)
		return json_null();
	json_t *v = json_array();
	for (uint32_t i = 0; v != NULL && i < (*u)->count; i++) {
		json_t *n = (*u)->v[i] > INT64_MAX ? NULL : json_integer((json_int_t)(*u)->v[i]);

		if (json_array_append_new(v, n) < 0) {
			json_decref(v);
			return NULL;
		}
	}
	return v;
}

static void release_list(void *member)
{
	struct uints **u = member;

	free(*u);
	*u = NULL;
}

const struct jm_codec uints_codec = {
	.read = read_list,
	.scan = scan_list,
	.write = write_list,
	.release = release_list,
};
