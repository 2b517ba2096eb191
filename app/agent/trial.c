#include "trial.h"

#include "dwell.h"
#include "frag.h"
#include "out.h"
#include "rx.h"
#include "tx.h"

// The trial byte stands in every template; with the version byte it is one word of the checksum.
static void set_trial_byte(struct queue *q, uint8_t trial)
{
	const size_t at = q->at.pmx + offsetof(struct pmx_hdr, trial);
	const size_t csum_at = q->at.udp + offsetof(struct rte_udp_hdr, dgram_cksum);
	for (uint32_t i = 0; i < q->tx_stream_count; i++) {
		uint8_t *head = queue_head(q, i);
		uint16_t folded;
		memcpy(&folded, head + csum_at, sizeof(folded));
		uint32_t sum = folded + 0xffffu - ((uint32_t)head[at] << 8);
		folded = csum_fold((uint64_t)sum + ((uint32_t)trial << 8));
		if (!q->csum_hw)
			memcpy(head + csum_at, &folded, sizeof(folded));
		head[at] = trial;
	}
}

static void trial_begin(struct queue *q)
{
	struct queue_trial *t = &q->trial[q->current];
	const struct queue_trial *before = q->current > 0 ? t - 1 : NULL;
	// one that never ran has no schedule to go on with
	bool keep = before != NULL && before->end == t->start && before->end > before->start;
	set_trial_byte(q, (uint8_t)q->current);
	dwell_begin(q, keep);
	t->counts = q->total;
	q->sending = true;
}

static void trial_finish(struct queue *q)
{
	struct queue_trial *t = &q->trial[q->current];
	for (uint32_t i = 0; i < q->tx_stream_count; i++) {
		uint64_t n = q->tx[i].seq - q->tx_mark[i];
		t->tx[q->tx[i].flow].sent += n;
		if (t->run != NULL)
			t->run[i] = (struct tx_run){ q->tx_mark[i], n };
		q->tx_mark[i] = q->tx[i].seq;
	}
	q->sending = false;
	q->current++;
}

// Among them are answers to ARP, ND and ping.
static bool is_trials(const struct queue *q, const struct rte_mbuf *m, uint8_t trial)
{
	const uint8_t *d = rte_pktmbuf_mtod(m, const uint8_t *);
	const rte_be16_t ip =
		q->at.v6 ? RTE_BE16(RTE_ETHER_TYPE_IPV6) : RTE_BE16(RTE_ETHER_TYPE_IPV4);
	size_t proto_at = q->at.l3 + (q->at.v6 ? offsetof(struct rte_ipv6_hdr, proto)
					       : offsetof(struct rte_ipv4_hdr, next_proto_id));
	rte_be16_t type;
	memcpy(&type, d + q->at.l3 - sizeof(type), sizeof(type));
	return type == ip && d[proto_at] == IPPROTO_UDP && queue_frame(q, m)->pmx.trial == trial;
}

// The same of their counters by size.
static void unsent_by_size(struct queue *q, struct queue_trial *t, const struct rte_mbuf *m)
{
	uint32_t i = m->hash.usr, seq = rx_seq(queue_frame(q, m));
	if (out_is_request(q, m)) {
		by_size_unsent(t->tx_size, &q->any.tx_flow[q->tx[i].flow],
			       seq + queue_tx_index(q, i));
		return;
	}
	const struct rx_stream *s = &q->request[i];
	by_size_reply_unsent(t->rx_size, &q->any.rx_flow[s->flow],
			     seq + rte_be_to_cpu_32(s->peer_stream));
}

// Frames of a closing trial that the PMD never took: they were not sent.
static void purge_out(struct queue *q, struct queue_trial *t, uint8_t trial)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < q->out_count; i++) {
		struct rte_mbuf *m = q->out[q->out_head + i];
		if (!is_trials(q, m, trial)) {
			q->out[q->out_head + kept++] = m;
			continue;
		}
		if (out_is_request(q, m)) {
			struct tx_counts *c = &t->tx[q->tx[m->hash.usr].flow];
			c->sent--;
			c->unsent++;
		} else {
			t->rx[q->request[m->hash.usr].flow].reply_unsent++;
		}
		if (!q->plain)
			unsent_by_size(q, t, m);
		if (i == 0 && q->frag != NULL)
			frag_forget(q);
		rte_pktmbuf_free(m);
	}
	q->out_count = kept;
	q->out_old = kept;
}

static void book_streams(struct queue *q, struct rx_stream *s, uint64_t *mark, uint32_t count,
			 uint8_t trial, bool reply)
{
	for (uint32_t i = 0; i < count; i++) {
		if (s[i].trial != trial)
			continue;
		rx_book(q, &s[i], &mark[i], s[i].recv - mark[i], reply);
		s[i].trial = NO_TRIAL;
	}
}

static void book_received(struct queue *q, uint8_t trial)
{
	book_streams(q, q->reply, q->reply_mark, q->tx_stream_all, trial, true);
	book_streams(q, q->request, q->request_mark, q->rx_stream_count, trial, false);
}

// The queue's row of a trial is the sum of its flows', so that rows add up exactly.
static void sum_counts(struct queue *q, struct queue_trial *t)
{
	struct queue_counts c = {
		.tx_full = q->total.tx_full - t->counts.tx_full,
		.busy_tsc = t->counts_end.busy_tsc - t->counts.busy_tsc,
		.total_tsc = t->counts_end.total_tsc - t->counts.total_tsc,
		.lcore = q->total.lcore,
	};
	for (uint32_t i = 0; i < q->tx_flow_count; i++) {
		c.requests_sent += t->tx[i].sent;
		c.replies_received += t->tx[i].returned;
		c.off_queue += t->tx[i].off_queue;
	}
	for (uint32_t i = 0; i < q->rx_flow_count; i++) {
		struct rx_counts *r = &t->rx[i];
		r->replied = r->delivered - r->reply_unsent;
		c.requests_received += r->delivered;
		c.replies_sent += r->replied;
	}
	t->counts = c;
}

static void trial_close(struct queue *q, uint32_t trial)
{
	struct queue_trial *t = &q->trial[trial];
	purge_out(q, t, (uint8_t)trial);
	book_received(q, (uint8_t)trial);
	sum_counts(q, t);
	t->closed = true;
	atomic_store_explicit(&q->closed_trials, trial + 1, memory_order_release);
}

// A stop shortens the trial that runs and empties those to come.
static void apply_stop(struct queue *q, uint64_t stop)
{
	for (uint32_t i = q->current; i < q->trial_count; i++) {
		struct queue_trial *t = &q->trial[i];
		if (t->end <= stop)
			continue;
		uint64_t drain = t->close - t->end;
		t->end = t->start < stop ? stop : t->start;
		t->close = stop + drain;
		if (i == q->current && q->sending)
			dwell_cut(q);
	}
}

static void step_sending(struct queue *q, uint64_t now)
{
	while (q->sending && dwell_over(q, now)) {
		if (dwell_next(q))
			continue;
		q->trial[q->current].counts_end = q->total;
		trial_finish(q);
	}
	while (!q->sending && q->current < q->trial_count && now >= q->trial[q->current].start) {
		struct queue_trial *t = &q->trial[q->current];
		if (t->end > t->start) {
			trial_begin(q);
		} else {
			t->counts = t->counts_end = q->total; // never ran
			q->current++;
		}
	}
}

uint64_t trial_step(struct queue *q, uint64_t now)
{
	if (!atomic_load_explicit(&q->shared->armed, memory_order_acquire))
		return UINT64_MAX;
	uint64_t stop = atomic_load_explicit(&q->shared->stop_tsc, memory_order_acquire);
	if (unlikely(stop != 0 && !q->stopped)) {
		apply_stop(q, stop);
		q->stopped = true;
	}
	step_sending(q, now);

	uint32_t closed = atomic_load_explicit(&q->closed_trials, memory_order_relaxed);
	while (closed < q->current && now >= q->trial[closed].close)
		trial_close(q, closed++);

	uint64_t next = UINT64_MAX;
	if (q->sending)
		next = q->pace.end;
	else if (q->current < q->trial_count)
		next = q->trial[q->current].start;
	if (closed < q->current && q->trial[closed].close < next)
		next = q->trial[closed].close;
	return next;
}
