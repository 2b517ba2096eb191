#include "parse.h"

#include <string.h>

#define WORD_MAX 64
#define DISTANCE_MAX 2

static unsigned min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

// Edits from a to b, both of at most WORD_MAX bytes: Levenshtein's, with a swap of neighbours as
// one edit ("hots" for "host"). Row i depends on the two rows before it.
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row[3][WORD_MAX + 1];

	for (unsigned j = 0; j <= b_len; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned *now = row[i % 3];
		const unsigned *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			now[j] =
				min(min(up[j], now[j - 1]) + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = min(now[j], up2[j - 2] + 1);
		}
	}
	return row[a_len % 3][b_len];
}

const char *nearest_word(const char *s, const char *const *words, size_t n)
{
	size_t len = strnlen(s, WORD_MAX + 1);
	unsigned best = DISTANCE_MAX + 1;
	const char *word = NULL;

	if (len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t w_len = strnlen(words[i], WORD_MAX + 1);
		if (w_len > WORD_MAX)
			continue;
		unsigned d = distance(s, len, words[i], w_len);
		if (d < best && 2 * d < len) {
			best = d;
			word = words[i];
		}
	}
	return word;
}
