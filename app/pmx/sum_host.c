#include "sum_host.h"

#include "units.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Below so few received packets per queue an even spread is not to be expected.
#define SKEW_MIN_PACKETS 1000

void count_add(uint64_t *sum, uint64_t v)
{
	if (v == COUNTER_UNKNOWN)
		return;
	*sum = *sum == COUNTER_UNKNOWN ? v : *sum + v;
}

void loss_add(int64_t *sum, int64_t v)
{
	if (v == LOSS_UNKNOWN)
		return;
	*sum = *sum == LOSS_UNKNOWN ? v : *sum + v;
}

void rate_add(double *sum, double v)
{
	if (isnan(v))
		return;
	*sum = isnan(*sum) ? v : *sum + v;
}

int64_t loss_between(uint64_t sent, uint64_t arrived)
{
	if (sent == COUNTER_UNKNOWN || arrived == COUNTER_UNKNOWN)
		return LOSS_UNKNOWN;
	return (int64_t)(sent - arrived);
}

double share_pct(uint64_t part, uint64_t whole)
{
	if (part == COUNTER_UNKNOWN || whole == COUNTER_UNKNOWN || whole == 0)
		return NAN;
	return 100.0 * (double)part / (double)whole;
}

double loss_share_pct(int64_t lost, uint64_t sent)
{
	if (lost == LOSS_UNKNOWN || sent == COUNTER_UNKNOWN || sent == 0)
		return NAN;
	return 100.0 * (double)lost / (double)sent;
}

double per_second(uint64_t count, double window_s)
{
	if (count == COUNTER_UNKNOWN || !(window_s > 0))
		return NAN;
	return (double)count / window_s;
}

// The run that most results are of: a host that was left out of this one may still hold the result
// of an earlier one, and those must not be added up.
static const char *run_of_most(struct sum_part *const *part, size_t n)
{
	const char *run = "";
	size_t best = 0;

	for (size_t i = 0; i < n; i++) {
		size_t same = 0;

		if (part[i] == NULL || strcmp(part[i]->run_id, run) == 0)
			continue;
		for (size_t k = i; k < n; k++)
			if (part[k] != NULL && strcmp(part[k]->run_id, part[i]->run_id) == 0)
				same++;
		if (same > best) {
			best = same;
			run = part[i]->run_id;
		}
	}
	return run;
}

// Frames that had no business here. Not: what the agent lacked an mbuf for, or ARP and ICMP in
// excess.
static uint64_t foreign_frames(const struct sum_host *h)
{
	uint64_t sum = 0;

	for (int i = 0; i < DROP_REASONS; i++)
		if (i != DROP_NOMBUF && i != DROP_SLOW && i != DROP_INCOMPLETE &&
		    h->drop[i] != COUNTER_UNKNOWN)
			sum += h->drop[i];
	return sum;
}

// Takes over the queues.
static void take_part(struct sum_host *h, struct sum_part *p, const char *run)
{
	if (p == NULL)
		return;
	if (strcmp(p->run_id, run) != 0) {
		snprintf(h->failure, sizeof(h->failure),
			 "its result is of run '%s', the others are of run '%s'", p->run_id, run);
		return;
	}
	if (p->host.failure[0] == '\0')
		memcpy(p->host.failure, h->failure, sizeof(h->failure));
	*h = p->host;
	p->host.queue = NULL;
}

int hosts_take(const struct summary_input *in, struct sum_part *const *part, struct summary *s,
	       struct err *e)
{
	size_t n = in->matrix->host_count, windows = 0;
	const char *run = run_of_most(part, n);
	double window_s = 0;

	s->host = malloc((n ? n : 1) * sizeof(*s->host));
	if (s->host == NULL)
		return err_set(e, ENOMEM, "no memory for %zu hosts", n);
	s->host_count = n;
	snprintf(s->run_id, sizeof(s->run_id), "%s", run);
	for (uint32_t i = 0; i < n; i++) {
		struct sum_host *h = &s->host[i];

		*h = host_unknown(i);
		if (in->failure != NULL && in->failure[i] != NULL)
			snprintf(h->failure, sizeof(h->failure), "%s", in->failure[i]);
		take_part(h, part[i], run);
		s->windowed = s->windowed || (h->measured && part[i]->windowed);
		s->running = s->running || (h->measured && !part[i]->done);
		s->measured_hosts += h->measured;
		if (h->measured) {
			count_add(&s->foreign, foreign_frames(h));
			s->rotation = part[i]->rotation;
		}
		if (h->window_s > 0) {
			window_s += h->window_s;
			windows++;
		}
		if (strcmp(h->ended_by, "lease") == 0 || strcmp(h->ended_by, "signal") == 0)
			s->partial = true;
	}
	if (windows > 0)
		s->window_s = window_s / (double)windows;
	s->partial = s->partial || s->measured_hosts < n;
	return 0;
}

void hosts_add_flow(struct summary *s, const struct sum_flow *f)
{
	struct sum_host *src = &s->host[f->src], *dst = &s->host[f->dst];
	// a host's rates are over its window
	double sent_pps = f->sent_pps * f->sent_share;
	double returned_pps = f->returned_pps * f->sent_share;
	double delivered_pps = f->delivered_pps * f->served_share;
	double replied_pps = f->replied_pps * f->served_share;

	src->tx_streams += f->streams;
	count_add(&src->target, f->target);
	if (f->target != COUNTER_UNKNOWN)
		count_add(&src->paced_sent, f->sent);
	count_add(&src->sent, f->sent);
	count_add(&src->unsent, f->unsent);
	count_add(&src->returned, f->returned);
	loss_add(&src->lost, f->lost);
	rate_add(&src->sent_pps, sent_pps);
	rate_add(&src->returned_pps, returned_pps);
	rate_add(&src->egress_l1_bps, sent_pps * 8 * f->sent_l1);
	rate_add(&src->ingress_l1_bps, returned_pps * 8 * f->returned_l1);
	count_add(&src->delivered_to, f->delivered);
	loss_add(&src->lost_forward, f->lost_forward);
	loss_add(&src->lost_back, f->lost_back);

	loss_add(&dst->lost_to, f->lost_forward);
	count_add(&dst->served, f->delivered);
	count_add(&dst->replied, f->replied);
	count_add(&dst->reply_unsent, f->reply_unsent);
	rate_add(&dst->served_pps, delivered_pps);
	rate_add(&dst->egress_l1_bps, replied_pps * 8 * f->replied_l1);
	rate_add(&dst->ingress_l1_bps, delivered_pps * 8 * f->delivered_l1);

	// lost on the way to the destination, and on the way back to the source; sorted out by
	// cause in hosts_finish, when all of a host's losses are here
	if (f->lost_forward != LOSS_UNKNOWN && f->lost_forward > 0)
		dst->cause.unattributed += (uint64_t)f->lost_forward;
	if (f->lost_back != LOSS_UNKNOWN && f->lost_back > 0)
		src->cause.unattributed += (uint64_t)f->lost_back;
	if (f->late_forward != COUNTER_UNKNOWN)
		dst->cause.late += f->late_forward;
	if (f->late_back != COUNTER_UNKNOWN)
		src->cause.late += f->late_back;
}

static const struct sum_cause cause_unknown = {
	.late = COUNTER_UNKNOWN,
	.missed = COUNTER_UNKNOWN,
	.no_mbuf = COUNTER_UNKNOWN,
	.fabric = COUNTER_UNKNOWN,
	.unattributed = COUNTER_UNKNOWN,
};

static uint64_t take_at_most(uint64_t *from, uint64_t n)
{
	uint64_t taken = n < *from ? n : *from;

	*from -= taken;
	return taken;
}

static void attribute(struct sum_cause *c, const struct port_counts *port)
{
	bool missed = port->imissed != COUNTER_UNKNOWN;
	bool no_mbuf = port->rx_nombuf != COUNTER_UNKNOWN;

	c->late = take_at_most(&c->unattributed, c->late);
	if (missed)
		c->missed = take_at_most(&c->unattributed, port->imissed);
	if (no_mbuf)
		c->no_mbuf = take_at_most(&c->unattributed, port->rx_nombuf);
	if (missed && no_mbuf)
		c->fabric = take_at_most(&c->unattributed, c->unattributed);
}

// Of all CPUs of the box of h, what these agents took.
static double agents_share(const struct summary *s, const struct sum_host *h)
{
	const struct matrix_host *m = &s->matrix->host[h->host];
	bool here = s->matrix->transport == TRANSPORT_LOCAL; // all on this machine
	size_t first = here ? 0 : m->first, n = here ? s->host_count : m->ports;
	double sum = 0;

	for (size_t i = first; i < first + n; i++) // the missing ones, too
		sum += s->host[i].agent_cpu_pct;
	return sum / (double)h->cpus;
}

static void find_others(const struct summary *s, struct sum_host *h)
{
	double others = h->cpu_pct - agents_share(s, h);

	if (h->cpus > 0 && !isnan(others))
		h->others_cpu_pct = others > 0 ? others : 0;
}

void hosts_finish(struct summary *s)
{
	bool known = s->complete_flows > 0 && !s->windowed;

	s->cause = known ? (struct sum_cause){ 0 } : cause_unknown;
	for (size_t i = 0; i < s->host_count; i++) {
		struct sum_host *h = &s->host[i];

		h->achieved_pct = share_pct(h->paced_sent, h->target);
		h->loss_pct = loss_share_pct(h->lost, h->sent);
		attribute(&h->cause, &h->port);
		find_others(s, h);
		if (!known)
			continue;
		s->cause.late += h->cause.late;
		s->cause.missed += h->cause.missed;
		s->cause.no_mbuf += h->cause.no_mbuf;
		s->cause.fabric += h->cause.fabric;
		s->cause.unattributed += h->cause.unattributed;
	}
}

double queue_skew(const struct sum_host *h)
{
	uint64_t most = 0, sum = 0;

	for (size_t q = 0; q < h->queue_count; q++) {
		if (h->queue[q].requests_received == COUNTER_UNKNOWN)
			return NAN;
		uint64_t n = h->queue[q].requests_received + h->queue[q].replies_received;
		sum += n;
		most = n > most ? n : most;
	}
	if (h->queue_count < 2 || sum < SKEW_MIN_PACKETS * h->queue_count)
		return NAN;
	return (double)most * (double)h->queue_count / (double)sum;
}
