#include "sizes.h"

#include "on_wire.h"
#include "text.h"

#include "units.h"
#include "wire.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 32
#define WEIGHT_MAX 1000000
#define SHOWN_PARTS 12 // of a list or a mix, in a title
#define GENOME "genome:"

// Mixes of Ethernet frames with FCS. `imix` is the simple IMIX: IP packets of 40 (on Ethernet 46),
// 576 and 1500 bytes, 7 to 4 to 1. imix-570 is that of FD.io CSIT (IMIX_v4_1).
static const struct {
	const char *name;
	struct mix_size part[4];
	size_t parts;
} named[] = {
	{ "imix", { { 64, 7 }, { 594, 4 }, { 1518, 1 } }, 3 },
	{ "imix-570", { { 64, 7 }, { 570, 4 }, { 1518, 1 } }, 3 },
};

// RFC 6985, section 4: a to j. z, the MTU, is no size of its own.
static const uint16_t genome_frame[] = { 64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000, 16000 };
#define GENES (sizeof(genome_frame) / sizeof(genome_frame[0]))

struct reader {
	uint32_t least, most;
	size_t room; // for parts
	struct size_words *w;
	struct err *e;
};

static int bad(struct reader *r, const char *word)
{
	return err_set(r->e, EINVAL, "size '%s': expected " SIZE_FORM, word);
}

static int part_add(struct reader *r, uint32_t bytes, uint32_t weight)
{
	struct size_words *w = r->w;

	if (w->parts == MIX_CYCLE_MAX)
		return err_set(r->e, EINVAL, "size '%u': more than %d sizes: expected fewer", bytes,
			       MIX_CYCLE_MAX);
	if (w->parts == r->room) {
		size_t room = r->room > 0 ? 2 * r->room : 16;
		struct mix_size *more = realloc(w->part, room * sizeof(*more));

		if (more == NULL)
			return err_set(r->e, ENOMEM, "out of memory for %zu sizes", room);
		w->part = more;
		r->room = room;
	}
	w->part[w->parts++] = (struct mix_size){ bytes, weight };
	return 0;
}

static int number(struct reader *r, const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	if (parse_u64(text, least, most, out, NULL) == 0)
		return 0;
	return err_set(r->e, EINVAL,
		       "size '%s': expected a whole number from %" PRIu64 " to %" PRIu64, text,
		       least, most);
}

// "64-1472", "64-1472/64"; word is cut up.
static int range_read(struct reader *r, char *word, char *dash)
{
	char *slash = strchr(dash, '/'), whole[WORD_MAX];
	uint64_t from, to, step = 1;

	snprintf(whole, sizeof(whole), "%s", word);
	*dash = '\0';
	if (slash != NULL)
		*slash = '\0';
	int ret = number(r, word, r->least, r->most, &from);
	if (ret == 0)
		ret = number(r, dash + 1, r->least, r->most, &to);
	if (ret == 0 && slash != NULL)
		ret = number(r, slash + 1, 1, r->most, &step);
	if (ret < 0)
		return ret;
	if (to < from)
		return err_set(r->e, EINVAL, "size '%s': ends before it begins: expected %s-%s",
			       whole, dash + 1, word);
	if ((to - from) / step >= MIX_SIZES_MAX)
		return err_set(r->e, EINVAL,
			       "size '%s': %" PRIu64 " sizes: expected at most %d, by a step of "
			       "%" PRIu64 " or more",
			       whole, (to - from) / step + 1, MIX_SIZES_MAX,
			       (to - from) / MIX_SIZES_MAX + 1);
	for (uint64_t n = from; ret == 0 && n <= to; n += step)
		ret = part_add(r, (uint32_t)n, 1);
	return ret;
}

static int word_read(struct reader *r, char *word, bool weighted)
{
	char *colon = strchr(word, ':'), *dash = strchr(word, '-');
	uint64_t bytes, weight = 1;

	if (!isdigit((unsigned char)word[0]))
		return bad(r, word);
	if (dash != NULL && colon == NULL && !weighted)
		return range_read(r, word, dash);
	if ((colon != NULL) != weighted)
		return err_set(r->e, EINVAL,
			       "size '%s': expected every size of a mix with its weight, as 64:7",
			       word);
	if (colon != NULL)
		*colon = '\0';
	int ret = number(r, word, r->least, r->most, &bytes);
	if (ret == 0 && colon != NULL)
		ret = number(r, colon + 1, 1, WEIGHT_MAX, &weight);
	for (size_t i = 0; ret == 0 && weighted && i < r->w->parts; i++)
		if (r->w->part[i].bytes == bytes)
			ret = err_set(r->e, EINVAL, "size '%s': stands twice in the mix", word);
	return ret < 0 ? ret : part_add(r, (uint32_t)bytes, (uint32_t)weight);
}

static int words_read(struct reader *r, const char *text)
{
	bool weighted = strchr(text, ':') != NULL;
	int ret = 0;

	r->w->weighted = weighted;
	for (const char *at = text; ret == 0; at++) {
		size_t len = strcspn(at, ",");
		const char *end = at + len;
		char word[WORD_MAX];

		for (; at < end && *at == ' '; at++)
			len--;
		for (; len > 0 && at[len - 1] == ' ';)
			len--;
		snprintf(word, sizeof(word), "%.*s", (int)(len < WORD_MAX ? len : WORD_MAX - 1),
			 at);
		ret = len >= WORD_MAX ? bad(r, word) : word_read(r, word, weighted);
		at = end;
		if (*at == '\0')
			break;
	}
	return ret;
}

static int genome_read(struct reader *r, const char *letters)
{
	int ret = letters[0] == '\0' ? bad(r, GENOME) : 0;

	r->w->frames = true;
	r->w->name = "genome";
	for (const char *c = letters; ret == 0 && *c != '\0'; c++) {
		if (*c < 'a' || *c >= 'a' + (int)GENES)
			return err_set(r->e, EINVAL,
				       "size '%.20s': letter '%c': expected those of RFC 6985 from "
				       "a (64) to j (16000)",
				       letters, *c);
		ret = part_add(r, genome_frame[*c - 'a'], 1);
	}
	return ret;
}

static int name_read(struct reader *r, const char *text, bool *found)
{
	int ret = 0;

	*found = false;
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]) && !*found; i++) {
		if (strcmp(text, named[i].name) != 0)
			continue;
		*found = r->w->frames = r->w->weighted = true;
		r->w->name = named[i].name;
		for (size_t k = 0; ret == 0 && k < named[i].parts; k++)
			ret = part_add(r, named[i].part[k].bytes, named[i].part[k].weight);
	}
	return ret;
}

int size_words_parse(const char *text, uint32_t least, uint32_t most, struct size_words *w,
		     struct err *e)
{
	struct reader r = { .least = least, .most = most, .w = w, .e = e };
	bool found;

	*w = (struct size_words){ 0 };
	int ret = name_read(&r, text, &found);
	if (ret == 0 && !found)
		ret = strncmp(text, GENOME, strlen(GENOME)) == 0
			      ? genome_read(&r, text + strlen(GENOME))
			      : words_read(&r, text);
	if (ret < 0)
		size_words_free(w);
	return ret;
}

void size_words_free(struct size_words *w)
{
	free(w->part);
	*w = (struct size_words){ 0 };
}

// Each one by the same more than the one before.
static bool is_range(const struct size_words *w)
{
	for (size_t i = 1; i < w->parts; i++)
		if (w->part[i].bytes <= w->part[i - 1].bytes ||
		    w->part[i].bytes - w->part[i - 1].bytes != w->part[1].bytes - w->part[0].bytes)
			return false;
	return w->parts > 3;
}

void size_words_str(const struct size_words *w, char *buf, size_t size)
{
	const struct mix_size *p = w->part;

	buf[0] = '\0';
	if (w->name != NULL)
		text_append(buf, size, "%s ", w->name);
	if (!w->weighted && is_range(w)) {
		text_append(buf, size, "%u-%u", p[0].bytes, p[w->parts - 1].bytes);
		if (p[1].bytes - p[0].bytes > 1)
			text_append(buf, size, "/%u", p[1].bytes - p[0].bytes);
		return;
	}
	for (size_t i = 0; i < w->parts; i++) {
		const char *before = i == 0 ? "" : w->weighted ? " " : ", ";

		if (i == SHOWN_PARTS - 1 && w->parts > SHOWN_PARTS) {
			text_append(buf, size, "%s... (%zu)", before, w->parts);
			return;
		}
		text_append(buf, size, "%s%u", before, p[i].bytes);
		if (w->weighted)
			text_append(buf, size, ":%u", p[i].weight);
	}
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
	while (b != 0) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int size_words_cycle(const struct size_words *w, struct size_mix *mix, struct err *e)
{
	struct mix_size *part = calloc(w->parts, sizeof(*part));
	uint32_t common = 0;
	uint64_t places = 0;
	int ret = part == NULL ? err_set(e, ENOMEM, "out of memory for %zu sizes", w->parts) : 0;

	mix->cycle = NULL;
	for (size_t i = 0; i < w->parts; i++)
		common = divisor(common, w->part[i].weight);
	for (size_t i = 0; ret == 0 && i < w->parts; i++) {
		part[i] = (struct mix_size){ w->part[i].bytes, w->part[i].weight / common };
		places += part[i].weight;
	}
	if (ret == 0 && places > MIX_CYCLE_MAX)
		ret = err_set(e, EINVAL,
			      "size '%u:%u': the weights add up to %" PRIu64 ": expected at most "
			      "%d, without a common divisor",
			      w->part[0].bytes, w->part[0].weight, places, MIX_CYCLE_MAX);
	if (ret == 0 && w->weighted) {
		mix->cycle = mix_interleave(part, w->parts);
	} else if (ret == 0) {
		mix->cycle = uints_new((uint32_t)w->parts);
		for (size_t i = 0; mix->cycle != NULL && i < w->parts; i++)
			mix->cycle->v[i] = part[i].bytes;
	}
	free(part);
	if (ret == 0 && mix->cycle == NULL)
		ret = err_set(e, ENOMEM, "out of memory for %" PRIu64 " sizes", places);
	return ret;
}

static const char *sizes_str(const char *words, uint32_t bytes, const struct wire_mean *wire,
			     char *buf, size_t size)
{
	double frame = wire->l1_bytes - WIRE_OVERHEAD_BYTES;

	if (words[0] == '\0' && wire->frames > 1)
		snprintf(buf, size, "%u B (%.0f frames)", bytes, wire->frames);
	else if (words[0] == '\0')
		snprintf(buf, size, "%u B (frame %.0f)", bytes, frame);
	else if (wire->frames > 1)
		snprintf(buf, size, "%s (mean %.2f frames)", words, wire->frames);
	else
		snprintf(buf, size, "%s (mean frame %.1f)", words, frame);
	return buf;
}

const char *request_sizes_str(const struct matrix *m, char *buf, size_t size)
{
	struct sender by = matrix_sender(m);
	struct wire_mean wire = request_wire(m, &by, by.tags);

	return sizes_str(m->traffic.req_words, m->traffic.req_bytes, &wire, buf, size);
}

const char *reply_sizes_str(const struct matrix *m, char *buf, size_t size)
{
	struct sender by = matrix_sender(m);
	struct wire_mean wire = reply_wire(m, &by, by.tags);

	return sizes_str(m->traffic.rep_words, m->traffic.rep_bytes, &wire, buf, size);
}

double request_mean(const struct matrix *m)
{
	return m->traffic.req_mix.cycle == NULL ? m->traffic.req_bytes
						: mix_mean(&m->traffic.req_mix);
}

double reply_mean(const struct matrix *m)
{
	return m->traffic.rep_mix.cycle == NULL ? m->traffic.rep_bytes
						: mix_mean(&m->traffic.rep_mix);
}
