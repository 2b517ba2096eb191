#include "resume.h"

#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEMP SESSION_RESUME ".tmp"

static uint32_t stream_count(const struct hostcfg *cfg)
{
	uint32_t n = 0;
	for (size_t i = 0; i < cfg->tx_count; i++)
		n += cfg->tx[i].streams;
	return n;
}

static int write_all(const struct hostcfg *cfg, const uint32_t *seq, uint32_t n)
{
	FILE *f = fopen(TEMP, "we");
	if (f == NULL)
		return -1;
	fprintf(f, "%s %" PRIu32 "\n", cfg->run_id, n);
	for (uint32_t i = 0; i < n; i++)
		fprintf(f, "%" PRIu32 "\n", seq[i]);
	return fclose(f) == 0 && rename(TEMP, SESSION_RESUME) == 0 ? 0 : -1;
}

void resume_write(const struct hostcfg *cfg, struct queue *const *queue)
{
	uint32_t n = stream_count(cfg);
	uint32_t *seq = calloc(n + 1, sizeof(*seq));
	int r = seq == NULL ? -1 : 0;
	for (uint16_t q = 0; q < cfg->port.queues && r == 0; q++)
		r = queue_sequences_get(queue[q], cfg, seq);
	if (r == 0)
		r = write_all(cfg, seq, n);
	if (r != 0)
		fprintf(stderr, "pmx-agent: cannot write " SESSION_RESUME ": %s\n",
			strerror(errno));
	free(seq);
}

// The numbers of f into seq[n]; more than n are of streams that are no more.
static int read_all(FILE *f, uint32_t *seq, uint32_t n, uint32_t have, struct err *e)
{
	for (uint32_t i = 0; i < have; i++) {
		uint32_t v;
		if (fscanf(f, "%" SCNu32, &v) != 1)
			return err_set(e, EPROTO,
				       SESSION_RESUME ": %u of %u sequences: stop and start", i,
				       have);
		if (i < n)
			seq[i] = v;
	}
	return 0;
}

int resume_read(const struct hostcfg *cfg, struct queue *const *queue, struct err *e)
{
	char run_id[NAME_MAX_BYTES] = "";
	uint32_t n = stream_count(cfg), have = 0, *seq;
	FILE *f = fopen(SESSION_RESUME, "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%63s %" SCNu32, run_id, &have) != 2 || strcmp(run_id, cfg->run_id) != 0) {
		fclose(f);
		return 0;
	}
	seq = calloc(n + 1, sizeof(*seq));
	int r = seq == NULL ? err_set(e, ENOMEM, "no memory for %u sequences", n)
			    : read_all(f, seq, n, have, e);
	fclose(f);
	for (uint16_t q = 0; q < cfg->port.queues && r == 0; q++) {
		r = queue_sequences_set(queue[q], cfg, seq);
		if (r != 0)
			err_set(e, ENOMEM, "no memory for %u sequences", n);
	}
	free(seq);
	return r;
}
