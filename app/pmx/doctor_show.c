#include "doctor.h"

#include "text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const health_word[HEALTH_COUNT] = {
	[HEALTH_NONE] = "",	[HEALTH_OK] = "ok",	      [HEALTH_UNKNOWN] = "unknown",
	[HEALTH_NOTE] = "note", [HEALTH_WARNING] = "WARNING", [HEALTH_BLOCKER] = "BLOCKER",
};

static void count_host(const struct doctor_host *h, struct doctor_counts *c)
{
	for (size_t i = 0; i < h->count; i++)
		c->of[h->list[i].finding.health]++;
}

void doctor_count(const struct doctor *d, const bool *chosen, struct doctor_counts *c)
{
	*c = (struct doctor_counts){ 0 };
	count_host(&d->here, c);
	for (size_t i = 0; i < d->matrix->host_count; i++) {
		if (!chosen[i])
			continue;
		c->hosts++;
		c->asked += d->host[i].asked;
		count_host(&d->host[i], c);
	}
}

static bool is_problem(enum health h)
{
	return h >= HEALTH_NOTE;
}

static void put_finding(FILE *f, const char *name, const struct diagnosis *g, bool colour)
{
	enum health h = g->finding.health;
	bool bad = h == HEALTH_BLOCKER || h == HEALTH_WARNING;

	fprintf(f, "%s: ", name);
	if (bad)
		text_begin(f, TEXT_BAD, colour);
	fprintf(f, "%-8s", health_word[h]);
	if (bad)
		text_end(f, TEXT_BAD, colour);
	fprintf(f, "%s: %s\n", g->probe, g->finding.text);
	if (is_problem(h))
		fprintf(f, "%s:         fix: %s [doctor-%s]\n", name,
			g->finding.fix[0] != '\0' ? g->finding.fix : "-", g->probe);
}

static void put_host(FILE *f, const struct doctor_host *h, bool all, bool colour)
{
	for (size_t i = 0; i < h->count; i++)
		if (all || is_problem(h->list[i].finding.health))
			put_finding(f, h->name, &h->list[i], colour);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void put_verdict(FILE *f, const struct doctor_counts *c, bool all, bool colour)
{
	size_t silent = c->hosts - c->asked;
	bool ready = doctor_exit(c) == 0;
	enum text_style style = ready ? TEXT_GOOD : TEXT_BAD;

	text_begin(f, style, colour);
	fputs(ready ? "READY" : "NOT READY", f);
	text_end(f, style, colour);
	fprintf(f, ": %zu host%s", c->hosts, plural(c->hosts));
	if (silent > 0)
		fprintf(f, ", %zu of them not asked", silent);
	fprintf(f, "; %zu blocker%s, %zu warning%s, %zu note%s, %zu unknown, %zu ok%s\n",
		c->of[HEALTH_BLOCKER], plural(c->of[HEALTH_BLOCKER]), c->of[HEALTH_WARNING],
		plural(c->of[HEALTH_WARNING]), c->of[HEALTH_NOTE], plural(c->of[HEALTH_NOTE]),
		c->of[HEALTH_UNKNOWN], c->of[HEALTH_OK],
		!all && c->of[HEALTH_UNKNOWN] > 0 ? " (--all shows them)" : "");
}

void doctor_text(FILE *f, const struct doctor *d, const bool *chosen, bool all, bool colour)
{
	struct doctor_counts c;

	put_host(f, &d->here, all, colour);
	for (size_t i = 0; i < d->matrix->host_count; i++) {
		if (!chosen[i])
			continue;
		if (!d->host[i].asked)
			fprintf(f, "%s: UNREACHABLE: %s\n", d->host[i].name, d->host[i].why);
		put_host(f, &d->host[i], all, colour);
	}
	doctor_count(d, chosen, &c);
	put_verdict(f, &c, all, colour);
}

static json_t *list_json(const struct doctor_host *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->count; i++) {
		const struct diagnosis *g = &h->list[i];
		char anchor[64];

		snprintf(anchor, sizeof(anchor), "doctor-%s", g->probe);
		json_t *one =
			json_pack("{s:s, s:s, s:s, s:s*, s:s}", "probe", g->probe, "health",
				  health_name[g->finding.health], "text", g->finding.text, "fix",
				  g->finding.fix[0] != '\0' ? g->finding.fix : NULL, "doc", anchor);
		if (one == NULL) // bytes of the host that are no UTF-8
			one = json_pack("{s:s, s:s, s:n, s:s}", "probe", g->probe, "health",
					health_name[g->finding.health], "text", "doc", anchor);
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *host_json(const struct doctor_host *h)
{
	return json_pack("{s:s, s:b, s:s?, s:o}", "host", h->name, "asked", h->asked, "why",
			 h->asked ? NULL : h->why, "findings", list_json(h));
}

char *doctor_json(const struct doctor *d, const bool *chosen)
{
	json_t *hosts = json_array();
	struct doctor_counts c;
	char *text;

	for (size_t i = 0; i < d->matrix->host_count; i++)
		if (chosen[i])
			json_array_append_new(hosts, host_json(&d->host[i]));
	doctor_count(d, chosen, &c);
	json_t *root = json_pack(
		"{s:i, s:b, s:i, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I}, s:o, s:o}", "version",
		DOCTOR_VERSION, "ready", doctor_exit(&c) == 0, "exit", doctor_exit(&c), "counts",
		"hosts", (json_int_t)c.hosts, "asked", (json_int_t)c.asked, "blocker",
		(json_int_t)c.of[HEALTH_BLOCKER], "warning", (json_int_t)c.of[HEALTH_WARNING],
		"note", (json_int_t)c.of[HEALTH_NOTE], "unknown", (json_int_t)c.of[HEALTH_UNKNOWN],
		"ok", (json_int_t)c.of[HEALTH_OK], "here", list_json(&d->here), "hosts", hosts);
	text = root != NULL ? json_dumps(root, JSON_INDENT(1)) : NULL;
	json_decref(root);
	char *line = text != NULL ? realloc(text, strlen(text) + 2) : NULL;
	if (line == NULL) {
		free(text);
		return NULL;
	}
	return strcat(line, "\n");
}
