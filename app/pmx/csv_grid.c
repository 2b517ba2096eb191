#include "csv_grid.h"

#include "csv.h"

#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SHOW_MAX 60
#define BOM "\xef\xbb\xbf"
#define SIZES_FORM "as '# tx_size=64 rx_size=512 port=5300'"

struct reader {
	struct csv csv;
	struct csv_grid *g;
	size_t room;	 // of g->pair
	uint32_t *order; // owned: columns by name
	bool *row_seen;	 // owned, by host
};

// "tx_size=64" of the sizes' line.
static int setting_read(struct reader *r, char *word, struct err *e)
{
	static const struct {
		const char *key;
		uint64_t min, max;
	} known[] = {
		{ "tx_size", PMX_PAYLOAD_MIN, PAYLOAD_MAX_BYTES },
		{ "rx_size", PMX_PAYLOAD_MIN, PAYLOAD_MAX_BYTES },
		{ "port", 1, UINT16_MAX },
	};
	char *equals = strchr(word, '=');
	struct err inner = { 0 };
	uint64_t value;
	size_t i = 0;

	if (equals == NULL)
		return pos_fail(r->csv.file, r->csv.where, e, "'%s': expected sizes " SIZES_FORM,
				word);
	*equals = '\0';
	while (i < sizeof(known) / sizeof(known[0]) && strcmp(word, known[i].key) != 0)
		i++;
	if (i == sizeof(known) / sizeof(known[0]))
		return pos_fail(
			r->csv.file, r->csv.where, e,
			"'%s': no such setting: expected tx_size, rx_size or port, " SIZES_FORM,
			word);
	if (parse_u64(equals + 1, known[i].min, known[i].max, &value, &inner) < 0)
		return pos_fail(r->csv.file, r->csv.where, e, "%s: %s", word, inner.msg);
	if (i == 0)
		r->g->req_bytes = (uint32_t)value;
	else if (i == 1)
		r->g->rep_bytes = (uint32_t)value;
	else
		r->g->port = (uint16_t)value;
	return 0;
}

// A line that begins with #: sizes, if its first word is a setting.
static int comment_read(struct reader *r, struct err *e)
{
	char word[CSV_FIELD_BYTES];
	bool first = true;
	int ret = 0;

	csv_step(&r->csv);
	while (ret == 0) {
		size_t len = 0;

		while (!csv_line_ended(&r->csv) && (csv_blank(*r->csv.at) || *r->csv.at == ','))
			csv_step(&r->csv);
		if (csv_line_ended(&r->csv))
			return 0;
		r->csv.where = r->csv.pos;
		while (!csv_line_ended(&r->csv) && !csv_blank(*r->csv.at) && *r->csv.at != ',' &&
		       len + 1 < sizeof(word)) {
			word[len++] = *r->csv.at == '\0' ? '?' : *r->csv.at;
			csv_step(&r->csv);
		}
		word[len] = '\0';
		if (first && (word[0] == '=' || strchr(word, '=') == NULL))
			return 0;
		first = false;
		ret = setting_read(r, word, e);
	}
	return ret;
}

static int by_name(const void *a, const void *b, void *hosts)
{
	const uint32_t *x = a, *y = b;
	const struct csv_host *host = hosts;
	int c = strcmp(host[*x].name, host[*y].name);

	return c != 0 ? c : (*x > *y) - (*x < *y);
}

static int name_add(struct reader *r, size_t *room, struct err *e)
{
	struct csv_grid *g = r->g;

	if (!host_name_ok(r->csv.field))
		return pos_fail(r->csv.file, r->csv.where, e,
				"column '%.*s': expected a host's name, of " HOST_NAME_FORM
				", up to %d characters%s",
				SHOW_MAX, r->csv.field, NAME_MAX_BYTES - 1,
				strpbrk(r->csv.field, ";\t") != NULL
					? "; fields are separated by commas"
					: "");
	if (g->count == HOSTS_MAX)
		return pos_fail(r->csv.file, r->csv.where, e, "more than %d columns", HOSTS_MAX);
	if (g->count == *room) {
		*room = 2 * *room + 16;
		struct csv_host *grown = reallocarray(g->host, *room, sizeof(*grown));
		if (grown == NULL)
			return err_set(e, ENOMEM, "%s: out of memory", r->csv.file);
		g->host = grown;
	}
	struct csv_host *host = &g->host[g->count++];
	memcpy(host->name, r->csv.field, strlen(r->csv.field) + 1);
	host->pos = r->csv.where;
	return 0;
}

// Columns sorted by name, none twice.
static int names_sort(struct reader *r, struct err *e)
{
	struct csv_grid *g = r->g;

	r->order = calloc(g->count, sizeof(*r->order));
	r->row_seen = calloc(g->count, sizeof(*r->row_seen));
	if (r->order == NULL || r->row_seen == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", r->csv.file);
	for (size_t i = 0; i < g->count; i++)
		r->order[i] = (uint32_t)i;
	qsort_r(r->order, g->count, sizeof(*r->order), by_name, g->host);
	for (size_t i = 1; i < g->count; i++) {
		const struct csv_host *twin = &g->host[r->order[i - 1]], *h = &g->host[r->order[i]];

		if (strcmp(twin->name, h->name) == 0)
			return pos_fail(r->csv.file, h->pos, e,
					"column '%s' a second time: it stands at %d:%d; keep one",
					h->name, twin->pos.line, twin->pos.col);
	}
	return 0;
}

// Its first field is the corner, "src\dst", and may be anything.
static int header_read(struct reader *r, struct err *e)
{
	struct pos gap = { 0 };
	int line = r->csv.pos.line;
	size_t room = 0;
	bool more;
	int ret = csv_field(&r->csv, &more, e);

	while (ret == 0 && more) {
		ret = csv_field(&r->csv, &more, e);
		if (ret < 0)
			break;
		if (r->csv.field[0] == '\0') {
			gap = r->csv.where;
			continue;
		}
		if (gap.line != 0)
			return pos_fail(r->csv.file, gap, e, "column without a name");
		ret = name_add(r, &room, e);
	}
	if (ret < 0)
		return ret;
	if (r->g->count < 2)
		return pos_fail(r->csv.file, (struct pos){ line, 1 }, e,
				"%zu columns behind the first: expected one a host, as "
				"'src\\dst,a,b', two or more",
				r->g->count);
	return names_sort(r, e);
}

static int row_find(struct reader *r, uint32_t *host, struct err *e)
{
	struct csv_grid *g = r->g;
	size_t low = 0, high = g->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(r->csv.field, g->host[r->order[mid]].name);

		*host = r->order[mid];
		if (c < 0)
			high = mid;
		else if (c > 0)
			low = mid + 1;
		else if (r->row_seen[*host])
			return pos_fail(r->csv.file, r->csv.where, e,
					"row '%s' a second time: keep one", r->csv.field);
		else
			return 0;
	}
	const char **names = calloc(g->count, sizeof(*names));
	if (names == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", r->csv.file);
	for (size_t i = 0; i < g->count; i++)
		names[i] = g->host[i].name;
	const char *near = nearest_word(r->csv.field, names, g->count);
	free(names);
	return pos_fail(r->csv.file, r->csv.where, e, "row '%.*s': no column has that name%s%s%s",
			SHOW_MAX, r->csv.field, near != NULL ? ", did you mean '" : "",
			near != NULL ? near : "", near != NULL ? "'?" : "");
}

static int pair_add(struct reader *r, uint32_t src, uint32_t dst, struct err *e)
{
	struct csv_grid *g = r->g;
	struct pair pair = { .src = src, .dst = dst, .pos = r->csv.where };
	struct err inner = { 0 };

	if (r->csv.field[0] == '\0' || src == dst)
		return 0;
	if (parse_rate(r->csv.field, &pair.rate, &inner) < 0)
		return pos_fail(r->csv.file, r->csv.where, e, "%s", inner.msg);
	if (pair.rate.bps > 0)
		return pos_fail(r->csv.file, r->csv.where, e,
				"rate '%s': expected packets/s, as 100k, or 'max'", r->csv.field);
	if (!pair.rate.max && pair.rate.pps == 0)
		return 0;
	if (g->pair_count == r->room) {
		r->room = 2 * r->room + 64;
		struct pair *grown = reallocarray(g->pair, r->room, sizeof(*grown));
		if (grown == NULL)
			return err_set(e, ENOMEM, "%s: out of memory", r->csv.file);
		g->pair = grown;
	}
	g->pair[g->pair_count++] = pair;
	return 0;
}

static int row_read(struct reader *r, struct err *e)
{
	uint32_t src = 0, dst = 0;
	bool more;
	int ret = csv_field(&r->csv, &more, e);

	if (ret == 0)
		ret = row_find(r, &src, e);
	if (ret == 0)
		r->row_seen[src] = true;
	for (; ret == 0 && more; dst++) {
		ret = csv_field(&r->csv, &more, e);
		if (ret == 0 && dst >= r->g->count && r->csv.field[0] != '\0')
			return pos_fail(r->csv.file, r->csv.where, e,
					"'%.*s': row '%s' has more cells than there are columns",
					SHOW_MAX, r->csv.field, r->g->host[src].name);
		if (ret == 0 && dst < r->g->count)
			ret = pair_add(r, src, dst, e);
	}
	return ret;
}

// Whether nothing but blanks and commas stands in the line.
static bool line_blank(const struct reader *r)
{
	const char *p = r->csv.at;

	while (p < r->csv.end && (csv_blank(*p) || *p == ','))
		p++;
	return p == r->csv.end || *p == '\n';
}

static int lines_read(struct reader *r, struct err *e)
{
	bool header = false;
	int ret = 0;

	if (r->csv.end - r->csv.at >= 3 && memcmp(r->csv.at, BOM, 3) == 0)
		r->csv.at += 3;
	for (; ret == 0 && r->csv.at < r->csv.end; csv_line_next(&r->csv)) {
		if (line_blank(r))
			continue;
		if (*r->csv.at == '#') {
			ret = comment_read(r, e);
		} else if (!header) {
			ret = header_read(r, e);
			header = true;
		} else {
			ret = row_read(r, e);
		}
		if (ret < 0)
			return ret;
	}
	struct pos first = { 1, 1 };
	if (!header)
		return pos_fail(r->csv.file, first, e,
				"no grid: expected a first line of names, as 'src\\dst,a,b'");
	if (r->g->pair_count == 0)
		return pos_fail(
			r->csv.file, first, e,
			"every cell is empty: expected a rate above 0 for one pair or more");
	return 0;
}

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return (x->dst > y->dst) - (x->dst < y->dst);
}

int csv_grid_parse(const char *file, const char *text, size_t len, struct csv_grid *g,
		   struct err *e)
{
	struct reader r = {
		.csv = { .file = file, .at = text, .end = text + len, .pos = { 1, 1 } },
		.g = g,
	};

	*g = (struct csv_grid){ 0 };
	int ret = lines_read(&r, e);
	free(r.order);
	free(r.row_seen);
	if (ret < 0) {
		csv_grid_free(g);
		return ret;
	}
	qsort(g->pair, g->pair_count, sizeof(*g->pair), by_pair); // rows stand in any order
	return 0;
}

void csv_grid_free(struct csv_grid *g)
{
	free(g->host);
	free(g->pair);
	*g = (struct csv_grid){ 0 };
}
