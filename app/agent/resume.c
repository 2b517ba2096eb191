#include "resume.h"

#include "seq_file.h"
#include "session.h"

#include <errno.h>
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
	int r = seq_file_write(f, cfg->run_id, seq, n);
	return fclose(f) == 0 && r == 0 && rename(TEMP, SESSION_RESUME) == 0 ? 0 : -1;
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

int resume_read(const struct hostcfg *cfg, struct queue *const *queue, struct err *e)
{
	uint32_t n = stream_count(cfg), *seq;
	FILE *f = fopen(SESSION_RESUME, "re");
	if (f == NULL)
		return 0;
	seq = calloc(n + 1, sizeof(*seq));
	int64_t have = seq == NULL ? err_set(e, ENOMEM, "no memory for %u sequences", n)
				   : seq_file_read(f, cfg->run_id, seq, n, e);
	fclose(f);
	int r = have < 0 ? (int)have : 0;
	for (uint16_t q = 0; q < cfg->port.queues && r == 0 && have > 0; q++) {
		r = queue_sequences_set(queue[q], cfg, seq);
		if (r != 0)
			err_set(e, ENOMEM, "no memory for %u sequences", n);
	}
	free(seq);
	return r;
}
