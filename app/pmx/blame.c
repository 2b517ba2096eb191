#include "blame.h"

#include "parse.h"

#include <stdlib.h>
#include <string.h>

struct miss { // `by` waits for `whom`
	uint32_t by, whom;
};

struct misses {
	struct miss *list; // owned
	size_t n, cap;
};

static bool add(struct misses *x, uint32_t by, uint32_t whom)
{
	if (x->n == x->cap) {
		size_t cap = x->cap * 2 + 64;
		struct miss *list = realloc(x->list, cap * sizeof(*list));

		if (list == NULL)
			return false;
		x->list = list;
		x->cap = cap;
	}
	x->list[x->n++] = (struct miss){ .by = by, .whom = whom };
	return true;
}

static size_t host_of(const struct matrix *m, const struct ip_addr *addr)
{
	size_t i = 0;

	while (i < m->host_count && !ip_eq(&m->host[i].addr, addr) &&
	       !source_has(&m->host[i].src_addr, m->host[i].src_count, addr))
		i++;
	return i;
}

// The addresses in one host's words. Returns how many of them are other hosts'.
static size_t read_words(const struct matrix *m, uint32_t by, const char *words, struct misses *x)
{
	static const char digits[] = "0123456789abcdef:.";
	size_t found = 0;

	for (const char *p = words; *p != '\0';) {
		size_t len = strspn(p, digits);
		char word[IP_STR_MAX];
		struct ip_addr addr;

		if (len > 0 && len < sizeof(word)) {
			memcpy(word, p, len);
			word[len] = '\0';
			if (word[len - 1] == '.' || word[len - 1] == ':')
				word[len - 1] = '\0';
			if (parse_ip(word, &addr, NULL) == 0) {
				size_t whom = host_of(m, &addr);

				if (whom < m->host_count && whom != by)
					found += add(x, by, (uint32_t)whom);
			}
		}
		p += len > 0 ? len : strcspn(p, digits);
	}
	return found;
}

// The host with the most misses, either way, that are not explained yet; being missed counts more
// than missing. m->host_count = none is left.
static size_t worst(const struct matrix *m, const struct misses *x, const bool *blamed,
		    size_t *score)
{
	size_t best = m->host_count;

	memset(score, 0, m->host_count * sizeof(*score));
	for (size_t i = 0; i < x->n; i++) {
		if (blamed[x->list[i].by] || blamed[x->list[i].whom])
			continue;
		score[x->list[i].by] += 2;
		score[x->list[i].whom] += 3;
	}
	for (size_t i = 0; i < m->host_count; i++)
		if (score[i] > 0 && (best == m->host_count || score[i] > score[best]))
			best = i;
	return best;
}

void blame_find(const struct matrix *m, const char *const *waits, bool *blamed)
{
	size_t *score = calloc(m->host_count, sizeof(*score)), next;
	struct misses x = { 0 };

	for (size_t i = 0; i < m->host_count; i++)
		blamed[i] = waits[i] != NULL && read_words(m, (uint32_t)i, waits[i], &x) == 0;
	while (score != NULL && (next = worst(m, &x, blamed, score)) < m->host_count)
		blamed[next] = true;
	free(score);
	free(x.list);
}
