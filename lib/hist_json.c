#include "hist_json.h"

#include "hist.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// A histogram while it is read: what stands before the buckets, and those, packed.
struct reading {
	uint64_t count, min_ns, max_ns, sum_ns;
	struct hist_packed *packed; // owned
};

// An integer of 0..max, or -1.
static json_int_t element(json_t *pair, size_t i, json_int_t max)
{
	json_t *v = json_array_get(pair, i);

	if (!json_is_integer(v) || json_integer_value(v) > max)
		return -1;
	return json_integer_value(v);
}

static struct hist_packed *packed_alloc(const struct reading *r, size_t bins)
{
	struct hist_packed *p = malloc(sizeof(*p) + bins * sizeof(p->bin[0]));

	if (p != NULL)
		*p = (struct hist_packed){
			.min_ns = r->min_ns,
			.max_ns = r->max_ns,
			.sum_ns = r->sum_ns,
			.count = r->count,
		};
	return p;
}

static int buckets_read(json_t *v, void *member, struct err *e)
{
	struct reading *r = member;
	uint64_t count = 0;
	json_int_t last = -1;

	if (!json_is_array(v))
		return err_set(e, EINVAL, "expected an array of [bucket, count]");
	r->packed = packed_alloc(r, json_array_size(v));
	if (r->packed == NULL)
		return err_set(e, ENOMEM, "no memory for a histogram");
	for (size_t i = 0; i < json_array_size(v); i++) {
		json_t *pair = json_array_get(v, i);
		json_int_t bucket = element(pair, 0, HIST_BUCKETS - 1);
		json_int_t n = element(pair, 1, INT64_MAX);
		if (json_array_size(pair) != 2 || bucket <= last || n < 1)
			return err_set(e, EINVAL,
				       "$[%zu]: expected [bucket, count] with buckets ascending up "
				       "to %u and counts above 0",
				       i, HIST_BUCKETS - 1);
		if (count == 0 && hist_index(r->min_ns) != bucket)
			return err_set(e, EINVAL,
				       "$[0]: bucket %lld does not have the min_ns of %" PRIu64,
				       (long long)bucket, r->min_ns);
		if ((uint64_t)n > INT64_MAX - count)
			return err_set(e, ERANGE, "$[%zu]: the counts add up to more than 2^63", i);
		r->packed->bin[r->packed->bins++] =
			(struct hist_bin){ (uint32_t)bucket, (uint64_t)n };
		count += (uint64_t)n;
		last = bucket;
	}
	if (count != r->count)
		return err_set(e, EINVAL, "the counts add up to %" PRIu64 ", not to %" PRIu64,
			       count, r->count);
	if (hist_index(r->max_ns) != last || r->max_ns < r->min_ns)
		return err_set(e, EINVAL,
			       "the last bucket, %lld, does not have the max_ns of %" PRIu64,
			       (long long)last, r->max_ns);
	return 0;
}

static json_t *buckets_write(const void *member)
{
	const struct hist_packed *h = ((const struct reading *)member)->packed;
	json_t *v = json_array();

	for (uint32_t i = 0; v != NULL && i < h->bins; i++) {
		json_t *pair = h->bin[i].count > INT64_MAX
				       ? NULL
				       : json_pack("[i, I]", (int)h->bin[i].bucket,
						   (json_int_t)h->bin[i].count);
		if (json_array_append_new(v, pair) < 0) {
			json_decref(v);
			return NULL;
		}
	}
	return v;
}

static void buckets_release(void *member)
{
	struct reading *r = member;

	free(r->packed);
	r->packed = NULL;
}

// `buckets` stands last: its check reads the fields before it.
static const struct jm_codec buckets_codec = {
	.read = buckets_read,
	.write = buckets_write,
	.release = buckets_release,
};

#define AT(member) JM_AT(struct reading, member)
static const struct jm_row hist_row[] = {
	{ "count", JM_UINT, AT(count), .min = 1 },
	{ "min_ns", JM_UINT, AT(min_ns) },
	{ "max_ns", JM_UINT, AT(max_ns) },
	{ "sum_ns", JM_UINT, JM_UNKNOWN_NULL, AT(sum_ns) },
	{ "buckets", JM_CODEC, .codec = &buckets_codec },
};
#undef AT
static const struct jm_map hist_map = JM_MAP(hist_row, struct reading);

static int packed_read(json_t *v, void *member, struct err *e)
{
	struct hist_packed **h = member;
	struct reading r;

	*h = NULL;
	if (json_is_null(v))
		return 0;
	int ret = jsonmap_read(&hist_map, v, &r, e);
	*h = r.packed;
	return ret;
}

static bool uint_field(const char **at, const char *key, uint64_t *out)
{
	return jsonmap_scan_word(at, key) && jsonmap_scan_uint(at, INT64_MAX, out);
}

static bool scan_bins(const char **at, struct hist_packed *h)
{
	uint64_t bucket, n, last = 0, count = 0;

	while (**at == '[') {
		++*at;
		if (!jsonmap_scan_uint(at, HIST_BUCKETS - 1, &bucket) || *(*at)++ != ',' ||
		    !jsonmap_scan_uint(at, INT64_MAX - count, &n) || *(*at)++ != ']' || n == 0 ||
		    (h->bins > 0 && bucket <= last))
			return false;
		h->bin[h->bins++] = (struct hist_bin){ (uint32_t)bucket, n };
		last = bucket;
		count += n;
		if (**at != ',')
			break; // a bracket without a comma before it is not what room was made for
		if (*++*at != '[')
			return false;
	}
	return h->bins > 0 && count == h->count && h->min_ns <= h->max_ns &&
	       hist_index(h->min_ns) == h->bin[0].bucket && hist_index(h->max_ns) == last;
}

// At most as many bins as there are brackets before the end of the list.
static size_t bins_ahead(const char *at)
{
	size_t n = 0;

	for (; *at == '['; n++) {
		at = strchr(at, ']');
		if (at == NULL || *++at != ',')
			return n + 1;
		at++;
	}
	return n;
}

static bool packed_scan(const char **at, void *member)
{
	struct hist_packed **h = member;
	struct reading r;

	*h = NULL;
	if (jsonmap_scan_word(at, "null"))
		return true;
	if (!uint_field(at, "{\"count\":", &r.count) || r.count == 0 ||
	    !uint_field(at, ",\"min_ns\":", &r.min_ns) ||
	    !uint_field(at, ",\"max_ns\":", &r.max_ns) || !jsonmap_scan_word(at, ",\"sum_ns\":"))
		return false;
	if (jsonmap_scan_word(at, "null"))
		r.sum_ns = UINT64_MAX;
	else if (!jsonmap_scan_uint(at, INT64_MAX, &r.sum_ns))
		return false;
	if (!jsonmap_scan_word(at, ",\"buckets\":["))
		return false;
	*h = packed_alloc(&r, bins_ahead(*at));
	return *h != NULL && scan_bins(at, *h) && jsonmap_scan_word(at, "]}");
}

static json_t *packed_write(const void *member)
{
	struct hist_packed *const *h = member;

	if (*h == NULL)
		return json_null();
	const struct reading r = { (*h)->count, (*h)->min_ns, (*h)->max_ns, (*h)->sum_ns, *h };
	return jsonmap_write(&hist_map, &r);
}

static void packed_release(void *member)
{
	struct hist_packed **h = member;

	free(*h);
	*h = NULL;
}

const struct jm_codec hist_packed_codec = {
	.read = packed_read,
	.scan = packed_scan,
	.write = packed_write,
	.release = packed_release,
};

// Of what was read packed; frees it.
static struct hist *unpack(struct hist_packed *p)
{
	struct hist *h = malloc(sizeof(*h));

	if (h != NULL) {
		hist_reset(h);
		hist_merge_packed(h, p);
	}
	free(p);
	return h;
}

static int hist_read(json_t *v, void *member, struct err *e)
{
	struct hist **h = member;
	struct hist_packed *p;
	int ret = packed_read(v, &p, e);

	*h = NULL;
	if (ret < 0 || p == NULL)
		return ret;
	*h = unpack(p);
	return *h != NULL ? 0 : err_set(e, ENOMEM, "no memory for a histogram");
}

static bool hist_scan(const char **at, void *member)
{
	struct hist **h = member;
	struct hist_packed *p;
	bool good = packed_scan(at, &p);

	*h = NULL;
	if (!good) {
		free(p);
		return false;
	}
	if (p == NULL)
		return true;
	*h = unpack(p);
	return *h != NULL;
}

static json_t *hist_write(const void *member)
{
	const struct hist *const *h = member;
	struct hist_packed *p = NULL;

	if (*h == NULL)
		return json_null();

	struct hist *still = malloc(sizeof(*still));
	if (still == NULL)
		return NULL;
	hist_reset(still);
	hist_merge(still, *h);
	json_t *v = NULL;
	if (still->count == 0)
		v = json_null();
	else if ((p = hist_pack(still)) != NULL)
		v = packed_write(&p);
	free(p);
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
	.scan = hist_scan,
	.write = hist_write,
	.release = hist_release,
};
