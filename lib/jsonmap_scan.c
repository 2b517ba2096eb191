#include "jsonmap.h"

#include "ip_addr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Every step looks at the bytes from *at on and stops at the first that does not fit, at the latest
// at the NUL behind the text: there is no need to count what is left.

struct scan {
	const char *at;
	const char *root; // the outermost struct
};

bool jsonmap_scan_word(const char **at, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*at, word, len) != 0)
		return false;
	*at += len;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool jsonmap_scan_uint(const char **at, uint64_t max, uint64_t *out)
{
	const char *p = *at;
	uint64_t v = 0;

	if (!is_digit(*p) || (*p == '0' && is_digit(p[1])))
		return false;
	for (; is_digit(*p); p++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (p - *at > 19 || v > max) // 19 digits cannot overflow
		return false;
	*at = p;
	*out = v;
	return true;
}

static bool word(struct scan *s, const char *w)
{
	return jsonmap_scan_word(&s->at, w);
}

static bool scan_uint(struct scan *s, const struct jm_row *row, size_t size, void *member)
{
	uint64_t v;

	if (row->flags & (JM_ZERO_NULL | JM_UNKNOWN_NULL) && word(s, "null")) {
		jm_store_uint(member, size, row->flags & JM_ZERO_NULL ? 0 : UINT64_MAX);
		return true;
	}
	if (!jsonmap_scan_uint(&s->at, jm_max_uint(row, size), &v) || v < row->min)
		return false;
	jm_store_uint(member, size, v);
	return true;
}

static const char *digits(const char *p)
{
	while (is_digit(*p))
		p++;
	return p;
}

// RFC 8259 number without a sign in front; NULL when there is none.
static const char *number_end(const char *p)
{
	const char *end = digits(p);

	if (end == p || (*p == '0' && end > p + 1))
		return NULL;
	if (*end == '.') {
		p = end + 1;
		end = digits(p);
		if (end == p)
			return NULL;
	}
	if (*end == 'e' || *end == 'E') {
		p = end + 1 + (end[1] == '+' || end[1] == '-');
		end = digits(p);
		if (end == p)
			return NULL;
	}
	return end;
}

static bool scan_double(struct scan *s, const struct jm_row *row, double *member)
{
	const char *end = number_end(s->at);

	if ((row->flags & JM_UNKNOWN_NULL && word(s, "null")) ||
	    (row->flags & JM_MAX_WORD && word(s, "\"max\""))) {
		*member = -1;
		return true;
	}
	if (end == NULL)
		return false;
	*member = strtod(s->at, NULL);
	s->at = end;
	return isfinite(*member) && *member >= (double)row->min && *member <= (double)row->max;
}

// The plain string at *at; its length, or SIZE_MAX.
static size_t plain_length(const char *at)
{
	const unsigned char *p = (const unsigned char *)at + 1;

	if (*at != '"')
		return SIZE_MAX;
	while (*p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\')
		p++;
	return *p == '"' ? (size_t)(p - (const unsigned char *)at) - 1 : SIZE_MAX;
}

static bool scan_string(struct scan *s, const struct jm_row *row, char *member)
{
	uint64_t max = row->max != 0 ? row->max : row->size - 1;
	size_t len = plain_length(s->at);

	if (len == SIZE_MAX || len < row->min || len > max || row->flags & JM_HEX)
		return false;
	memcpy(member, s->at + 1, len);
	member[len] = '\0';
	s->at += len + 2;
	return true;
}

static bool scan_ip(struct scan *s, const struct jm_row *row, struct ip_addr *member)
{
	size_t len = plain_length(s->at);
	char text[IP_STR_MAX];

	if (row->flags & JM_ZERO_NULL || len >= sizeof(text))
		return false;
	memcpy(text, s->at + 1, len);
	text[len] = '\0';
	s->at += len + 2;
	return parse_ip(text, member, NULL) == 0;
}

static bool scan_enum(struct scan *s, const struct jm_row *row, void *member)
{
	size_t len = plain_length(s->at);

	for (size_t i = 0; len != SIZE_MAX && i < row->names; i++) {
		if (strlen(row->name[i]) != len || memcmp(row->name[i], s->at + 1, len) != 0)
			continue;
		jm_store_uint(member, row->size, i);
		s->at += len + 2;
		return true;
	}
	return false;
}

static bool scan_bool(struct scan *s, bool *member)
{
	*member = word(s, "true");
	return *member || word(s, "false");
}

static bool scan_key(struct scan *s, const char *key, bool first)
{
	return word(s, first ? "{\"" : ",\"") && word(s, key) && word(s, "\":");
}

static bool scan_named(struct scan *s, const struct jm_row *row, uint64_t *member)
{
	for (size_t i = 0; i < row->names; i++)
		if (!scan_key(s, row->name[i], i == 0) ||
		    !scan_uint(s, row, sizeof(*member), &member[i]))
			return false;
	return word(s, "}");
}

static bool scan_object(struct scan *s, const struct jm_map *map, char *out);

// Room for one more element behind the n that are there; zeroed. *cap elements are there.
static char *grow(char *element, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap * 2 + 1;
	char *p = n < *cap ? element : realloc(element, more * size);

	if (p != NULL && n == *cap) {
		memset(p + n * size, 0, (more - n) * size);
		*cap = more;
	}
	return p;
}

static bool scan_array(struct scan *s, const struct jm_row *row, char *out)
{
	bool exact = row->flags & JM_ROOT_COUNT;
	size_t size = row->map->size, min = row->min, max = row->max, n = 0, cap = 0;
	char *element = NULL;

	if (exact) {
		memcpy(&min, s->root + row->count, sizeof(min));
		max = min;
		cap = max;
		element = max > 0 ? calloc(max, size) : NULL;
		if (max > 0 && element == NULL)
			return false;
		memcpy(out + row->offset, &element, sizeof(element));
	}
	if (!word(s, "["))
		return false;
	while (*s->at != ']') {
		if (n == max || (n > 0 && !word(s, ",")))
			return false;
		char *p = grow(element, n, &cap, size);
		if (p == NULL)
			return false;
		element = p;
		n++;
		memcpy(out + row->offset, &element, sizeof(element));
		if (!exact)
			memcpy(out + row->count, &n, sizeof(n));
		if (!scan_object(s, row->map, element + (n - 1) * size))
			return false;
	}
	return n >= min && word(s, "]");
}

// `out` is the struct that has the member. Of the kinds, those that results have.
static bool scan_row(struct scan *s, const struct jm_row *row, char *out)
{
	void *member = out + row->offset;
	uint64_t fixed;

	switch (row->kind) {
	case JM_FIXED:
		return jsonmap_scan_uint(&s->at, row->min, &fixed) && fixed == row->min;
	case JM_BOOL:
		return scan_bool(s, member);
	case JM_UINT:
		return scan_uint(s, row, row->size, member);
	case JM_DOUBLE:
		return scan_double(s, row, member);
	case JM_STRING:
		return scan_string(s, row, member);
	case JM_ENUM:
		return scan_enum(s, row, member);
	case JM_IP:
		return scan_ip(s, row, member);
	case JM_OBJECT:
		return scan_object(s, row->map, member);
	case JM_ARRAY:
		return scan_array(s, row, out);
	case JM_NAMED:
		return scan_named(s, row, member);
	case JM_CODEC:
		return row->codec->scan != NULL && row->codec->scan(&s->at, member);
	default:
		return false;
	}
}

static bool scan_object(struct scan *s, const struct jm_map *map, char *out)
{
	for (size_t i = 0; i < map->rows; i++)
		if (!scan_key(s, map->row[i].key, i == 0) || !scan_row(s, &map->row[i], out))
			return false;
	return word(s, "}");
}

int jsonmap_scan(const struct jm_map *map, const char *text, size_t len, void *out)
{
	struct scan s = { .at = text, .root = out };

	memset(out, 0, map->size);
	if (scan_object(&s, map, out)) {
		word(&s, "\n");
		if (s.at == text + len)
			return 0;
	}
	jsonmap_release(map, out);
	return -EAGAIN;
}
