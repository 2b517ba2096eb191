// The sizes of requests and replies: from payloads or frames, in words, to a cycle.
#include "matrix_parts.h"
#include "sizes.h"
#include "text.h"

#include "hostcfg.h"
#include "units.h"
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct direction { // of one size or mix, and where it goes
	const char *key;
	const struct yaml_item *item;
	bool frames;
	uint32_t *bytes;
	struct size_mix *mix;
	char *words;
};

// A list as the words that it stands for: "64, 512".
static int item_text(const struct yaml_doc *d, const char *key, const struct yaml_item *v,
		     char **text, struct err *e)
{
	size_t len = 0;
	FILE *f;

	*text = NULL;
	if (v->kind != YAML_LIST) {
		int ret = yaml_want_text(d, v, key, SIZE_FORM, e);

		if (ret == 0 && (*text = strdup(v->text)) == NULL)
			ret = err_set(e, ENOMEM, "%s: out of memory", d->file);
		return ret;
	}
	if (v->count == 0)
		return pos_fail(d->file, v->pos, e, "%s: an empty list: expected " SIZE_FORM, key);
	f = open_memstream(text, &len);
	if (f == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", d->file);
	int ret = 0;
	for (const struct yaml_item *i = v->child; ret == 0 && i != NULL; i = i->next) {
		ret = yaml_want_text(d, i, key, "a size in the list, as 64", e);
		if (ret == 0)
			fprintf(f, "%s%s", i == v->child ? "" : ",", i->text);
	}
	if (fclose(f) != 0 && ret == 0)
		ret = err_set(e, ENOMEM, "%s: out of memory", d->file);
	return ret;
}

// Frames become the payloads that make them. What a name has of frames too small for tags and
// headers are the smallest that there are.
static int to_payload(const struct yaml_doc *d, const struct draft *draft,
		      const struct direction *dir, struct size_words *w, struct err *e)
{
	uint32_t least = frame_bytes(PMX_PAYLOAD_MIN + matrix_encap(&draft->m));

	for (size_t i = 0; i < w->parts; i++) {
		uint32_t *bytes = &w->part[i].bytes;

		if (*bytes < least && w->frames)
			*bytes = least;
		if (*bytes < least)
			return pos_fail(d->file, dir->item->pos, e,
					"%s %u: no room for tags, headers and pmx's %d bytes: "
					"expected %u or more",
					dir->key, *bytes, PMX_PAYLOAD_MIN, least);
	}
	size_words_str(w, dir->words, SIZE_WORDS_MAX);
	text_append(dir->words, SIZE_WORDS_MAX, " frames");
	for (size_t i = 0; i < w->parts; i++)
		w->part[i].bytes = w->part[i].bytes - least + PMX_PAYLOAD_MIN;
	return 0;
}

static int words_settle(const struct yaml_doc *d, const struct draft *draft,
			const struct direction *dir, struct size_words *w, struct err *e)
{
	int ret = 0;

	if (dir->frames || w->frames) {
		ret = to_payload(d, draft, dir, w, e);
	} else {
		size_words_str(w, dir->words, SIZE_WORDS_MAX);
		text_append(dir->words, SIZE_WORDS_MAX, " B");
	}
	if (ret < 0)
		return ret;
	if (!w->weighted)
		text_append(dir->words, SIZE_WORDS_MAX, " in turn");
	ret = size_words_cycle(w, dir->mix, e);
	if (ret == 0)
		ret = mix_check(dir->mix, e);
	if (ret < 0)
		return yaml_wrap(d, dir->item->pos, dir->key, e);
	*dir->bytes = mix_largest(dir->mix);
	if (mix_size_count(dir->mix) > 1)
		return 0;
	free(dir->mix->cycle);
	dir->mix->cycle = NULL;
	dir->words[0] = '\0';
	return 0;
}

static int sizes_settle(const struct yaml_doc *d, const struct draft *draft,
			const struct direction *dir, struct err *e)
{
	struct size_words w = { 0 };
	char *text;
	int ret = item_text(d, dir->key, dir->item, &text, e);

	if (ret == 0) {
		ret = size_words_parse(
			text, dir->frames ? FRAME_MIN_BYTES : PMX_PAYLOAD_MIN,
			PAYLOAD_MAX_BYTES + (dir->frames ? IP4_UDP_OVERHEAD_BYTES : 0), &w, e);
		if (ret < 0)
			ret = yaml_wrap(d, dir->item->pos, dir->key, e);
	}
	if (ret == 0)
		ret = words_settle(d, draft, dir, &w, e);
	size_words_free(&w);
	free(text);
	return ret;
}

static int one_way(const struct yaml_doc *d, const struct draft *draft, const char *payload_key,
		   const struct yaml_item *payload, const char *frame_key,
		   const struct yaml_item *frame, struct direction dir, struct pos *pos,
		   struct err *e)
{
	if (payload == NULL && frame == NULL)
		return 0;
	if (payload != NULL && frame != NULL)
		return pos_fail(
			d->file, frame->pos, e,
			"%s: %s stands at %d:%d and says the same size as payload: keep one",
			frame_key, payload_key, payload->pos.line, payload->pos.col);
	dir.frames = frame != NULL;
	dir.key = dir.frames ? frame_key : payload_key;
	dir.item = dir.frames ? frame : payload;
	*pos = dir.item->pos;
	return sizes_settle(d, draft, &dir, e);
}

int draft_sizes(const struct yaml_doc *d, struct draft *draft, struct err *e)
{
	struct matrix *m = &draft->m;
	struct direction request = { .bytes = &m->traffic.req_bytes,
				     .mix = &m->traffic.req_mix,
				     .words = m->traffic.req_words },
			 reply = { .bytes = &m->traffic.rep_bytes,
				   .mix = &m->traffic.rep_mix,
				   .words = m->traffic.rep_words };
	int ret = one_way(d, draft, "request", draft->request, "tx_frame", draft->tx_frame, request,
			  &m->traffic.at.request, e);

	return ret < 0 ? ret
		       : one_way(d, draft, "reply", draft->reply, "rx_frame", draft->rx_frame,
				 reply, &m->traffic.at.reply, e);
}
