#include "seq_file.h"

#include "parse.h"
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Enough for a run's name and a number, with blanks and newline.
#define LINE_MAX_BYTES 128

int seq_file_write(FILE *f, const char *run_id, const uint32_t *seq, uint32_t n)
{
	fprintf(f, "%s %" PRIu32 "\n", run_id, n);
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%" PRIu32 "\n", seq[i]);
	return ferror(f) != 0 ? -1 : 0;
}

// The next line without its newline; false = there is none that is whole and short.
static bool line_read(FILE *f, char *line)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(f)) != EOF && c != '\n' && c != '\0' && n < LINE_MAX_BYTES - 1)
		line[n++] = (char)c;
	line[n] = '\0';
	return c == '\n';
}

static bool number_read(const char *s, uint32_t *out)
{
	uint64_t v;

	if (parse_u64(s, 0, UINT32_MAX, &v, NULL) != 0)
		return false;
	*out = (uint32_t)v;
	return true;
}

int64_t seq_file_read(FILE *f, const char *run_id, uint32_t *seq, uint32_t n, struct err *e)
{
	char line[LINE_MAX_BYTES];
	size_t run_len = strlen(run_id);
	uint32_t have;

	if (!line_read(f, line) || strncmp(line, run_id, run_len) != 0 || line[run_len] != ' ')
		return 0;
	if (!number_read(line + run_len + 1, &have))
		return err_set(e, EPROTO,
			       SESSION_RESUME ":1: no number of streams: stop and start");
	for (uint32_t i = 0; i < have; i++) {
		uint32_t v;

		if (!line_read(f, line) || !number_read(line, &v))
			return err_set(e, EPROTO,
				       SESSION_RESUME ": %" PRIu32 " of %" PRIu32
						      " sequences: stop and start",
				       i, have);
		if (i < n)
			seq[i] = v;
	}
	if (getc_unlocked(f) != EOF)
		return err_set(e, EPROTO,
			       SESSION_RESUME ": more than %" PRIu32 " sequences: stop and start",
			       have);
	return have;
}
