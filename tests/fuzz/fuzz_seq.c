// The reader of agent.seq: it writes no sequence beyond those that there is room for, and what it
// takes, it writes and takes again.
#include "fuzz.h"
#include "seq_file.h"

#include <stdlib.h>
#include <string.h>

#define RUN "r1"
#define STREAMS_MAX 64

// Reads into an array of its exact size.
static int64_t read_into(const void *data, size_t size, uint32_t *seq, uint32_t n)
{
	struct err e = { 0 };
	FILE *f = size > 0 ? fmemopen((void *)(uintptr_t)data, size, "r") : fopen("/dev/null", "r");

	fuzz_require(f != NULL, "memory");
	int64_t have = seq_file_read(f, RUN, seq, n, &e);
	fclose(f);
	if (have < 0)
		fuzz_require(e.code == -have && strchr(e.msg, '\n') == NULL,
			     "a refusal is one line");
	return have;
}

static uint32_t *array(size_t n)
{
	uint32_t *seq = calloc(n > 0 ? n : 1, sizeof(*seq));

	fuzz_require(seq != NULL, "memory");
	return seq;
}

static void again(const uint32_t *seq, uint32_t n)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	uint32_t *back = array(n);

	fuzz_require(f != NULL, "memory");
	fuzz_require(seq_file_write(f, RUN, seq, n) == 0 && fclose(f) == 0, "it is written");
	fuzz_require(read_into(text, len, back, n) == n, "what was written is read");
	fuzz_require(memcmp(seq, back, n * sizeof(*seq)) == 0, "the same sequences come back");
	fuzz_require(n == 0 || read_into(text, len - 1, back, n) < 0, "half of it is refused");
	free(back);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (uint32_t n = 0; n <= STREAMS_MAX; n = 4 * n + 1) {
		uint32_t *seq = array(n);
		int64_t have = read_into(data, size, seq, n);

		for (int64_t i = have < 0 ? n : have; i < n; i++)
			fuzz_require(seq[i] == 0, "streams that the file does not know begin at 0");
		if (have > 0)
			again(seq, (uint32_t)(have < n ? have : n));
		free(seq);
	}
	return 0;
}
