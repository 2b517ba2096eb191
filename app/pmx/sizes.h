// Sizes of requests and replies in words, as the matrix and the command line have them:
//   64              one size
//   64, 512, 1472   a list, in turn as written; 64-1472, 64-1472/64: a range, by 1 or by a step
//   64:7, 576:4     a mix: exactly so many of each in a cycle, interleaved (size_mix.h)
//   imix            a mix with a name
//   genome:aaafg    a list by the letters of RFC 6985
#pragma once

#include "matrix.h"

#include "err.h"
#include "size_mix.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIZE_FORM                                                                                \
	"a size, a list as 64, 512, a range as 64-1472 or 64-1472/64, a mix as 64:7, 576:4, or " \
	"imix"

struct size_words {
	struct mix_size *part; // owned, in the order written; of a list each weighs 1
	size_t parts;
	bool weighted;	  // a mix: to be interleaved
	bool frames;	  // a name's: Ethernet frames with FCS, of which small ones are made to fit
	const char *name; // a name, or NULL
};

// Numbers are from least to most. Errors are "size 'WORD': ...".
int size_words_parse(const char *text, uint32_t least, uint32_t most, struct size_words *w,
		     struct err *e);
void size_words_free(struct size_words *w);
// What the parts are, short: "64:7 576:4", "64, 512, ... 1472 in turn"; of one size "64".
void size_words_str(const struct size_words *w, char *buf, size_t size);
// The cycle that the parts make: weights without a common divisor. 0, or -EINVAL, -ENOMEM.
int size_words_cycle(const struct size_words *w, struct size_mix *mix, struct err *e);

// "18 B (frame 64)", or the mix and the mean of its frames, as titles have it.
#define SIZES_STR_MAX 256
const char *request_sizes_str(const struct matrix *m, char *buf, size_t size);
const char *reply_sizes_str(const struct matrix *m, char *buf, size_t size);

// Means of a cycle, in bytes of payload.
double request_mean(const struct matrix *m);
double reply_mean(const struct matrix *m);
