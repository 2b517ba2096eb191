#include "hist_json.h"

#include "hist.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// An integer of 0..max, or -1.
static json_int_t element(json_t *pair, size_t i, json_int_t max)
{
	json_t *v = json_array_get(pair, i);

	if (!json_is_integer(v) || json_integer_value(v) > max)
		return -1;
	return json_integer_value(v);
}

static int buckets_read(json_t *v, void *member, struct err *e)
{
	struct hist *h = member;
	uint64_t count = 0;
	json_int_t last = -1;

	if (!json_is_array(v))
		return err_set(e, EINVAL, "expected an array of [bucket, count]");
	for (size_t i = 0; i < json_array_size(v); i++) {
		json_t *pair = json_array_get(v, i);
		json_int_t bucket = element(pair, 0, HIST_BUCKETS - 1);
		json_int_t n = element(pair, 1, INT64_MAX);
		if (json_array_size(pair) != 2 || bucket <= last || n < 1)
			return err_set(e, EINVAL,
				       "$[%zu]: expected [bucket, count] with buckets ascending up "
				       "to %u and counts above 0",
				       i, HIST_BUCKETS - 1);
		if (count == 0 && hist_index(h->min_ns) != bucket)
			return err_set(e, EINVAL,
				       "$[0]: bucket %lld does not have the min_ns of %" PRIu64,
				       (long long)bucket, h->min_ns);
		if ((uint64_t)n > INT64_MAX - count)
			return err_set(e, ERANGE, "$[%zu]: the counts add up to more than 2^63", i);
		h->bucket[bucket] = (uint64_t)n;
		count += (uint64_t)n;
		last = bucket;
	}
	if (count != h->count)
		return err_set(e, EINVAL, "the counts add up to %" PRIu64 ", not to %" PRIu64,
			       count, h->count);
	if (hist_index(h->max_ns) != last || h->max_ns < h->min_ns)
		return err_set(e, EINVAL,
			       "the last bucket, %lld, does not have the max_ns of %" PRIu64,
			       (long long)last, h->max_ns);
	return 0;
}

static json_t *buckets_write(const void *member)
{
	const struct hist *h = member;
	json_t *v = json_array();

	for (uint32_t i = 0; v != NULL && i < HIST_BUCKETS; i++) {
		if (h->bucket[i] == 0)
			continue;
		json_t *pair = h->bucket[i] > INT64_MAX
				       ? NULL
				       : json_pack("[i, I]", (int)i, (json_int_t)h->bucket[i]);
		if (json_array_append_new(v, pair) < 0) {
			json_decref(v);
			return NULL;
		}
	}
	return v;
}

// `buckets` stands last: its check reads the fields before it.
static const struct jm_codec buckets_codec = { .read = buckets_read, .write = buckets_write };

#define AT(member) JM_AT(struct hist, member)
static const struct jm_row hist_row[] = {
	{ "count", JM_UINT, AT(count), .min = 1 },
	{ "min_ns", JM_UINT, AT(min_ns) },
	{ "max_ns", JM_UINT, AT(max_ns) },
	{ "sum_ns", JM_UINT, JM_UNKNOWN_NULL, AT(sum_ns) },
	{ "buckets", JM_CODEC, .codec = &buckets_codec },
};
#undef AT
static const struct jm_map hist_map = JM_MAP(hist_row, struct hist);

static int hist_read(json_t *v, void *member, struct err *e)
{
	struct hist **h = member;

	*h = NULL;
	if (json_is_null(v))
		return 0;
	*h = malloc(sizeof(**h));
	if (*h == NULL)
		return err_set(e, ENOMEM, "no memory for a histogram");
	return jsonmap_read(&hist_map, v, *h, e);
}

static json_t *hist_write(const void *member)
{
	const struct hist *const *h = member;

	if (*h == NULL)
		return json_null();

	struct hist *still = malloc(sizeof(*still));
	if (still == NULL)
		return NULL;
	hist_reset(still);
	hist_merge(still, *h);
	json_t *v = still->count == 0 ? json_null() : jsonmap_write(&hist_map, still);
	free(still);
	return v;
}

static void hist_release(void *member)
{
	struct hist **h = member;

	free(*h);
	*h = NULL;
}

const struct jm_codec hist_codec = {
	.read = hist_read,
	.write = hist_write,
	.release = hist_release,
};
