// A YAML document as a tree that remembers where everything stood. YAML's surprises are refused:
// anchors, aliases, tags, a second document, keys that are not text, depth beyond YAML_DEPTH_MAX.
// What a value means is for whoever reads it: here every scalar is the text that was written.
#pragma once

#include "pos.h"

#include "err.h"

#include <stdbool.h>
#include <stddef.h>

#define YAML_DEPTH_MAX 32
#define YAML_ITEMS_MAX (4u << 20)

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_item {
	enum yaml_kind kind;
	struct pos pos;
	bool plain;		 // a scalar without quotes
	const char *text;	 // of a scalar; NUL-terminated, no NUL within
	struct yaml_item *child; // first of a list; a map alternates key, value, key, value
	struct yaml_item *next;
	size_t count; // of list items, or of key-value pairs
};

struct yaml_doc {
	const char *file; // borrowed: for messages
	struct yaml_item *root;
	struct yaml_chunk *chunk; // owned: all items and text
};

// 0 or -EINVAL, -ENOMEM; on failure there is nothing to free.
int yaml_doc_parse(const char *file, const char *text, size_t len, struct yaml_doc *d,
		   struct err *e);
void yaml_doc_free(struct yaml_doc *d);

// A value that is not there: `key:` with nothing behind it, `~` or `null`.
bool yaml_blank(const struct yaml_item *i);
// "a list", "a mapping", "'text'" (cut when long) for messages; returns buf or a constant.
const char *yaml_show(const struct yaml_item *i, char *buf, size_t size);
