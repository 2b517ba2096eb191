#include "doctor.h"
#include "probes.h"

#include <stdlib.h>
#include <string.h>

// What hosts say, and how many say it.
struct saying {
	const char *text; // "mlx5_core, firmware 16.35.1012"
	size_t hosts;
};

// The finding of a host's firmware, or NULL when it is not known.
static struct finding *firmware_of(const struct doctor_host *h)
{
	for (size_t i = 0; i < h->count; i++)
		if (strcmp(h->list[i].probe, "firmware") == 0)
			return h->list[i].finding.health == HEALTH_OK ? &h->list[i].finding : NULL;
	return NULL;
}

static bool same_driver(const char *a, const char *b)
{
	size_t n = strcspn(a, ",");

	return strcspn(b, ",") == n && strncmp(a, b, n) == 0;
}

// Distinct sayings in the order of the hosts; they are few.
static size_t gather(const struct doctor *d, struct saying *s)
{
	size_t n = 0;

	for (size_t i = 0; i < d->matrix->host_count; i++) {
		const struct finding *f = firmware_of(&d->host[i]);
		size_t at = 0;

		if (f == NULL)
			continue;
		while (at < n && strcmp(s[at].text, f->text) != 0)
			at++;
		if (at == n)
			s[n++].text = f->text;
		s[at].hosts++;
	}
	return n;
}

// An earlier port of the same host that was asked.
static bool is_told(const struct doctor *d, size_t host)
{
	for (size_t i = d->matrix->host[host].first; i < host; i++)
		if (d->host[i].asked)
			return true;
	return false;
}

// What is said of a host stands with the first of its ports.
static void tell_once(const struct doctor *d, size_t host)
{
	struct doctor_host *h = &d->host[host];
	size_t kept = 0;

	for (size_t i = 0; i < h->count && is_told(d, host); i++) {
		const struct probe *p = probe_find(h->list[i].probe);

		if (p == NULL || !p->machine)
			h->list[kept++] = h->list[i];
	}
	h->count = is_told(d, host) ? kept : h->count;
}

void doctor_compare(struct doctor *d)
{
	for (size_t i = 0; i < d->matrix->host_count; i++)
		tell_once(d, i);

	struct saying *s = calloc(d->matrix->host_count, sizeof(*s));
	size_t n = s != NULL ? gather(d, s) : 0;

	for (size_t i = 0; i < d->matrix->host_count && n > 1; i++) {
		struct finding *f = firmware_of(&d->host[i]);
		const struct saying *most = NULL;

		for (size_t j = 0; j < n && f != NULL; j++)
			if (same_driver(s[j].text, f->text) &&
			    (most == NULL || s[j].hosts > most->hosts))
				most = &s[j];
		if (most == NULL || strcmp(most->text, f->text) == 0)
			continue;
		f->health = HEALTH_NOTE;
		mend(f, "the same firmware on all hosts; most (%zu) have %.200s", most->hosts,
		     most->text);
		doctor_sort(&d->host[i]);
	}
	free(s);
}
