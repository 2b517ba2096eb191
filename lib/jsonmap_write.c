#include "jsonmap.h"

#include "ip_addr.h"
#include "parse.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t uint_load(const void *member, size_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)member;
	case 2:
		return *(const uint16_t *)member;
	case 4:
		return *(const uint32_t *)member;
	default:
		assert(size == 8);
		return *(const uint64_t *)member;
	}
}

static json_t *write_uint(const struct jm_row *row, const void *member, size_t size)
{
	uint64_t v = uint_load(member, size);

	if ((row->flags & JM_ZERO_NULL && v == 0) ||
	    (row->flags & JM_UNKNOWN_NULL && v == UINT64_MAX))
		return json_null();
	return v > INT64_MAX ? NULL : json_integer((json_int_t)v);
}

static json_t *write_double(const struct jm_row *row, double v)
{
	if (row->flags & JM_UNKNOWN_NULL && (isnan(v) || v < 0))
		return json_null();
	if (row->flags & JM_MAX_WORD && v < 0)
		return json_string("max");
	return json_real(v); // NULL when not finite
}

static json_t *write_string(const struct jm_row *row, const char *member)
{
	size_t len = strnlen(member, row->size);

	if (!(row->flags & JM_TEXT))
		return json_stringn(member, len);

	char *text = strndup(member, len);
	if (text == NULL)
		return NULL;
	for (unsigned char *p = (unsigned char *)text; *p != '\0'; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
	json_t *v = json_stringn(text, len);
	if (v == NULL) { // not UTF-8: keep what is ASCII
		for (char *p = text; *p != '\0'; p++)
			if (*p & 0x80)
				*p = '?';
		v = json_stringn(text, len);
	}
	free(text);
	return v;
}

static json_t *write_enum(const struct jm_row *row, const void *member)
{
	uint64_t v = uint_load(member, row->size);

	assert(v < row->names);
	return json_string(row->name[v]);
}

static json_t *write_ip(const struct jm_row *row, const struct ip_addr *addr)
{
	char buf[IP_STR_MAX];

	if (row->flags & JM_ZERO_NULL && ip_none(addr))
		return json_null();
	return json_string(ip_str(addr, buf, sizeof(buf)));
}

static json_t *write_named(const struct jm_row *row, const uint64_t *member)
{
	json_t *v = json_object();

	for (size_t i = 0; v != NULL && i < row->names; i++)
		if (json_object_set_new(v, row->name[i],
					write_uint(row, member + i, sizeof(*member))) < 0) {
			json_decref(v);
			return NULL;
		}
	return v;
}

static json_t *write_uints(const struct jm_row *row, const char *in)
{
	const uint16_t *member = (const uint16_t *)(in + row->offset);
	json_t *v = json_array();
	size_t n;

	memcpy(&n, in + row->count, sizeof(n));
	assert(n <= row->names);
	for (size_t i = 0; v != NULL && i < n; i++)
		if (json_array_append_new(v, json_integer(member[i])) < 0) {
			json_decref(v);
			return NULL;
		}
	return v;
}

static json_t *write_object(const struct jm_map *map, const char *in, const char *root);

// An owned array: its elements, and how many.
static char *elements(const struct jm_row *row, const char *in, const char *root, size_t *n)
{
	char *element;

	memcpy(&element, in + row->offset, sizeof(element));
	memcpy(n, (row->flags & JM_ROOT_COUNT ? root : in) + row->count, sizeof(*n));
	if (element == NULL)
		*n = 0;
	return element;
}

static json_t *write_array(const struct jm_row *row, const char *in, const char *root)
{
	size_t n;
	const char *element = elements(row, in, root, &n);
	json_t *v = json_array();

	for (size_t i = 0; v != NULL && i < n; i++)
		if (json_array_append_new(
			    v, write_object(row->map, element + i * row->map->size, root)) < 0) {
			json_decref(v);
			return NULL;
		}
	return v;
}

static json_t *write_row(const struct jm_row *row, const char *in, const char *root)
{
	const void *member = in + row->offset;

	switch (row->kind) {
	case JM_FIXED:
		return json_integer((json_int_t)row->min);
	case JM_TRUE:
		return json_true();
	case JM_BOOL:
		return json_boolean(*(const bool *)member);
	case JM_UINT:
		return write_uint(row, member, row->size);
	case JM_DOUBLE:
		return write_double(row, *(const double *)member);
	case JM_STRING:
		return write_string(row, member);
	case JM_ENUM:
		return write_enum(row, member);
	case JM_IP:
		return write_ip(row, member);
	case JM_OBJECT:
		return write_object(row->map, member, root);
	case JM_ARRAY:
		return write_array(row, in, root);
	case JM_UINTS:
		return write_uints(row, in);
	case JM_NAMED:
		return write_named(row, member);
	case JM_CODEC:
		return row->codec->write(member);
	}
	return NULL;
}

static json_t *write_object(const struct jm_map *map, const char *in, const char *root)
{
	json_t *v = json_object();

	for (size_t i = 0; v != NULL && i < map->rows; i++)
		if (json_object_set_new(v, map->row[i].key, write_row(&map->row[i], in, root)) <
		    0) {
			json_decref(v);
			return NULL;
		}
	return v;
}

json_t *jsonmap_write(const struct jm_map *map, const void *in)
{
	return write_object(map, in, in);
}

static void release_object(const struct jm_map *map, char *obj, const char *root)
{
	for (size_t i = 0; i < map->rows; i++) {
		const struct jm_row *row = &map->row[i];
		if (row->kind == JM_OBJECT)
			release_object(row->map, obj + row->offset, root);
		if (row->kind == JM_CODEC && row->codec->release != NULL)
			row->codec->release(obj + row->offset);
		if (row->kind != JM_ARRAY)
			continue;
		size_t n;
		char *element = elements(row, obj, root, &n);
		for (size_t j = 0; j < n; j++)
			release_object(row->map, element + j * row->map->size, root);
		free(element);
	}
}

void jsonmap_release(const struct jm_map *map, void *obj)
{
	release_object(map, obj, obj);
	memset(obj, 0, map->size);
}
