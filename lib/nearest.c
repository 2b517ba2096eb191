#include "parse.h"

#include <string.h>

#define WORD_MAX 64
#define DISTANCE_MAX 2

// Levenshtein distance of two words of at most WORD_MAX bytes, by one row of the matrix.
static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row[WORD_MAX + 1];

	for (unsigned j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		unsigned diagonal = row[0]; // of the row above
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned best = diagonal + (a[i - 1] != b[j - 1]);
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = row[j];
			row[j] = best;
		}
	}
	return row[b_len];
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
