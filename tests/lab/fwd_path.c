#include "fwd_path.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ETH_BYTES 14
#define IP4_PROTOCOL_AT (ETH_BYTES + 9)
#define PROTOCOL_UDP 17

int path_open(struct path *p, const struct path_rules *rule)
{
	*p = (struct path){
		.rule = *rule,
		.count.delay_min_ns = UINT64_MAX,
		.frame = calloc(PATH_FRAMES, sizeof(*p->frame)),
		.sample = calloc(PATH_SAMPLES, sizeof(*p->sample)),
	};
	for (uint32_t i = 0; i < PATH_FRAMES; i++)
		p->order[i] = (uint16_t)i;
	if (p->frame != NULL && p->sample != NULL)
		return 0;
	path_close(p);
	return -ENOMEM;
}

void path_close(struct path *p)
{
	free(p->frame);
	free(p->sample);
	p->frame = NULL;
	p->sample = NULL;
}

static uint16_t *place(struct path *p, uint32_t i)
{
	return &p->order[i % PATH_FRAMES];
}

static struct path_frame *at(struct path *p, uint32_t i)
{
	return &p->frame[*place(p, i)];
}

bool path_empty(const struct path *p)
{
	return p->head == p->tail;
}

bool path_full(const struct path *p)
{
	return p->tail - p->head == PATH_FRAMES;
}

static bool is_udp(const struct path_frame *f)
{
	return f->len > IP4_PROTOCOL_AT && f->data[12] == 0x08 && f->data[13] == 0x00 &&
	       f->data[ETH_BYTES] >> 4 == 4 && f->data[IP4_PROTOCOL_AT] == PROTOCOL_UDP;
}

// The newest frame changes places with the one before it, which waited.
static void step_back(struct path *p)
{
	uint16_t *a = place(p, p->tail - 2), *b = place(p, p->tail - 1);
	uint16_t waited = *a;
	*a = *b;
	*b = waited;
}

static void end_hold(struct path *p)
{
	struct path_frame *held = at(p, p->tail - 2), *next = at(p, p->tail - 1);
	held->due_ns = next->due_ns;
	held->timed = false;
	step_back(p);
	p->holding = false;
	p->count.swapped++;
}

void path_take(struct path *p, const uint8_t *data, uint32_t len, uint64_t arrival_ns)
{
	struct path_frame *f = at(p, p->tail++);
	memcpy(f->data, data, len);
	f->len = len;
	f->arrival_ns = arrival_ns;
	f->due_ns = arrival_ns + p->rule.delay_ns;
	f->dup = false;
	p->count.received++;
	f->timed = is_udp(f);
	if (!f->timed) {
		if (p->holding) // passes by the frame that waits
			step_back(p);
		return;
	}
	uint64_t n = ++p->count.udp;
	f->dup = p->rule.dup_every > 0 && n % p->rule.dup_every == 0;
	if (p->holding)
		end_hold(p);
	else
		p->holding = p->rule.swap_every > 0 && n % p->rule.swap_every == 0;
}

const struct path_frame *path_due(struct path *p, uint64_t now_ns, uint64_t *next_ns)
{
	if (path_empty(p)) {
		*next_ns = PATH_NEVER;
		return NULL;
	}
	struct path_frame *f = at(p, p->head);
	*next_ns = f->due_ns;
	if (p->holding && p->tail - p->head == 1) {
		*next_ns += PATH_HOLD_NS;
		if (now_ns >= *next_ns) {
			p->holding = false;
			f->timed = false;
			p->count.unswapped++;
		}
	}
	return now_ns >= *next_ns ? f : NULL;
}

void path_sent(struct path *p, uint64_t now_ns)
{
	const struct path_frame *f = at(p, p->head++);
	struct path_counts *c = &p->count;
	c->sent += f->dup ? 2 : 1;
	c->duplicated += f->dup;
	if (!f->timed)
		return;
	uint64_t delay_ns = now_ns > f->arrival_ns ? now_ns - f->arrival_ns : 0;
	if (c->delays < PATH_SAMPLES)
		p->sample[c->delays] = delay_ns < UINT32_MAX ? (uint32_t)delay_ns : UINT32_MAX;
	c->delays++;
	c->delay_sum_ns += delay_ns;
	c->delay_min_ns = delay_ns < c->delay_min_ns ? delay_ns : c->delay_min_ns;
	c->delay_max_ns = delay_ns > c->delay_max_ns ? delay_ns : c->delay_max_ns;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

uint64_t path_delay_percentile(struct path *p, double percent)
{
	uint64_t n = p->count.delays < PATH_SAMPLES ? p->count.delays : PATH_SAMPLES;
	if (n == 0)
		return 0;
	qsort(p->sample, n, sizeof(*p->sample), compare);
	uint64_t rank = (uint64_t)ceil((double)n * percent / 100);
	return p->sample[rank > 0 ? rank - 1 : 0];
}
