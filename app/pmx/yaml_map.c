#include "yaml_map.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 64
#define FORM_MAX 256
#define REAL_CHARS "0123456789."

int yaml_wrap(const struct yaml_doc *d, struct pos pos, const char *name, struct err *e)
{
	if (e == NULL)
		return -EINVAL;

	const char *quoted = strchr(e->msg, '\'');

	return err_set(e, e->code, "%s:%d:%d: %s %s", d->file, pos.line, pos.col, name,
		       quoted == NULL ? e->msg : quoted);
}

int yaml_want_text(const struct yaml_doc *d, const struct yaml_item *value, const char *name,
		   const char *form, struct err *e)
{
	char buf[96];

	if (value->kind == YAML_TEXT && !yaml_blank(value))
		return 0;
	return pos_fail(d->file, value->pos, e, "%s: %s given: expected %s", name,
			yaml_show(value, buf, sizeof(buf)), form);
}

int yaml_read_real(const struct yaml_doc *d, const struct yaml_item *value, const char *name,
		   double min, double max, bool percent, double *out, struct err *e)
{
	const char *s = value->text, *unit = percent ? "%" : "";
	size_t len = strspn(s, REAL_CHARS);
	char *end;

	// digits and dots only: strtod's signs, exponents, hex, inf and nan are none of our forms
	double v = strtod(s, &end);
	if (len == 0 || s[0] == '.' || s[len - 1] == '.' || end != s + len || !isfinite(v) ||
	    v < min || v > max || (s[len] != '\0' && strcmp(s + len, unit) != 0) ||
	    (s[len] != '\0' && !percent)) {
		char buf[96];

		return pos_fail(d->file, value->pos, e, "%s %s: expected a number from %g to %g%s",
				name, yaml_show(value, buf, sizeof(buf)), min, max,
				percent ? ", in percent" : "");
	}
	*out = v;
	return 0;
}

const char *yaml_suggest(const char *word, const char *const *words, size_t n, char *buf,
			 size_t size)
{
	const char *near = nearest_word(word, words, n);
	size_t used;

	if (near != NULL) {
		snprintf(buf, size, "did you mean '%s'?", near);
		return buf;
	}
	used = (size_t)snprintf(buf, size, "expected %s", n > 1 ? "one of " : "");
	for (size_t i = 0; i < n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i > 0 ? ", " : "",
					 words[i]);
	return buf;
}

static const char *duration_str(uint64_t ns, char *buf, size_t size)
{
	static const struct {
		uint64_t ns;
		const char *unit;
	} unit[] = {
		{ 3600000000000, "h" }, { 60000000000, "m" }, { 1000000000, "s" },
		{ 1000000, "ms" },	{ 1000, "us" },
	};

	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++)
		if (ns >= unit[i].ns && ns % unit[i].ns == 0) {
			snprintf(buf, size, "%" PRIu64 "%s", ns / unit[i].ns, unit[i].unit);
			return buf;
		}
	snprintf(buf, size, "%" PRIu64 "ns", ns);
	return ns == 0 ? "0" : buf;
}

static const char *form_of(const struct yaml_key *k, char *buf, size_t size)
{
	char min[32], max[32];

	switch (k->type) {
	case YAML_TYPE_UINT:
		snprintf(buf, size, "a whole number from %" PRIu64 " to %" PRIu64, k->min, k->max);
		return buf;
	case YAML_TYPE_WORD:
		yaml_suggest("", k->words, k->word_count, buf, size);
		return buf + strlen("expected ");
	case YAML_TYPE_BOOL:
		return "yes or no";
	case YAML_TYPE_DURATION:
		snprintf(buf, size, "a time from %s to %s, as 500ms, 10s or 2m",
			 duration_str(k->min, min, sizeof(min)),
			 duration_str(k->max, max, sizeof(max)));
		return buf;
	case YAML_TYPE_REAL:
		snprintf(buf, size, "a number from %" PRIu64 " to %" PRIu64, k->min, k->max);
		return buf;
	case YAML_TYPE_PERCENT:
		return "a percentage, as 0.1%";
	default:
		return "text";
	}
}

static void uint_store(void *field, size_t size, uint64_t v)
{
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	assert(size == sizeof(v16) || size == sizeof(v32) || size == sizeof(v));
	memcpy(field,
	       size == sizeof(v16)   ? (void *)&v16
	       : size == sizeof(v32) ? (void *)&v32
				     : (void *)&v,
	       size);
}

static int word_read(const struct yaml_doc *d, const struct yaml_key *k,
		     const struct yaml_item *value, void *field, struct err *e)
{
	char form[FORM_MAX], show[96];

	for (size_t i = 0; i < k->word_count; i++)
		if (strcmp(value->text, k->words[i]) == 0) {
			uint_store(field, k->size, i);
			return 0;
		}
	return pos_fail(d->file, value->pos, e, "%s %s: %s", k->name,
			yaml_show(value, show, sizeof(show)),
			yaml_suggest(value->text, k->words, k->word_count, form, sizeof(form)));
}

static int text_read(const struct yaml_doc *d, const struct yaml_key *k,
		     const struct yaml_item *value, void *field, struct err *e)
{
	char show[96];

	if (value->text[0] == '\0')
		return pos_fail(d->file, value->pos, e, "%s '': expected text", k->name);
	if (strlen(value->text) >= k->size)
		return pos_fail(d->file, value->pos, e, "%s %s: expected at most %zu characters",
				k->name, yaml_show(value, show, sizeof(show)), k->size - 1);
	memcpy(field, value->text, strlen(value->text) + 1);
	return 0;
}

static int duration_read(const struct yaml_doc *d, const struct yaml_key *k,
			 const struct yaml_item *value, void *field, struct err *e)
{
	char form[FORM_MAX], show[96];
	uint64_t ns;

	if (parse_duration_ns(value->text, &ns, e) < 0)
		return yaml_wrap(d, value->pos, k->name, e);
	if (ns < k->min || ns > k->max)
		return pos_fail(d->file, value->pos, e, "%s %s: expected %s", k->name,
				yaml_show(value, show, sizeof(show)),
				form_of(k, form, sizeof(form)));
	memcpy(field, &ns, sizeof(ns));
	return 0;
}

static int scalar_read(const struct yaml_doc *d, const struct yaml_key *k,
		       const struct yaml_item *value, void *field, struct err *e)
{
	char form[FORM_MAX];
	uint64_t number;
	int ret = yaml_want_text(d, value, k->name, form_of(k, form, sizeof(form)), e);

	if (ret < 0)
		return ret;
	switch (k->type) {
	case YAML_TYPE_TEXT:
		return text_read(d, k, value, field, e);
	case YAML_TYPE_UINT:
		if (parse_u64(value->text, k->min, k->max, &number, e) < 0)
			return yaml_wrap(d, value->pos, k->name, e);
		uint_store(field, k->size, number);
		return 0;
	case YAML_TYPE_WORD:
		return word_read(d, k, value, field, e);
	case YAML_TYPE_BOOL:
		return parse_bool(value->text, field, e) < 0 ? yaml_wrap(d, value->pos, k->name, e)
							     : 0;
	case YAML_TYPE_DURATION:
		return duration_read(d, k, value, field, e);
	case YAML_TYPE_REAL:
		return yaml_read_real(d, value, k->name, (double)k->min, (double)k->max, false,
				      field, e);
	case YAML_TYPE_PERCENT:
		return yaml_read_real(d, value, k->name, 0, 100, true, field, e);
	default:
		assert(!"a scalar type");
		return -EINVAL;
	}
}

static int value_read(const struct yaml_doc *d, const struct yaml_key *k,
		      const struct yaml_item *value, void *obj, struct err *e)
{
	char *field = (char *)obj + k->offset;

	if (k->pos != 0)
		memcpy((char *)obj + k->pos, &value->pos, sizeof(value->pos));
	switch (k->type) {
	case YAML_TYPE_SECTION:
		return yaml_map_read(d, value, k->section, obj, e);
	case YAML_TYPE_ITEM:
		memcpy(field, &value, sizeof(value));
		return 0;
	case YAML_TYPE_CALL:
		return k->set(d, value, obj, e);
	default:
		return scalar_read(d, k, value, field, e);
	}
}

static int unknown_key(const struct yaml_doc *d, const struct yaml_item *key,
		       const struct yaml_table *t, struct err *e)
{
	const char *names[KEYS_MAX];
	char hint[512], show[96];

	for (size_t i = 0; i < t->count; i++)
		names[i] = t->key[i].name;
	return pos_fail(d->file, key->pos, e, "unknown key %s in %s: %s",
			yaml_show(key, show, sizeof(show)), t->what,
			yaml_suggest(key->text, names, t->count, hint, sizeof(hint)));
}

int yaml_map_read(const struct yaml_doc *d, const struct yaml_item *map, const struct yaml_table *t,
		  void *obj, struct err *e)
{
	struct pos seen[KEYS_MAX] = { 0 };
	char show[96];

	assert(t->count <= KEYS_MAX);
	if (map->kind != YAML_MAP)
		return pos_fail(d->file, map->pos, e,
				"%s: %s given: expected a mapping, as '%s: ...'", t->what,
				yaml_show(map, show, sizeof(show)), t->key[0].name);
	for (const struct yaml_item *key = map->child; key != NULL; key = key->next->next) {
		size_t i = 0;

		while (i < t->count && strcmp(t->key[i].name, key->text) != 0)
			i++;
		if (i == t->count)
			return unknown_key(d, key, t, e);
		if (seen[i].line != 0)
			return pos_fail(d->file, key->pos, e,
					"key '%s' a second time: it stands at %d:%d; keep one",
					key->text, seen[i].line, seen[i].col);
		seen[i] = key->pos;
		int ret = value_read(d, &t->key[i], key->next, obj, e);
		if (ret < 0)
			return ret;
	}
	return 0;
}
