#include "sum_sizes.h"

#include "on_wire.h"
#include "sizes.h"
#include "sum_host.h"

#include "units.h"

#include <errno.h>
#include <stdlib.h>

// --- one flow's counters of one direction

struct counts {
	const struct mix_size *size;
	size_t count;
	const uint64_t *first, *second; // sent and returned, or delivered and replied; NULL = none
};

static struct counts counts_of(const struct sum_part *p, const struct uints *u, uint32_t req_mix,
			       uint32_t rep_mix, bool reply)
{
	size_t requests = req_mix > 0 ? p->mix[req_mix - 1].count : 0;
	uint32_t mix = reply ? rep_mix : req_mix;

	if (mix == 0)
		return (struct counts){ 0 };
	struct counts c = { .size = p->mix[mix - 1].size, .count = p->mix[mix - 1].count };
	if (u != NULL) {
		c.first = u->v + (reply ? requests : 0);
		c.second = c.first + u->count / 2;
	}
	return c;
}

// --- means

struct means {
	double l1, payload;
};

// The other end's frames are of the same size, where there are several to a datagram.
static struct sender sender_of(const struct sum_part *p, const struct matrix *m, uint32_t host)
{
	return host_sender_at(&m->host[host], p->host.port.mtu);
}

// By the counters, and where nothing was counted by the cycle.
static struct means means_of(const struct counts *c, const uint64_t *v, const struct sender *by)
{
	double l1 = 0, payload = 0, n = 0;

	for (int weights = 0; weights < 2 && n == 0; weights++)
		for (size_t i = 0; i < c->count; i++) {
			double k = weights || v == NULL ? c->size[i].weight : (double)v[i];

			l1 += k * datagram_l1_bytes(by, by->tags, c->size[i].bytes);
			payload += k * c->size[i].bytes;
			n += k;
		}
	return (struct means){ l1 / n, payload / n };
}

static struct means one_size(uint32_t bytes, const struct sender *by)
{
	return (struct means){ datagram_l1_bytes(by, by->tags, bytes), bytes };
}

// A report has no counters by size: the matrix tells.
static struct means of_matrix(const struct matrix *m, bool reply, uint32_t bytes,
			      const struct sender *by)
{
	const struct size_mix *mix = reply ? &m->traffic.rep_mix : &m->traffic.req_mix;

	if (mix->cycle == NULL)
		return one_size(bytes, by);
	struct wire_mean wire = reply ? reply_wire(m, by, by->tags) : request_wire(m, by, by->tags);
	return (struct means){ wire.l1_bytes, mix_mean(mix) };
}

void sum_sizes_tx(struct sum_flow *f, const struct part_tx *tx, const struct sum_part *p,
		  const struct matrix *m)
{
	struct sender by = sender_of(p, m, f->src);
	struct counts req = counts_of(p, tx->by_size, tx->req_mix, tx->rep_mix, false),
		      rep = counts_of(p, tx->by_size, tx->req_mix, tx->rep_mix, true);
	struct means sent = p->windowed	    ? of_matrix(m, false, tx->req_bytes, &by)
			    : req.count > 0 ? means_of(&req, req.first, &by)
					    : one_size(tx->req_bytes, &by);
	struct means back = p->windowed	    ? of_matrix(m, true, tx->rep_bytes, &by)
			    : rep.count > 0 ? means_of(&rep, rep.second, &by)
					    : one_size(tx->rep_bytes, &by);

	f->sent_l1 = sent.l1;
	f->req_mean = sent.payload;
	f->returned_l1 = back.l1;
	f->rep_mean = back.payload;
}

void sum_sizes_rx(struct sum_flow *f, const struct part_rx *rx, const struct sum_part *p,
		  const struct matrix *m)
{
	struct sender by = sender_of(p, m, f->dst);
	struct counts req = counts_of(p, rx->by_size, rx->req_mix, rx->rep_mix, false),
		      rep = counts_of(p, rx->by_size, rx->req_mix, rx->rep_mix, true);
	struct means there = p->windowed     ? of_matrix(m, false, rx->req_bytes, &by)
			     : req.count > 0 ? means_of(&req, req.first, &by)
					     : one_size(rx->req_bytes, &by);
	struct means replied = p->windowed     ? of_matrix(m, true, rx->rep_bytes, &by)
			       : rep.count > 0 ? means_of(&rep, rep.second, &by)
					       : one_size(rx->rep_bytes, &by);

	f->delivered_l1 = there.l1;
	f->replied_l1 = replied.l1;
	f->replied_mean = replied.payload;
}

// --- sums

static int size_cmp(const void *a, const void *b)
{
	const struct sum_size *x = a, *y = b;

	if (x->reply != y->reply)
		return x->reply ? 1 : -1;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static void sizes_put(struct sum_size *out, size_t *n, const struct part_mix *m, bool reply)
{
	static const struct size_sums none = { COUNTER_UNKNOWN, COUNTER_UNKNOWN, COUNTER_UNKNOWN,
					       COUNTER_UNKNOWN };

	for (size_t i = 0; i < m->count; i++)
		out[(*n)++] = (struct sum_size){
			.reply = reply, .bytes = m->size[i].bytes, .all = none, .complete = none
		};
}

// Which of a part's mixes are of requests (0) and of replies (1), by the first flow that has one:
// a run has at most one of each.
static void mixes_find(const struct sum_part *p, uint32_t mix[2])
{
	mix[0] = mix[1] = 0;
	for (size_t i = 0; i < p->tx_count && mix[0] + mix[1] == 0; i++) {
		mix[0] = p->tx[i].req_mix;
		mix[1] = p->tx[i].rep_mix;
	}
	for (size_t i = 0; i < p->rx_count && mix[0] + mix[1] == 0; i++) {
		mix[0] = p->rx[i].req_mix;
		mix[1] = p->rx[i].rep_mix;
	}
}

int sum_sizes_init(struct summary *s, struct sum_part *const *part, struct err *e)
{
	size_t room = 0, n = 0;

	for (size_t h = 0; h < s->host_count; h++)
		for (size_t i = 0; part[h] != NULL && i < part[h]->mix_count; i++)
			room += 2 * part[h]->mix[i].count;
	if (room == 0)
		return 0;
	s->size = malloc(room * sizeof(*s->size));
	if (s->size == NULL)
		return err_set(e, ENOMEM, "no memory for %zu sizes", room);
	for (size_t h = 0; h < s->host_count; h++) {
		uint32_t mix[2];

		if (part[h] == NULL)
			continue;
		mixes_find(part[h], mix);
		for (int reply = 0; reply < 2; reply++)
			if (mix[reply] > 0)
				sizes_put(s->size, &n, &part[h]->mix[mix[reply] - 1], reply);
	}
	qsort(s->size, n, sizeof(*s->size), size_cmp);
	for (size_t i = 0; i < n; i++)
		if (s->size_count == 0 || size_cmp(&s->size[s->size_count - 1], &s->size[i]) != 0)
			s->size[s->size_count++] = s->size[i];
	return 0;
}

static struct sum_size *size_of(struct summary *s, bool reply, uint32_t bytes)
{
	struct sum_size key = { .reply = reply, .bytes = bytes };

	return bsearch(&key, s->size, s->size_count, sizeof(*s->size), size_cmp);
}

void sum_sizes_add_tx(struct summary *s, const struct part_tx *tx, const struct sum_part *p,
		      bool complete)
{
	for (int reply = 0; tx->by_size != NULL && reply < 2; reply++) {
		struct counts c = counts_of(p, tx->by_size, tx->req_mix, tx->rep_mix, reply);

		for (size_t i = 0; i < c.count; i++) {
			struct sum_size *z = size_of(s, reply, c.size[i].bytes);

			if (z == NULL)
				continue;
			count_add(&z->all.sent, c.first[i]);
			count_add(&z->all.returned, c.second[i]);
			if (complete) {
				count_add(&z->complete.sent, c.first[i]);
				count_add(&z->complete.returned, c.second[i]);
			}
		}
	}
}

void sum_sizes_add_rx(struct summary *s, const struct part_rx *rx, const struct sum_part *p,
		      bool complete)
{
	for (int reply = 0; rx->by_size != NULL && reply < 2; reply++) {
		struct counts c = counts_of(p, rx->by_size, rx->req_mix, rx->rep_mix, reply);

		for (size_t i = 0; i < c.count; i++) {
			struct sum_size *z = size_of(s, reply, c.size[i].bytes);

			if (z == NULL)
				continue;
			count_add(&z->all.delivered, c.first[i]);
			count_add(&z->all.replied, c.second[i]);
			if (complete) {
				count_add(&z->complete.delivered, c.first[i]);
				count_add(&z->complete.replied, c.second[i]);
			}
		}
	}
}

void sum_sizes_finish(struct summary *s)
{
	for (size_t i = 0; i < s->size_count; i++) {
		struct sum_size *z = &s->size[i];

		z->lost = loss_between(z->all.sent, z->all.returned);
		z->lost_forward = loss_between(z->complete.sent, z->complete.delivered);
		z->lost_back = loss_between(z->complete.replied, z->complete.returned);
		z->loss_pct = loss_share_pct(z->lost, z->all.sent);
		z->loss_forward_pct = loss_share_pct(z->lost_forward, z->complete.sent);
		z->loss_back_pct = loss_share_pct(z->lost_back, z->complete.replied);
		if (z->complete.sent != COUNTER_UNKNOWN)
			s->identity = s->identity && z->lost_forward >= 0 && z->lost_back >= 0;
	}
}
