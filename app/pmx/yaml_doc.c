#include "yaml_doc.h"

#include <yaml.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (64u << 10)
#define SHOW_MAX 60
#define YAML_TAG_PREFIX "tag:yaml.org,2002:" // of what is written !!name

struct yaml_chunk {
	struct yaml_chunk *next;
	size_t used, size;
	_Alignas(max_align_t) char data[];
};

struct builder {
	struct yaml_doc *doc;
	struct err *err;
	struct yaml_item *open[YAML_DEPTH_MAX]; // lists and maps around the next item
	struct yaml_item *last[YAML_DEPTH_MAX]; // newest child of each
	size_t depth, items;
};

bool yaml_blank(const struct yaml_item *i)
{
	return i->kind == YAML_TEXT && i->plain &&
	       (i->text[0] == '\0' || strcmp(i->text, "~") == 0 || strcmp(i->text, "null") == 0);
}

const char *yaml_show(const struct yaml_item *i, char *buf, size_t size)
{
	if (i->kind == YAML_LIST)
		return "a list";
	if (i->kind == YAML_MAP)
		return "a mapping";
	if (yaml_blank(i))
		return "nothing";
	snprintf(buf, size, "'%.*s%s'", SHOW_MAX, i->text, strlen(i->text) > SHOW_MAX ? "..." : "");
	return buf;
}

static void *doc_alloc(struct yaml_doc *d, size_t bytes, size_t align)
{
	struct yaml_chunk *c = d->chunk;
	size_t start = c == NULL ? 0 : (c->used + align - 1) / align * align;

	if (c == NULL || start > c->size || c->size - start < bytes) {
		size_t size = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

		c = malloc(sizeof(*c) + size);
		if (c == NULL)
			return NULL;
		*c = (struct yaml_chunk){ .next = d->chunk, .size = size };
		d->chunk = c;
		start = 0;
	}
	c->used = start + bytes;
	return c->data + start;
}

void yaml_doc_free(struct yaml_doc *d)
{
	for (struct yaml_chunk *c = d->chunk, *next; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	*d = (struct yaml_doc){ 0 };
}

static struct pos pos_of(yaml_mark_t m)
{
	return (struct pos){ .line = (int)m.line + 1, .col = (int)m.column + 1 };
}

// libyaml gives the place of an illegal byte as an offset only.
static struct pos pos_at(const char *text, size_t offset)
{
	struct pos pos = { 1, 1 };

	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n')
			pos = (struct pos){ pos.line + 1, 1 };
		else if (((unsigned char)text[i] & 0xc0) != 0x80)
			pos.col++;
	}
	return pos;
}

static bool tab_stands_at(const char *text, size_t len, yaml_mark_t m)
{
	const char *p = text, *end = text + len;

	for (size_t line = 0; line < m.line; line++) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (p == NULL)
			return false;
		p++;
	}
	for (size_t col = 0; p < end && *p != '\n'; p++)
		if (((unsigned char)*p & 0xc0) != 0x80 && col++ == m.column)
			return *p == '\t';
	return false;
}

static int syntax_error(const yaml_parser_t *p, const char *text, size_t len, struct builder *b)
{
	const char *file = b->doc->file;

	if (p->error == YAML_MEMORY_ERROR)
		return err_set(b->err, ENOMEM, "%s: out of memory", file);
	if (p->error == YAML_READER_ERROR) {
		size_t at = p->problem_offset < len ? p->problem_offset : len;

		return pos_fail(file, pos_at(text, at), b->err,
				"%s, byte 0x%02x: expected plain text in UTF-8",
				p->problem == NULL ? "unreadable" : p->problem,
				at < len ? (unsigned char)text[at] : 0);
	}
	if (tab_stands_at(text, len, p->problem_mark))
		return pos_fail(file, pos_of(p->problem_mark), b->err,
				"not YAML: a tab: expected spaces");
	if (p->context != NULL)
		return pos_fail(file, pos_of(p->problem_mark), b->err,
				"not YAML: %s %s that began at %zu:%zu", p->problem, p->context,
				p->context_mark.line + 1, p->context_mark.column + 1);
	return pos_fail(file, pos_of(p->problem_mark), b->err, "not YAML: %s", p->problem);
}

static int item_add(struct builder *b, enum yaml_kind kind, const yaml_event_t *ev,
		    struct yaml_item **out)
{
	struct yaml_doc *d = b->doc;
	struct yaml_item *parent = b->depth > 0 ? b->open[b->depth - 1] : NULL;
	struct pos pos = pos_of(ev->start_mark);

	if (++b->items > YAML_ITEMS_MAX)
		return pos_fail(d->file, pos, b->err, "more than %u values: too large a file",
				YAML_ITEMS_MAX);
	if (parent != NULL && parent->kind == YAML_MAP && parent->count % 2 == 0 &&
	    kind != YAML_TEXT)
		return pos_fail(d->file, pos, b->err, "a %s as a key: expected a word",
				kind == YAML_LIST ? "list" : "mapping");

	struct yaml_item *i = doc_alloc(d, sizeof(*i), _Alignof(struct yaml_item));
	if (i == NULL)
		return err_set(b->err, ENOMEM, "%s: out of memory", d->file);
	*i = (struct yaml_item){ .kind = kind, .pos = pos };
	if (parent == NULL) {
		d->root = i;
	} else {
		if (parent->child == NULL)
			parent->child = i;
		else
			b->last[b->depth - 1]->next = i;
		b->last[b->depth - 1] = i;
		parent->count++; // a map's keys and values, halved when it ends
	}
	*out = i;
	return 0;
}

static int text_add(struct builder *b, const yaml_event_t *ev)
{
	size_t len = ev->data.scalar.length;
	const char *value = (const char *)ev->data.scalar.value;
	struct yaml_item *i;
	int ret = item_add(b, YAML_TEXT, ev, &i);

	if (ret < 0)
		return ret;
	if (memchr(value, '\0', len) != NULL) // "\0" in double quotes
		return pos_fail(b->doc->file, i->pos, b->err, "a NUL byte: expected plain text");
	char *copy = doc_alloc(b->doc, len + 1, 1);
	if (copy == NULL)
		return err_set(b->err, ENOMEM, "%s: out of memory", b->doc->file);
	memcpy(copy, value, len);
	copy[len] = '\0';
	i->text = copy;
	i->plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	return 0;
}

static int group_open(struct builder *b, enum yaml_kind kind, const yaml_event_t *ev)
{
	struct yaml_item *i;

	if (b->depth == YAML_DEPTH_MAX)
		return pos_fail(b->doc->file, pos_of(ev->start_mark), b->err,
				"nested more than %d deep: expected a few levels", YAML_DEPTH_MAX);
	int ret = item_add(b, kind, ev, &i);
	if (ret == 0)
		b->open[b->depth++] = i;
	return ret;
}

static int plain_only(struct builder *b, const yaml_event_t *ev, const yaml_char_t *anchor,
		      const yaml_char_t *tag)
{
	if (anchor != NULL)
		return pos_fail(b->doc->file, pos_of(ev->start_mark), b->err,
				"anchor '&%.*s': not taken; write the value out (or use defaults)",
				SHOW_MAX, (const char *)anchor);
	if (tag != NULL) {
		const char *text = (const char *)tag;
		size_t std = strncmp(text, YAML_TAG_PREFIX, strlen(YAML_TAG_PREFIX)) == 0
				     ? strlen(YAML_TAG_PREFIX)
				     : 0;

		return pos_fail(b->doc->file, pos_of(ev->start_mark), b->err,
				"tag '%s%.*s': not taken; write the plain value",
				std > 0 ? "!!" : "", SHOW_MAX, text + std);
	}
	return 0;
}

static int event_take(struct builder *b, const yaml_event_t *ev)
{
	int ret;

	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->doc->root != NULL)
			return pos_fail(b->doc->file, pos_of(ev->start_mark), b->err,
					"a second document: expected one a file");
		return 0;
	case YAML_ALIAS_EVENT:
		return pos_fail(b->doc->file, pos_of(ev->start_mark), b->err,
				"alias '*%.*s': not taken; write the value out (or use defaults)",
				SHOW_MAX, (const char *)ev->data.alias.anchor);
	case YAML_SCALAR_EVENT:
		ret = plain_only(b, ev, ev->data.scalar.anchor, ev->data.scalar.tag);
		return ret < 0 ? ret : text_add(b, ev);
	case YAML_SEQUENCE_START_EVENT:
		ret = plain_only(b, ev, ev->data.sequence_start.anchor,
				 ev->data.sequence_start.tag);
		return ret < 0 ? ret : group_open(b, YAML_LIST, ev);
	case YAML_MAPPING_START_EVENT:
		ret = plain_only(b, ev, ev->data.mapping_start.anchor, ev->data.mapping_start.tag);
		return ret < 0 ? ret : group_open(b, YAML_MAP, ev);
	case YAML_MAPPING_END_EVENT:
		b->open[b->depth - 1]->count /= 2;
		b->depth--;
		return 0;
	case YAML_SEQUENCE_END_EVENT:
		b->depth--;
		return 0;
	default:
		return 0;
	}
}

int yaml_doc_parse(const char *file, const char *text, size_t len, struct yaml_doc *d,
		   struct err *e)
{
	struct builder b = { .doc = d, .err = e };
	const char *nul = memchr(text, '\0', len);
	yaml_parser_t p;
	int ret = 0;

	*d = (struct yaml_doc){ .file = file };
	// before libyaml guesses UTF-16 from them
	if (nul != NULL)
		return pos_fail(file, pos_at(text, (size_t)(nul - text)), e,
				"a NUL byte: expected plain text in UTF-8");
	if (!yaml_parser_initialize(&p))
		return err_set(e, ENOMEM, "%s: out of memory", file);
	yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
	for (bool end = false; ret == 0 && !end;) {
		yaml_event_t ev;

		if (!yaml_parser_parse(&p, &ev)) {
			ret = syntax_error(&p, text, len, &b);
			break;
		}
		ret = event_take(&b, &ev);
		end = ev.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&p);
	if (ret == 0 && d->root == NULL)
		ret = pos_fail(file, (struct pos){ 1, 1 }, e, "nothing in it: expected a mapping");
	if (ret < 0)
		yaml_doc_free(d);
	return ret;
}
