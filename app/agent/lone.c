#include "lone.h"

static uint32_t follows(const struct lone *l)
{
	return l->at == l->end ? l->first : l->at + l->step;
}

static void put_head(struct lone *l, const uint8_t *head, uint64_t ports, uint64_t tail)
{
	memcpy(l->out, head, sizeof(l->out));
	l->out_28 = load64(head + 28);
	l->out_36 = load64(head + 36) | ports;
	l->out_44 = load32(head + 44) | tail;
}

// What the next frame of stream s must be.
static bool want(struct lone *l, const struct rx_stream *s, const struct expect *flow, int port_at,
		 enum pmx_kind kind, uint32_t at, uint16_t len)
{
	words128 last = (words128)flow->part[2];
	uint64_t stream = rte_cpu_to_be_32(at), seq = rte_cpu_to_be_32(s->next);
	if (s->trial == NO_TRIAL)
		return false;
	last[port_at] = s->port;
	l->want[0] = flow->part[0];
	l->want[1] = flow->part[1];
	l->want[2] = (vec128)last;
	l->want[3] =
		(vec128){ PMX_VERKIND(kind) | (uint64_t)s->trial << 8 | stream << 16 | seq << 48,
			  seq >> 16 };
	l->len = len;
	return true;
}

static struct rx_stream *request_prepare(struct queue *q, struct lone *l)
{
	uint32_t at = follows(l);
	if (at >= q->rx_stream_count || q->out_count > 0)
		return NULL;
	struct rx_stream *s = &q->request[at];
	const struct rx_flow *flow = &q->rx_flow[s->flow];
	if (!flow->same_size ||
	    !want(l, s, &flow->request, RX_SPORT_AT, PMX_REQUEST, at, flow->request_len))
		return NULL;
	put_head(l, flow->reply, s->port,
		 (uint64_t)s->trial << 8 | (uint64_t)s->peer_stream << 16 |
			 (uint64_t)(uint16_t)rte_cpu_to_be_32(s->next) << 48);
	l->turn = s->turn;
	return s;
}

// The request behind the reply: without a payload there is nothing in its mbuf that a request must
// not have. Only where no other waits: no schedule, no credit, no frame.
static struct tx_stream *next_prepare(const struct queue *q, struct lone *l,
				      const struct tx_flow *flow)
{
	if (flow->window == NO_WINDOW || flow->reply_len != sizeof(struct frame) || !q->sending ||
	    q->pace.heap_count > 0 || q->out_count > 0)
		return NULL;
	struct window_group *g = &q->window.group[flow->window];
	struct tx_stream *next = &q->tx[g->first + g->cursor];
	if (next->frame_len != sizeof(struct frame) || !window_is_next(&q->window, g))
		return NULL;
	uint64_t seq = rte_cpu_to_be_32((uint32_t)next->seq);
	uint32_t tail = next->stream_lo | (uint32_t)seq << 16;
	put_head(l, next->head, 0, (uint64_t)tail << 32);
	l->out_36 &= ~(0xffffULL << 32);
	l->out_52 = (uint16_t)(seq >> 16);
	l->sum = (uint64_t)tx_sum(next) + tail + (seq >> 16);
	l->group = g;
	return next;
}

static struct rx_stream *reply_prepare(struct queue *q, struct lone *l)
{
	uint32_t at = follows(l);
	if (at >= q->tx_stream_all)
		return NULL;
	struct rx_stream *s = &q->reply[at];
	const struct tx_flow *flow = &q->tx_flow[s->flow];
	if (s->owner != q->id ||
	    !want(l, s, &flow->reply, RX_DPORT_AT, PMX_REPLY, at, flow->reply_len))
		return NULL;
	l->next = next_prepare(q, l, flow);
	return s;
}

void lone_prepare(struct queue *q)
{
	enum pmx_kind kind = q->lone_last;
	struct lone *l = &q->lone[kind];
	q->lone_last = 0;
	l->stream = NULL;
	if (q->csum_hw)
		return;
	if (kind == PMX_REQUEST)
		l->stream = request_prepare(q, l);
	else if (kind == PMX_REPLY)
		l->stream = reply_prepare(q, l);
}
