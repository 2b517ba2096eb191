#include "profile_keys.h"

#include "capability.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_COLUMN 44

// A word that YAML and yaml_doc take as it is; else in double quotes, which take everything.
static bool is_plain(const char *s)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "_-./+(),=";

	return s[0] != '\0' && strchr("-.,=", s[0]) == NULL && strspn(s, safe) == strlen(s) &&
	       strcmp(s, "null") != 0;
}

// Bytes of UTF-8 that YAML or yaml_doc would not take as they are, and their escapes: controls, and
// what YAML calls line breaks.
static int put_escaped(FILE *f, const char *s, size_t *used)
{
	const unsigned char *u = (const unsigned char *)s;

	*used = 1;
	if (u[0] == '\n')
		return fprintf(f, "\\n");
	if (u[0] == '\t')
		return fprintf(f, "\\t");
	if (u[0] == '"' || u[0] == '\\')
		return fprintf(f, "\\%c", *s);
	if (u[0] < 0x20 || u[0] == 0x7f)
		return fprintf(f, "\\x%02x", u[0]);
	if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0) {
		*used = 2;
		return fprintf(f, "\\x%02x", u[1]);
	}
	if (u[0] == 0xe2 && u[1] == 0x80 && (u[2] == 0xa8 || u[2] == 0xa9)) {
		*used = 3;
		return fprintf(f, "\\u20%02x", u[2] - 0x80);
	}
	if (u[0] == 0xef && u[1] == 0xbb && u[2] == 0xbf) {
		*used = 3;
		return fprintf(f, "\\ufeff");
	}
	return fprintf(f, "%c", *s);
}

static int put_text(FILE *f, const char *s)
{
	int n = 2;

	if (is_plain(s))
		return fprintf(f, "%s", s);
	fputc('"', f);
	for (size_t used; *s != '\0'; s += used)
		n += put_escaped(f, s, &used);
	fputc('"', f);
	return n;
}

// As few digits as read back equal.
static int put_real(FILE *f, double v)
{
	char text[32];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	return fprintf(f, "%s", text);
}

static int put_ids(FILE *f, const uint32_t *id, size_t max)
{
	int n = fprintf(f, "[");

	for (size_t i = 0; i < max && id[i] != 0; i++)
		n += fprintf(f, "%s\"%04x:%04x\"",
			     i == 0	  ? ""
			     : i % 6 == 0 ? ",\n  "
					  : ", ",
			     id[i] >> 16, id[i] & 0xffff);
	return n + fprintf(f, "]");
}

static int put_words(FILE *f, uint32_t set, const char *const *word, size_t count)
{
	int n = fprintf(f, "[");
	const char *sep = "";

	for (size_t i = 0; i < count; i++) {
		if (!(set >> i & 1))
			continue;
		n += fprintf(f, "%s%s", sep, word[i]);
		sep = ", ";
	}
	return n + fprintf(f, "]");
}

static int put_capabilities(FILE *f, uint64_t mask)
{
	int n = 0;

	for (size_t i = 0; i < capability_count; i++)
		if (mask >> capability_table[i].bit & 1)
			n += fprintf(f, "%s%s", n > 0 ? " " : "", capability_table[i].name);
	return n;
}

static void put_models(FILE *f, const struct profile *p)
{
	for (size_t i = 0; i < PROFILE_MODELS_MAX && p->model[i].name[0] != '\0'; i++) {
		const struct profile_model *m = &p->model[i];

		fputs(i == 0 ? "  - name: " : "\n  - name: ", f);
		put_text(f, m->name);
		if (m->id[0] != 0) {
			fputs("\n    ids: ", f);
			put_ids(f, m->id, sizeof(m->id) / sizeof(m->id[0]));
		}
		if (m->speed_gbps >= 0) {
			fputs("\n    gbps: ", f);
			put_real(f, m->speed_gbps);
		}
		if (m->rated_mpps >= 0) {
			fputs("\n    mpps: ", f);
			put_real(f, m->rated_mpps);
		}
		if (m->source[0] != '\0') {
			fputs("\n    source: ", f);
			put_text(f, m->source);
		}
	}
}

static void put_faults(FILE *f, const struct profile *p)
{
	for (size_t i = 0; i < PROFILE_FAULTS_MAX && p->fault[i].text[0] != '\0'; i++) {
		fputs(i == 0 ? "  - " : "\n  - ", f);
		if (p->fault[i].ref[0] != '\0') {
			fputs("ref: ", f);
			put_text(f, p->fault[i].ref);
			fputs("\n    ", f);
		}
		fputs("text: ", f);
		put_text(f, p->fault[i].text);
	}
}

// Lists of mappings get the comment behind their key.
static bool is_block(const struct profile *p, enum profile_list list)
{
	return (list == LIST_MODELS && p->model[0].name[0] != '\0') ||
	       (list == LIST_FAULTS && p->fault[0].text[0] != '\0');
}

static int put_list(FILE *f, const struct profile *p, enum profile_list list)
{
	switch (list) {
	case LIST_PCI_IDS:
		return put_ids(f, p->pci_id, PCI_IDS_MAX);
	case LIST_OFFLOADS:
		return put_words(f, p->offloads, offload_name, OFFLOADS);
	case LIST_CAPABILITIES:
		return put_capabilities(f, p->capabilities);
	case LIST_RSS_FIELDS:
		return put_words(f, p->rss_fields, rss_field_name, RSS_FIELDS);
	default:
		return fprintf(f, "[]");
	}
}

static uint64_t read_uint(const void *field, size_t size)
{
	uint16_t v16;
	uint32_t v32;

	assert(size == sizeof(v16) || size == sizeof(v32));
	memcpy(&v16, field, sizeof(v16));
	memcpy(&v32, field, size == sizeof(v32) ? sizeof(v32) : 0);
	return size == sizeof(v16) ? v16 : v32;
}

static int put_field(FILE *f, const struct yaml_key *k, const void *field)
{
	double real;

	switch (k->type) {
	case YAML_TYPE_UINT:
		return fprintf(f, "%" PRIu64, read_uint(field, k->size));
	case YAML_TYPE_WORD:
		return fprintf(f, "%s", k->words[read_uint(field, k->size)]);
	case YAML_TYPE_BOOL:
		return fprintf(f, *(const bool *)field ? "yes" : "no");
	case YAML_TYPE_REAL:
		memcpy(&real, field, sizeof(real));
		return put_real(f, real);
	default:
		return put_text(f, field);
	}
}

// A key that has no value, and whose default is to have none, stands in a comment.
static bool is_unset(const struct yaml_key *k, const void *field)
{
	double real;

	if (k->type == YAML_TYPE_REAL) {
		memcpy(&real, field, sizeof(real));
		return real < 0;
	}
	if (k->type == YAML_TYPE_UINT)
		return k->min > 0 && read_uint(field, k->size) == 0;
	return (k->type == YAML_TYPE_TEXT || k->type == YAML_TYPE_CALL) &&
	       *(const char *)field == '\0';
}

static void put_origin(FILE *f, const struct profile *p, size_t row, int width)
{
	const char *base = strrchr(p->file, '/');

	fprintf(f, "%*s# ", width < VALUE_COLUMN ? VALUE_COLUMN - width : 1, "");
	if (p->at[row].line == 0)
		fputs("default\n", f);
	else
		fprintf(f, "%s:%d\n", base != NULL ? base + 1 : p->file, p->at[row].line);
}

static void put_row(FILE *f, const struct profile *p, size_t row)
{
	const struct yaml_key *k = &profile_table.key[row];
	const void *field = (const char *)p + k->offset;
	enum profile_list list = profile_list_of(k);

	bool none = list == LIST_CAPABILITIES ? p->capabilities == 0
		    : list == LIST_NONE	      ? is_unset(k, field)
					      : false;

	if (none) {
		fprintf(f, "# %s: none\n", k->name);
		return;
	}
	int width = fprintf(f, "%s:", k->name);
	if (is_block(p, list)) {
		put_origin(f, p, row, width);
		(list == LIST_MODELS ? put_models : put_faults)(f, p);
		fputc('\n', f);
		return;
	}
	width += fprintf(f, " ");
	width += list != LIST_NONE ? put_list(f, p, list) : put_field(f, k, field);
	put_origin(f, p, row, width);
}

void profile_show(FILE *f, const struct profile *p)
{
	fprintf(f, "# profile %s: %s\n", p->name, p->file);
	for (size_t row = 0; row < profile_table.count; row++)
		put_row(f, p, row);
}
