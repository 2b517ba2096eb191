#include "frag_table.h"

#include <rte_jhash.h>

void frag_table_open(struct frag_table *t, uint64_t timeout, uint32_t seed)
{
	t->timeout = timeout;
	t->seed = seed;
	TAILQ_INIT(&t->known);
	TAILQ_INIT(&t->early);
	TAILQ_INIT(&t->unused);
	for (size_t i = 0; i < FRAG_ENTRIES; i++)
		TAILQ_INSERT_TAIL(&t->unused, &t->entry[i], next);
}

void frag_peer_open(struct frag_peer *p)
{
	p->early = 0;
	TAILQ_INIT(&p->list);
}

int frag_peer_cmp(const void *a, const void *b)
{
	return ip_cmp(a, b);
}

static uint32_t bucket_of(const struct frag_table *t, const struct frag_piece *p)
{
	uint32_t low;
	memcpy(&low, p->peer->addr.b + 12, sizeof(low));
	return rte_jhash_2words(low, p->id, t->seed) % FRAG_BUCKETS;
}

static struct frag_datagram *find(const struct frag_table *t, const struct frag_piece *p)
{
	struct frag_datagram *d = t->bucket[bucket_of(t, p)];
	while (d != NULL && (d->peer != p->peer || d->id != p->id))
		d = d->bucket_next;
	return d;
}

static void drop(struct frag_table *t, struct rte_mbuf *m)
{
	t->dropped++;
	rte_pktmbuf_free(m);
}

// n more fragments of d are early.
static void early_add(struct frag_table *t, const struct frag_datagram *d, uint32_t n)
{
	t->early_peers += d->peer->early == 0 && n > 0;
	t->early_count += n;
	d->peer->early += n;
}

static void early_sub(struct frag_table *t, const struct frag_datagram *d, uint32_t n)
{
	t->early_count -= n;
	d->peer->early -= n;
	t->early_peers -= d->peer->early == 0 && n > 0;
}

static struct frag_datagram *open_early(struct frag_table *t, const struct frag_piece *p,
					uint64_t now)
{
	struct frag_datagram *d = TAILQ_FIRST(&t->unused);
	TAILQ_REMOVE(&t->unused, d, next);
	d->peer = p->peer;
	d->id = p->id;
	d->bucket = bucket_of(t, p);
	d->since = now;
	d->total = d->have = d->count = 0;
	d->bucket_next = t->bucket[d->bucket];
	t->bucket[d->bucket] = d;
	TAILQ_INSERT_TAIL(&t->early, d, next);
	TAILQ_INSERT_TAIL(&d->peer->list, d, of_peer);
	return d;
}

static void leave_early(struct frag_table *t, struct frag_datagram *d)
{
	early_sub(t, d, d->count);
	TAILQ_REMOVE(&t->early, d, next);
	TAILQ_REMOVE(&d->peer->list, d, of_peer);
}

// Its mbufs are whoever's who calls this.
static void forget(struct frag_table *t, struct frag_datagram *d)
{
	struct frag_datagram **at = &t->bucket[d->bucket];
	while (*at != d)
		at = &(*at)->bucket_next;
	*at = d->bucket_next;
	if (d->total == 0) {
		leave_early(t, d);
	} else {
		TAILQ_REMOVE(&t->known, d, next);
		t->known_count--;
	}
	TAILQ_INSERT_HEAD(&t->unused, d, next);
}

static void give_up(struct frag_table *t, struct frag_datagram *d)
{
	for (uint32_t i = 0; i < d->count; i++)
		drop(t, d->part[i].m);
	forget(t, d);
}

void frag_table_close(struct frag_table *t)
{
	for (struct frag_datagram *d; (d = TAILQ_FIRST(&t->known)) != NULL;)
		give_up(t, d);
	for (struct frag_datagram *d; (d = TAILQ_FIRST(&t->early)) != NULL;)
		give_up(t, d);
}

void frag_table_expire(struct frag_table *t, uint64_t now)
{
	struct frag_datagram *d;
	while ((d = TAILQ_FIRST(&t->known)) != NULL && now - d->since > t->timeout)
		give_up(t, d);
	while ((d = TAILQ_FIRST(&t->early)) != NULL && now - d->since > t->timeout)
		give_up(t, d);
}

// The budget is spent, and peer has one more early fragment. Its own oldest goes where it has its
// share; else somebody has more than that, unless there are more peers than fragments.
static void early_room(struct frag_table *t, const struct frag_peer *peer)
{
	uint32_t share = FOOTPRINT_EARLY / (t->early_peers + (peer->early == 0));
	struct frag_datagram *d = TAILQ_FIRST(&peer->list);
	if (d == NULL || peer->early < share) {
		d = TAILQ_FIRST(&t->early);
		while (d != NULL && d->peer->early <= share)
			d = TAILQ_NEXT(d, next);
	}
	give_up(t, d != NULL ? d : TAILQ_FIRST(&t->early));
}

// False: all are known, and young enough to become whole. To give up one of those for each new one
// would make none whole where more of them are under way than there is room for.
static bool known_room(struct frag_table *t, uint64_t now)
{
	struct frag_datagram *d = TAILQ_FIRST(&t->known);
	if (t->known_count < FOOTPRINT_DATAGRAMS)
		return true;
	if (now - d->since <= t->timeout / FRAG_STALE)
		return false;
	give_up(t, d);
	return true;
}

static void remove_part(struct frag_table *t, struct frag_datagram *d, uint32_t i)
{
	drop(t, d->part[i].m);
	d->have -= d->part[i].len;
	d->part[i] = d->part[--d->count];
	if (d->total == 0)
		early_sub(t, d, 1);
}

// Whether a piece is one of a datagram of this length.
static bool fits(uint32_t total, uint32_t at, uint32_t len, bool more)
{
	return at + len <= total && more == (at + len < total);
}

static void become_known(struct frag_table *t, struct frag_datagram *d, uint32_t total,
			 uint64_t now)
{
	leave_early(t, d);
	d->total = total;
	d->since = now;
	TAILQ_INSERT_TAIL(&t->known, d, next);
	t->known_count++;
	for (uint32_t i = d->count; i-- > 0;)
		if (!fits(total, d->part[i].at, d->part[i].len, d->part[i].more))
			remove_part(t, d, i);
}

enum clash { CLASH_NONE, CLASH_SAME, CLASH_OVERLAP };

// What came before the first fragment makes room. The same again is one frame too many, anything
// else that overlaps spoils the datagram (RFC 5722).
static enum clash clash_of(struct frag_table *t, struct frag_datagram *d,
			   const struct frag_piece *p)
{
	enum clash c = CLASH_NONE;
	for (uint32_t i = d->count; i-- > 0;) {
		const struct frag_part *o = &d->part[i];
		if (o->at == p->at && o->len == p->len && o->more == p->more)
			return CLASH_SAME;
		if (p->at >= o->at + o->len || o->at >= p->at + p->len)
			continue;
		if (o->early)
			remove_part(t, d, i);
		else
			c = CLASH_OVERLAP;
	}
	return c;
}

// False: the datagram is lost, by a piece that overlaps or is one too many.
static bool put(struct frag_table *t, struct frag_datagram *d, struct rte_mbuf *m,
		const struct frag_piece *p)
{
	enum clash c = clash_of(t, d, p);
	if (c == CLASH_SAME) {
		drop(t, m);
		return true;
	}
	for (uint32_t i = d->count; d->count == DATAGRAM_FRAMES_MAX && i-- > 0;)
		if (d->part[i].early)
			remove_part(t, d, i);
	if (c == CLASH_OVERLAP || d->count == DATAGRAM_FRAMES_MAX) {
		drop(t, m);
		return false;
	}
	d->part[d->count++] = (struct frag_part){ .m = m,
						  .at = (uint16_t)p->at,
						  .len = (uint16_t)p->len,
						  .more = p->more,
						  .early = d->total == 0 };
	d->have += p->len;
	if (d->total == 0)
		early_add(t, d, 1);
	return true;
}

// In the order of the datagram. They do not overlap and are as much as it is: there are no holes.
static struct rte_mbuf *chain(struct frag_datagram *d)
{
	for (uint32_t i = 1; i < d->count; i++)
		for (uint32_t k = i; k > 0 && d->part[k].at < d->part[k - 1].at; k--)
			RTE_SWAP(d->part[k], d->part[k - 1]);
	struct rte_mbuf *whole = d->part[0].m;
	for (uint32_t i = 1; i < d->count; i++) {
		d->part[i - 1].m->next = d->part[i].m;
		whole->pkt_len += d->part[i].len;
	}
	whole->nb_segs = (uint16_t)d->count;
	return whole;
}

// The datagram that p is added to; NULL = there is no room for it.
static struct frag_datagram *place_of(struct frag_table *t, const struct frag_piece *p,
				      uint64_t now)
{
	struct frag_datagram *d = find(t, p);
	if (d != NULL && now - d->since > t->timeout) {
		give_up(t, d);
		d = NULL;
	}
	if (d != NULL && d->total != 0)
		return d;
	if (p->at > 0) {
		if (t->early_count == FOOTPRINT_EARLY) {
			early_room(t, p->peer);
			d = find(t, p);
		}
		return d != NULL ? d : open_early(t, p, now);
	}
	if (!known_room(t, now))
		return NULL;
	if (d == NULL)
		d = open_early(t, p, now);
	become_known(t, d, p->total, now);
	return d;
}

struct rte_mbuf *frag_table_add(struct frag_table *t, struct rte_mbuf *m,
				const struct frag_piece *p, uint64_t now)
{
	struct frag_datagram *d = place_of(t, p, now);
	if (d == NULL || (d->total != 0 && !fits(d->total, p->at, p->len, p->more))) {
		drop(t, m);
		return NULL;
	}
	if (!put(t, d, m, p))
		give_up(t, d);
	else if (d->total != 0 && d->have == d->total) {
		struct rte_mbuf *whole = chain(d);
		forget(t, d);
		return whole;
	}
	return NULL;
}
