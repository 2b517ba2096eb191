#include "steer.h"

#include <rte_byteorder.h>
#include <rte_thash.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 9 // of two IPv6 addresses and the ports
#define NONE UINT32_MAX

uint32_t steer_hash(const uint8_t key[RSS_KEY_BYTES], const struct ip_addr *src,
		    const struct ip_addr *dst, uint16_t sport, uint16_t dport)
{
	size_t from = ip_is4(src) ? 12 : 0;
	uint32_t word[WORDS_MAX], n = 0;
	uint8_t aligned[RSS_KEY_BYTES] __attribute__((aligned(4)));
	for (size_t i = from; i < sizeof(src->b); i += sizeof(*word)) {
		memcpy(&word[n], &src->b[i], sizeof(*word));
		memcpy(&word[n + (16 - from) / 4], &dst->b[i], sizeof(*word));
		n++;
	}
	n *= 2;
	for (uint32_t i = 0; i < n; i++)
		word[i] = rte_be_to_cpu_32(word[i]);
	word[n++] = (uint32_t)sport << 16 | dport;
	memcpy(aligned, key, sizeof(aligned));
	return rte_softrss(word, n, aligned);
}

// A frame's queue as a function of the one port that is to be chosen. The hash is linear: a port's
// is that of port 0, changed by what each of its bits changes.
struct chooser {
	enum steering by;
	uint16_t queues; // 1 = ports have no say
	uint32_t base, bit[16];
};

unsigned int steer_key(const char *hex, uint8_t *key, unsigned int most)
{
	unsigned int byte, n = 0;
	while (n < most && sscanf(hex + 2 * n, "%2x", &byte) == 1)
		key[n++] = (uint8_t)byte;
	return n;
}

static struct chooser chooser_of(const struct steer_flow *f, const struct steer *by, bool reply)
{
	struct chooser c = { .by = STEER_NONE, .queues = 1 };
	uint8_t key[RSS_KEY_BYTES] = { 0 };
	if (by == NULL)
		return c;
	c.by = by->by;
	c.queues = by->queues;
	if (c.by != STEER_RSS)
		return c;
	steer_key(by->rss_key, key, RSS_KEY_BYTES);
	const struct ip_addr *src = reply ? &f->dst : &f->src, *dst = reply ? &f->src : &f->dst;
	uint16_t known = f->udp_port;
	c.base = steer_hash(key, src, dst, reply ? known : 0, reply ? 0 : known);
	for (unsigned int b = 0; b < 16; b++) {
		uint16_t port = (uint16_t)(1u << b);
		c.bit[b] = c.base ^
			   steer_hash(key, src, dst, reply ? known : port, reply ? port : known);
	}
	return c;
}

static uint16_t choose(const struct chooser *c, uint16_t port)
{
	uint32_t hash = c->base;
	if (c->by != STEER_RSS)
		return port % c->queues;
	for (unsigned int b = 0; b < 16; b++)
		if (port >> b & 1)
			hash ^= c->bit[b];
	return steer_queue(hash, c->queues);
}

// Streams without a port, by the pair of queues that they want: lists, the lowest stream first.
struct wanted {
	uint32_t *head; // [asks x answers]
	uint32_t *next; // [streams]
	bool *taken;	// [SPORTS]
};

// One pass over the ports that are left, each to a stream that wants what it gives. Returns how
// many found one.
static uint32_t deal(const struct steer_flow *f, const struct chooser *asks,
		     const struct chooser *answers, const struct wanted *w, uint16_t *port,
		     uint32_t left)
{
	uint32_t pairs = (uint32_t)asks->queues * answers->queues, found = 0;
	for (uint32_t i = 0; i < pairs; i++)
		w->head[i] = NONE;
	for (uint32_t s = f->streams; s-- > 0;) {
		uint32_t on = s * (f->step > 0 ? f->step : 1);
		uint32_t *head = &w->head[(f->asks.first + on) % asks->queues * answers->queues +
					  (f->answers.first + on) % answers->queues];
		if (port[s] != 0)
			continue;
		w->next[s] = *head;
		*head = s;
	}
	for (uint32_t i = 0; i < SPORTS && f->sport_first + i <= UINT16_MAX && found < left; i++) {
		uint16_t p = (uint16_t)(f->sport_first + i);
		uint32_t *head =
			&w->head[(uint32_t)choose(asks, p) * answers->queues + choose(answers, p)];
		if (w->taken[i] || *head == NONE)
			continue;
		w->taken[i] = true;
		port[*head] = p;
		*head = w->next[*head];
		found++;
	}
	return found;
}

int steer_ports(const struct steer_flow *f, uint16_t *port)
{
	struct chooser any = { .queues = 1 };
	struct chooser asks = chooser_of(f, f->asks.by, true);
	struct chooser answers = chooser_of(f, f->answers.by, false);
	struct wanted w = {
		.head = calloc((size_t)asks.queues * answers.queues, sizeof(*w.head)),
		.next = calloc(f->streams, sizeof(*w.next)),
		.taken = calloc(SPORTS, sizeof(*w.taken)),
	};
	uint32_t left = f->streams;
	int r = -ENOMEM;
	if (w.head != NULL && w.next != NULL && w.taken != NULL) {
		memset(port, 0, f->streams * sizeof(*port));
		left -= deal(f, &asks, &answers, &w, port, left);
		if (left > 0)
			left -= deal(f, &asks, &any, &w, port, left);
		if (left > 0)
			left -= deal(f, &any, &any, &w, port, left);
		r = left > 0 ? -ERANGE : 0;
	}
	free(w.head);
	free(w.next);
	free(w.taken);
	return r;
}

static const struct steer *peer_of(const struct hostcfg *cfg, uint32_t peer_steer)
{
	return peer_steer > 0 ? &cfg->steer[peer_steer - 1] : NULL;
}

static struct steer own_of(const struct hostcfg *cfg)
{
	struct steer own = { .by = cfg->port.steering, .queues = cfg->port.queues };
	memcpy(own.rss_key, cfg->port.rss_key, sizeof(own.rss_key));
	return own;
}

// The streams of one source address after those of the other: a port may serve a stream of each.
static int ports_of(struct steer_flow f, uint32_t sources, uint16_t *port)
{
	const struct ip_addr first = f.src;
	const struct steer_flow all = f;
	uint32_t n = sources > 1 ? sources : 1;
	uint16_t *found = calloc(all.streams, sizeof(*found));
	int r = found == NULL ? -ENOMEM : 0;
	for (uint32_t a = 0; r == 0 && a < n && a < all.streams; a++) {
		f.src = source_addr(&first, n, all.asks.first + a);
		f.asks.first = all.asks.first + a;
		f.answers.first = all.answers.first + a;
		f.streams = (all.streams - a + n - 1) / n;
		f.step = n;
		r = steer_ports(&f, found);
		for (uint32_t i = 0; r == 0 && i < f.streams; i++)
			port[a + i * n] = found[i];
	}
	free(found);
	return r;
}

static int fill(struct steer_table *t, const struct hostcfg *cfg)
{
	struct steer own = own_of(cfg);
	bool keyed = own.by == STEER_RSS && strlen(own.rss_key) >= 2 * RSS_KEY_BYTES;
	bool has = own.queues > 1 && (keyed || own.by == STEER_RULES);
	const struct steer *by = has ? &own : NULL;
	int r = 0;
	for (size_t i = 0; r == 0 && i < cfg->tx_count; i++) {
		const struct flow_tx *f = &cfg->tx[i];
		r = ports_of(
			(struct steer_flow){
				.src = cfg->src_count > 0 ? cfg->src_addr : cfg->addr,
				.dst = f->peer_addr,
				.udp_port = cfg->udp_port,
				.sport_first = f->sport_first,
				.streams = f->streams,
				.asks = { by, f->tx_first },
				.answers = { peer_of(cfg, f->peer_steer), f->peer_rx_first },
			},
			cfg->src_count, t->tx + f->tx_first);
	}
	for (size_t i = 0; r == 0 && i < cfg->rx_count; i++) {
		const struct flow_rx *f = &cfg->rx[i];
		r = ports_of(
			(struct steer_flow){
				.src = f->peer_addr,
				.dst = cfg->addr,
				.udp_port = cfg->udp_port,
				.sport_first = f->sport_first,
				.streams = f->streams,
				.asks = { peer_of(cfg, f->peer_steer), f->peer_tx_first },
				.answers = { by, f->rx_first },
			},
			f->peer_sources, t->rx + f->rx_first);
	}
	return r;
}

static bool by_ports(const struct hostcfg *cfg)
{
	return cfg->steer_count > 0 || cfg->port.steering == STEER_RSS ||
	       cfg->port.steering == STEER_RULES;
}

int steer_open(struct steer_table *t, const struct hostcfg *cfg, struct err *e)
{
	uint32_t tx = 1, rx = 1;
	*t = (struct steer_table){ 0 };
	if (!by_ports(cfg))
		return 0;
	for (size_t i = 0; i < cfg->tx_count; i++)
		tx = cfg->tx[i].tx_first + cfg->tx[i].streams;
	for (size_t i = 0; i < cfg->rx_count; i++)
		rx = cfg->rx[i].rx_first + cfg->rx[i].streams;
	t->tx = calloc(tx, sizeof(*t->tx));
	t->rx = calloc(rx, sizeof(*t->rx));
	int r = t->tx == NULL || t->rx == NULL ? -ENOMEM : fill(t, cfg);
	if (r == 0)
		return 0;
	steer_close(t);
	return err_set(e, -r, "no source ports for %u + %u streams: %s", tx, rx, strerror(-r));
}

void steer_close(struct steer_table *t)
{
	free(t->tx);
	free(t->rx);
	*t = (struct steer_table){ 0 };
}
