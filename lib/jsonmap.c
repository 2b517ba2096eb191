#include "jsonmap.h"

#include "ip_addr.h"
#include "parse.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_INDEX SIZE_MAX
#define KEYS_MAX 64 // rows of one table

// Where the reader stands: a chain on the stack, from the innermost outwards.
struct where {
	const struct where *up;
	const char *key; // NULL: an element
	size_t index;
};

struct reader {
	const char *root; // the outermost struct
	struct err *e;
};

static size_t path_str(const struct where *w, char *buf, size_t size)
{
	if (w == NULL)
		return (size_t)snprintf(buf, size, "$");

	size_t used = path_str(w->up, buf, size);
	if (used >= size)
		return used;
	if (w->key != NULL)
		return used + (size_t)snprintf(buf + used, size - used, ".%s", w->key);
	return used + (size_t)snprintf(buf + used, size - used, "[%zu]", w->index);
}

static int __attribute__((format(printf, 4, 5)))
fault(const struct reader *r, const struct where *w, int code, const char *fmt, ...)
{
	char path[256], what[ERR_MAX];
	va_list ap;

	path_str(w, path, sizeof(path));
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(r->e, code, "%s: %s", path, what);
}

// A value as errors quote it.
static const char *value_str(json_t *v, char *buf, size_t size)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		snprintf(buf, size, "\"%.60s\"%s", json_string_value(v),
			 json_string_length(v) > 60 ? "..." : "");
		return buf;
	case JSON_INTEGER:
		snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
		return buf;
	case JSON_REAL:
		snprintf(buf, size, "%.17g", json_real_value(v));
		return buf;
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	case JSON_NULL:
		break;
	}
	return "null";
}

// `fmt` says what was expected.
static int __attribute__((format(printf, 4, 5)))
wrong(const struct reader *r, const struct where *w, json_t *v, const char *fmt, ...)
{
	char buf[80], form[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(form, sizeof(form), fmt, ap);
	va_end(ap);
	return fault(r, w, EINVAL, "%s: expected %s", value_str(v, buf, sizeof(buf)), form);
}

void jm_store_uint(void *member, size_t size, uint64_t v)
{
	switch (size) {
	case 1:
		*(uint8_t *)member = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)member = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)member = (uint32_t)v;
		break;
	default:
		assert(size == 8);
		*(uint64_t *)member = v;
	}
}

uint64_t jm_max_uint(const struct jm_row *row, size_t size)
{
	uint64_t holds = size >= 8 ? INT64_MAX : (UINT64_C(1) << 8 * size) - 1;

	assert(row->max <= holds);
	return row->max != 0 ? row->max : holds;
}

static int read_uint(const struct reader *r, const struct where *w, const struct jm_row *row,
		     size_t size, json_t *v, void *member)
{
	uint64_t max = jm_max_uint(row, size);
	const char *or_null = row->flags & (JM_ZERO_NULL | JM_UNKNOWN_NULL) ? " or null" : "";

	if (json_is_null(v) && *or_null != '\0') {
		jm_store_uint(member, size, row->flags & JM_ZERO_NULL ? 0 : UINT64_MAX);
		return 0;
	}
	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    (uint64_t)json_integer_value(v) < row->min || (uint64_t)json_integer_value(v) > max) {
		return wrong(r, w, v, "an integer from %" PRIu64 " to %" PRIu64 "%s", row->min, max,
			     or_null);
	}
	jm_store_uint(member, size, (uint64_t)json_integer_value(v));
	return 0;
}

static int read_double(const struct reader *r, const struct where *w, const struct jm_row *row,
		       json_t *v, double *member)
{
	bool null = row->flags & JM_UNKNOWN_NULL, word = row->flags & JM_MAX_WORD;

	if ((null && json_is_null(v)) ||
	    (word && json_is_string(v) && strcmp(json_string_value(v), "max") == 0)) {
		*member = -1;
		return 0;
	}
	double x = json_number_value(v);
	if (!json_is_number(v) || !isfinite(x) || x < (double)row->min || x > (double)row->max) {
		return wrong(r, w, v, "a number from %" PRIu64 " to %" PRIu64 "%s%s", row->min,
			     row->max, null ? " or null" : "", word ? " or \"max\"" : "");
	}
	*member = x;
	return 0;
}

static bool is_clean(const char *s, bool hex)
{
	size_t len = strlen(s);

	for (const unsigned char *p = (const unsigned char *)s; *p != '\0'; p++)
		if (*p < 0x20 || *p == 0x7f)
			return false;
	return !hex || (len % 2 == 0 && strspn(s, "0123456789abcdefABCDEF") == len);
}

static int read_string(const struct reader *r, const struct where *w, const struct jm_row *row,
		       json_t *v, char *member)
{
	bool hex = row->flags & JM_HEX;
	uint64_t max = row->max != 0 ? row->max : row->size - 1;

	assert(max < row->size);
	if (!json_is_string(v) || json_string_length(v) < row->min || json_string_length(v) > max ||
	    strlen(json_string_value(v)) != json_string_length(v) ||
	    !is_clean(json_string_value(v), hex)) {
		return wrong(r, w, v,
			     "%s of %" PRIu64 " to %" PRIu64 " bytes without control characters",
			     hex ? "hex digits in pairs" : "a string", row->min, max);
	}
	memcpy(member, json_string_value(v), json_string_length(v) + 1);
	return 0;
}

static int read_enum(const struct reader *r, const struct where *w, const struct jm_row *row,
		     json_t *v, void *member)
{
	char form[256] = "one of";

	for (size_t i = 0; i < row->names; i++)
		if (json_is_string(v) && strcmp(json_string_value(v), row->name[i]) == 0) {
			jm_store_uint(member, row->size, i);
			return 0;
		}
	for (size_t i = 0, used = strlen(form); i < row->names && used < sizeof(form); i++)
		used += (size_t)snprintf(form + used, sizeof(form) - used, " \"%s\"", row->name[i]);
	return wrong(r, w, v, "%s", form);
}

static int read_ip(const struct reader *r, const struct where *w, const struct jm_row *row,
		   json_t *v, struct ip_addr *member)
{
	bool null = row->flags & JM_ZERO_NULL;

	if (null && json_is_null(v)) {
		*member = (struct ip_addr){ 0 };
		return 0;
	}
	if (!json_is_string(v) || parse_ip(json_string_value(v), member, NULL) < 0 ||
	    ip_none(member) || ip_eq(member, &IP4(0)))
		return wrong(r, w, v, "%s",
			     null ? "an IP address or null" : "an IP address, as 198.18.0.1");
	return 0;
}

static int read_object(const struct reader *r, const struct where *w, const struct jm_map *map,
		       json_t *v, char *out);

static int read_array(const struct reader *r, const struct where *w, const struct jm_row *row,
		      json_t *v, char *out)
{
	size_t min = row->min, max = row->max, n = json_array_size(v);
	bool exact = row->flags & JM_ROOT_COUNT;

	if (exact) {
		memcpy(&min, r->root + row->count, sizeof(min));
		max = min;
	}
	if (!json_is_array(v))
		return wrong(r, w, v, "an array");
	if (n < min || n > max)
		return fault(r, w, EINVAL, "%zu elements: expected %zu to %zu", n, min, max);
	char *element = NULL;
	if (n > 0) {
		element = calloc(n, row->map->size);
		if (element == NULL)
			return fault(r, w, ENOMEM, "no memory for %zu elements", n);
	}
	memcpy(out + row->offset, &element, sizeof(element));
	if (!exact)
		memcpy(out + row->count, &n, sizeof(n));
	for (size_t i = 0; i < n; i++) {
		struct where at = { .up = w, .index = i };
		int ret = read_object(r, &at, row->map, json_array_get(v, i),
				      element + i * row->map->size);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int read_uints(const struct reader *r, const struct where *w, const struct jm_row *row,
		      json_t *v, char *out)
{
	size_t n = json_array_size(v);
	uint16_t *member = (uint16_t *)(out + row->offset);

	if (!json_is_array(v) || n > row->names)
		return wrong(r, w, v, "an array of at most %zu integers", row->names);
	for (size_t i = 0; i < n; i++) {
		struct where at = { .up = w, .index = i };
		int ret = read_uint(r, &at, row, sizeof(*member), json_array_get(v, i), member + i);
		if (ret < 0)
			return ret;
	}
	memcpy(out + row->count, &n, sizeof(n));
	return 0;
}

static int unknown_key(const struct reader *r, const struct where *w, const char *key,
		       const char *const *known, size_t n)
{
	const char *near = nearest_word(key, known, n);

	if (near != NULL)
		return fault(r, w, EINVAL, "unknown key '%.60s', did you mean '%s'?", key, near);
	return fault(r, w, EINVAL, "unknown key '%.60s'", key);
}

// Refuses every key that is not among the known ones.
static int check_keys(const struct reader *r, const struct where *w, json_t *v,
		      const char *const *known, size_t n)
{
	const char *key;
	json_t *value;

	if (!json_is_object(v))
		return wrong(r, w, v, "an object");
	json_object_foreach (v, key, value) {
		size_t i = 0;
		while (i < n && strcmp(key, known[i]) != 0)
			i++;
		if (i == n)
			return unknown_key(r, w, key, known, n);
	}
	return 0;
}

static int read_named(const struct reader *r, const struct where *w, const struct jm_row *row,
		      json_t *v, uint64_t *member)
{
	int ret = check_keys(r, w, v, row->name, row->names);

	for (size_t i = 0; ret == 0 && i < row->names; i++) {
		struct where at = { .up = w, .key = row->name[i] };
		json_t *value = json_object_get(v, row->name[i]);
		if (value == NULL)
			return fault(r, &at, EINVAL, "missing");
		ret = read_uint(r, &at, row, sizeof(*member), value, member + i);
	}
	return ret;
}

static int read_codec(const struct reader *r, const struct where *w, const struct jm_row *row,
		      json_t *v, void *member)
{
	char path[256];
	int ret = row->codec->read(v, member, r->e);

	if (ret == 0 || r->e == NULL)
		return ret;
	path_str(w, path, sizeof(path));
	if (r->e->msg[0] == '$') // a path below the member
		return err_set(r->e, -ret, "%s%s", path, r->e->msg + 1);
	return err_wrap(r->e, "%s", path);
}

// `out` is the struct that has the member.
static int read_row(const struct reader *r, const struct where *w, const struct jm_row *row,
		    json_t *v, char *out)
{
	void *member = out + row->offset;

	switch (row->kind) {
	case JM_FIXED:
		if (json_is_integer(v) && (uint64_t)json_integer_value(v) == row->min)
			return 0;
		return wrong(r, w, v, "%" PRIu64, row->min);
	case JM_TRUE:
		return json_is_true(v) ? 0 : wrong(r, w, v, "true");
	case JM_BOOL:
		*(bool *)member = json_is_true(v);
		return json_is_boolean(v) ? 0 : wrong(r, w, v, "true or false");
	case JM_UINT:
		return read_uint(r, w, row, row->size, v, member);
	case JM_DOUBLE:
		return read_double(r, w, row, v, member);
	case JM_STRING:
		return read_string(r, w, row, v, member);
	case JM_ENUM:
		return read_enum(r, w, row, v, member);
	case JM_IP:
		return read_ip(r, w, row, v, member);
	case JM_OBJECT:
		return read_object(r, w, row->map, v, member);
	case JM_ARRAY:
		return read_array(r, w, row, v, out);
	case JM_UINTS:
		return read_uints(r, w, row, v, out);
	case JM_NAMED:
		return read_named(r, w, row, v, member);
	case JM_CODEC:
		return read_codec(r, w, row, v, member);
	}
	return -EINVAL;
}

static int read_object(const struct reader *r, const struct where *w, const struct jm_map *map,
		       json_t *v, char *out)
{
	const char *known[KEYS_MAX];

	assert(map->rows <= KEYS_MAX);
	for (size_t i = 0; i < map->rows; i++)
		known[i] = map->row[i].key;
	int ret = check_keys(r, w, v, known, map->rows);
	for (size_t i = 0; ret == 0 && i < map->rows; i++) {
		const struct jm_row *row = &map->row[i];
		struct where at = { .up = w, .key = row->key };
		json_t *value = json_object_get(v, row->key);
		if (value == NULL)
			return fault(r, &at, EINVAL, "missing");
		ret = read_row(r, &at, row, value, out);
	}
	return ret;
}

int jsonmap_read(const struct jm_map *map, json_t *root, void *out, struct err *e)
{
	const struct reader r = { .root = out, .e = e };

	memset(out, 0, map->size);
	int ret = read_object(&r, NULL, map, root, out);
	if (ret < 0)
		jsonmap_release(map, out);
	return ret;
}
