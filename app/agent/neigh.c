#include "neigh.h"

#include "rx_any.h"

#include <rte_arp.h>
#include <rte_icmp.h>
#include <rte_ring.h>

#include <errno.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>

struct arp_frame {
	struct rte_ether_hdr eth;
	struct rte_arp_hdr arp;
} __attribute__((packed, aligned(2)));

static const struct ip_addr *next_hop(const struct hostcfg *cfg, const struct ip_addr *peer)
{
	bool near = ip_same_net(peer, &cfg->addr, cfg->prefix_len) || ip_none(&cfg->gateway);
	return near ? peer : &cfg->gateway;
}

static size_t add_hop(struct neigh_table *t, const struct ip_addr *peer)
{
	const struct ip_addr *addr = next_hop(t->cfg, peer);
	for (size_t i = 0; i < t->hop_count; i++) {
		if (ip_eq(&t->hop[i].addr, addr))
			return i;
	}
	t->hop[t->hop_count] = (struct hop){ .addr = *addr };
	return t->hop_count++;
}

int neigh_open(struct neigh_table *t, const struct hostcfg *cfg, struct agent_shared *shared,
	       const struct rte_ether_addr *mac, struct queue *const *queue, struct err *e)
{
	size_t flows = cfg->tx_count + cfg->rx_count;
	*t = (struct neigh_table){
		.hop = calloc(flows + 1, sizeof(*t->hop)),
		.tx_hop = calloc(cfg->tx_count + 1, sizeof(*t->tx_hop)),
		.rx_hop = calloc(cfg->rx_count + 1, sizeof(*t->rx_hop)),
		.cfg = cfg,
		.shared = shared,
		.mac = *mac,
		.self = { .addr = cfg->addr, .mac = *mac },
		.at = layout_of(cfg),
		.queue = queue,
	};
	layout_tci(cfg, t->tci);
	shared->tx_mac = calloc(cfg->tx_count + 1, sizeof(*shared->tx_mac));
	shared->rx_mac = calloc(cfg->rx_count + 1, sizeof(*shared->rx_mac));
	if (t->hop == NULL || t->tx_hop == NULL || t->rx_hop == NULL || shared->tx_mac == NULL ||
	    shared->rx_mac == NULL)
		return err_set(e, ENOMEM, "no memory for %zu neighbours", flows);
	for (size_t i = 0; i < cfg->tx_count; i++)
		t->tx_hop[i] = add_hop(t, &cfg->tx[i].peer_addr);
	for (size_t i = 0; i < cfg->rx_count; i++)
		t->rx_hop[i] = add_hop(t, &cfg->rx[i].peer_addr);
	for (size_t i = 0; i < t->hop_count; i++)
		t->hop[i].again_ns = hop_again_ns(i, t->hop_count);
	return 0;
}

void neigh_close(struct neigh_table *t)
{
	free(t->hop);
	free(t->tx_hop);
	free(t->rx_hop);
	if (t->shared != NULL) {
		free(t->shared->tx_mac);
		free(t->shared->rx_mac);
	}
	*t = (struct neigh_table){ 0 };
}

static rte_be32_t addr_be(const struct ip_addr *a)
{
	return rte_cpu_to_be_32(ip4_of(a));
}

static uint64_t mac_word(const struct rte_ether_addr *mac)
{
	uint64_t w = 0;
	memcpy(&w, mac, sizeof(*mac));
	return w;
}

// Lcores see the new generation after the addresses.
static void publish(struct neigh_table *t)
{
	for (size_t i = 0; i < t->cfg->tx_count; i++)
		atomic_store_explicit(&t->shared->tx_mac[i], mac_word(&t->hop[t->tx_hop[i]].mac),
				      memory_order_relaxed);
	for (size_t i = 0; i < t->cfg->rx_count; i++)
		atomic_store_explicit(&t->shared->rx_mac[i], mac_word(&t->hop[t->rx_hop[i]].mac),
				      memory_order_relaxed);
	atomic_fetch_add_explicit(&t->shared->neigh_generation, 1, memory_order_release);
}

// All below makes and reads untagged frames; tags are taken off on the way in and put on on the way
// out.
static void pop_tags(const struct neigh_table *t, struct rte_mbuf *m)
{
	size_t bytes = t->at.tags * sizeof(struct rte_vlan_hdr);
	uint8_t *d = rte_pktmbuf_mtod(m, uint8_t *);
	memmove(d + bytes, d, ETHER_TYPE_AT);
	rte_pktmbuf_adj(m, (uint16_t)bytes);
}

static void push_tags(const struct neigh_table *t, struct rte_mbuf *m)
{
	size_t bytes = t->at.tags * sizeof(struct rte_vlan_hdr);
	uint8_t *d = (uint8_t *)(void *)rte_pktmbuf_prepend(m, (uint16_t)bytes);
	memmove(d, d + bytes, ETHER_TYPE_AT);
	head_put_tags(d, &t->at, t->tci);
	m->ol_flags = 0;
}

static bool inject(struct neigh_table *t, struct rte_mbuf *m)
{
	push_tags(t, m);
	if (rte_ring_sp_enqueue(t->queue[0]->inject, m) == 0)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

static void arp_fill(struct neigh_table *t, struct arp_frame *f, uint16_t opcode, rte_be32_t own_ip,
		     const struct rte_ether_addr *to, const struct rte_ether_addr *target,
		     rte_be32_t target_ip)
{
	*f = (struct arp_frame){
		.eth = { .dst_addr = *to,
			 .src_addr = t->mac,
			 .ether_type = RTE_BE16(RTE_ETHER_TYPE_ARP) },
		.arp = { .arp_hardware = RTE_BE16(RTE_ARP_HRD_ETHER),
			 .arp_protocol = RTE_BE16(RTE_ETHER_TYPE_IPV4),
			 .arp_hlen = RTE_ETHER_ADDR_LEN,
			 .arp_plen = sizeof(rte_be32_t),
			 .arp_opcode = rte_cpu_to_be_16(opcode),
			 .arp_data = { .arp_sha = t->mac,
				       .arp_sip = own_ip,
				       .arp_tha = *target,
				       .arp_tip = target_ip } },
	};
}

// all: whoever it is, else the hop at the MAC that is known. False: it could not be sent.
static bool ask(struct neigh_table *t, const struct hop *n, bool all)
{
	static const struct rte_ether_addr broadcast = { { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff } };
	static const struct rte_ether_addr nobody = { { 0 } };
	struct rte_mbuf *m = rte_pktmbuf_alloc(t->queue[0]->rx_pool);
	if (m == NULL)
		return false;
	if (t->at.v6) {
		nd_ask(&t->self, m, &n->addr, all ? NULL : &n->mac);
		return inject(t, m);
	}
	char *d = rte_pktmbuf_append(m, FRAME_MIN_NO_FCS);
	memset(d, 0, FRAME_MIN_NO_FCS);
	arp_fill(t, (struct arp_frame *)(void *)d, RTE_ARP_OP_REQUEST, addr_be(&t->cfg->addr),
		 all ? &broadcast : &n->mac, &nobody, addr_be(&n->addr));
	return inject(t, m);
}

static void ask_due(struct neigh_table *t, uint64_t now_ns)
{
	for (size_t i = 0; i < t->hop_count; i++) {
		struct hop *n = &t->hop[i];
		enum hop_ask whom = hop_due(n, now_ns);
		if (whom != HOP_WAIT)
			hop_asked(n, ask(t, n, whom == HOP_ASK_ALL), now_ns);
	}
}

static struct hop *find_hop(struct neigh_table *t, const struct ip_addr *addr)
{
	for (size_t i = 0; i < t->hop_count; i++) {
		if (ip_eq(&t->hop[i].addr, addr))
			return &t->hop[i];
	}
	return NULL;
}

// What is said of an address's MAC: of one that we have nothing to do with, or believed, or not.
enum claim { CLAIM_STRANGER, CLAIM_TAKEN, CLAIM_REFUSED };

// RFC 826 merge: what anybody says of an address we talk to, but for one who takes its traffic from
// a neighbour that is there.
static enum claim learn(struct neigh_table *t, const struct ip_addr *who,
			const struct rte_ether_addr *mac, uint64_t now_ns)
{
	struct hop *n = find_hop(t, who);
	if (n == NULL)
		return CLAIM_STRANGER;
	if (hop_disputes(n, mac)) {
		hop_doubt(n, now_ns);
		return CLAIM_REFUSED;
	}
	if (hop_answer(n, mac, now_ns))
		publish(t);
	return CLAIM_TAKEN;
}

// RFC 4861, 7.2.5: one that does not override (a proxy's) says no more than that there may be
// another MAC, as long as the known one may answer; one without a MAC, solicited, that the known
// one is right.
static enum claim learn_nd(struct neigh_table *t, const struct nd *nd, uint64_t now_ns)
{
	struct hop *n = find_hop(t, &nd->who);
	if (n == NULL)
		return CLAIM_STRANGER;
	if (!nd->has_mac && nd->solicited && n->known)
		hop_confirm(n, now_ns);
	if (!nd->has_mac)
		return CLAIM_TAKEN;
	if (nd->override || !hop_disputes(n, &nd->mac))
		return learn(t, &nd->who, &nd->mac, now_ns);
	hop_doubt(n, now_ns);
	return CLAIM_REFUSED;
}

static void drop(struct neigh_table *t, struct rte_mbuf *m, enum drop_reason reason)
{
	t->drop[reason]++;
	rte_pktmbuf_free(m);
}

// Done with: a frame that asked nothing.
static void done(struct neigh_table *t, struct rte_mbuf *m, enum claim claim)
{
	if (claim == CLAIM_TAKEN)
		rte_pktmbuf_free(m);
	else
		drop(t, m, claim == CLAIM_REFUSED ? DROP_NEIGHBOUR : DROP_SLOW);
}

static void take_arp(struct neigh_table *t, struct rte_mbuf *m, uint64_t now_ns)
{
	struct arp_frame *f = rte_pktmbuf_mtod(m, struct arp_frame *);
	struct rte_arp_hdr a = f->arp;
	const struct ip_addr who = IP4(rte_be_to_cpu_32(a.arp_data.arp_sip));
	if (a.arp_hardware != RTE_BE16(RTE_ARP_HRD_ETHER) ||
	    a.arp_protocol != RTE_BE16(RTE_ETHER_TYPE_IPV4) || a.arp_hlen != RTE_ETHER_ADDR_LEN ||
	    a.arp_plen != sizeof(a.arp_data.arp_sip) ||
	    !rte_is_valid_assigned_ether_addr(&a.arp_data.arp_sha)) {
		drop(t, m, DROP_MALFORMED);
		return;
	}
	enum claim claim = learn(t, &who, &a.arp_data.arp_sha, now_ns);
	if (claim == CLAIM_STRANGER && hostcfg_owns(t->cfg, &who)) {
		drop(t, m, DROP_OWN);
		return;
	}
	if (claim == CLAIM_REFUSED || a.arp_opcode != RTE_BE16(RTE_ARP_OP_REQUEST) ||
	    !hostcfg_owns(t->cfg, &IP4(rte_be_to_cpu_32(a.arp_data.arp_tip)))) {
		done(t, m, claim);
		return;
	}
	arp_fill(t, f, RTE_ARP_OP_REPLY, a.arp_data.arp_tip, &a.arp_data.arp_sha,
		 &a.arp_data.arp_sha, a.arp_data.arp_sip);
	inject(t, m);
}

static void too_big(struct icmp_counts *c, uint32_t mtu)
{
	uint16_t least = mtu < UINT16_MAX ? (uint16_t)mtu : UINT16_MAX;
	c->too_big++;
	if (least != 0 && (c->path_mtu == 0 || least < c->path_mtu))
		c->path_mtu = least;
}

// An error for a packet that we sent: what it quotes says so.
static bool take_icmp_error(struct neigh_table *t, const struct rte_mbuf *m)
{
	const struct {
		struct rte_ether_hdr eth;
		struct rte_ipv4_hdr ip;
		struct rte_icmp_hdr icmp;
		struct rte_ipv4_hdr quoted;
	} __attribute__((packed, aligned(2))) *f = rte_pktmbuf_mtod(m, const void *);
	if (m->data_len < sizeof(*f) || f->quoted.src_addr != f->ip.dst_addr ||
	    f->quoted.next_proto_id != IPPROTO_UDP)
		return false;
	if (f->icmp.icmp_type == ICMP_TIME_EXCEEDED)
		t->icmp.expired++;
	else if (f->icmp.icmp_type != ICMP_DEST_UNREACH)
		return false;
	else if (f->icmp.icmp_code != ICMP_FRAG_NEEDED)
		t->icmp.unreachable++;
	else
		too_big(&t->icmp, rte_be_to_cpu_16(f->icmp.icmp_seq_nb)); // RFC 1191
	return true;
}

// An answer goes to one host that may have asked: no group is made to hear from us.
static bool is_one_host(const struct ip_addr *addr, const struct rte_ether_addr *mac)
{
	const struct ip_addr none = ip_is4(addr) ? IP4(0) : (struct ip_addr){ { 0 } };
	bool group = ip_is4(addr) ? ip4_of(addr) >= 0xe0000000 : addr->b[0] == 0xff;
	return !group && !ip_eq(addr, &none) && rte_is_valid_assigned_ether_addr(mac);
}

static void take_icmp(struct neigh_table *t, struct rte_mbuf *m)
{
	struct {
		struct rte_ether_hdr eth;
		struct rte_ipv4_hdr ip;
		struct rte_icmp_hdr icmp;
	} __attribute__((packed, aligned(2))) *f = rte_pktmbuf_mtod(m, void *);
	uint32_t total = rte_be_to_cpu_16(f->ip.total_length), icmp = total - sizeof(f->ip);
	if (take_icmp_error(t, m)) {
		rte_pktmbuf_free(m);
		return;
	}
	if (m->data_len < sizeof(*f) || total < sizeof(f->ip) + sizeof(f->icmp) ||
	    m->data_len < sizeof(f->eth) + total || f->icmp.icmp_type != ICMP_ECHO ||
	    !is_one_host(&IP4(rte_be_to_cpu_32(f->ip.src_addr)), &f->eth.src_addr)) {
		drop(t, m, DROP_SLOW);
		return;
	}
	if (rte_raw_cksum(&f->icmp, icmp) != 0xffff) {
		drop(t, m, DROP_CHECKSUM);
		return;
	}
	rte_be32_t asked = f->ip.dst_addr;
	f->eth.dst_addr = f->eth.src_addr;
	f->eth.src_addr = t->mac;
	f->ip.dst_addr = f->ip.src_addr;
	f->ip.src_addr = asked;
	f->ip.time_to_live = t->cfg->ttl;
	f->ip.hdr_checksum = 0;
	f->ip.hdr_checksum = rte_ipv4_cksum(&f->ip);
	f->icmp.icmp_type = ICMP_ECHOREPLY;
	f->icmp.icmp_cksum = 0;
	f->icmp.icmp_cksum = (uint16_t)~rte_raw_cksum(&f->icmp, icmp);
	inject(t, m);
}

// As whom of our addresses a frame takes us: the one that is pinged, or asked for.
static struct nd_self self_of(const struct neigh_table *t, const struct rte_mbuf *m)
{
	struct nd_self self = t->self;
	struct ip_addr told[2];
	size_t n = nd_addressees(m, told);
	for (size_t i = 0; i < n; i++)
		if (hostcfg_owns(t->cfg, &told[i]))
			self.addr = told[i];
	return self;
}

static void take_icmp6(struct neigh_table *t, struct rte_mbuf *m, uint64_t now_ns)
{
	struct nd_self self = self_of(t, m);
	struct nd nd = nd_read(&self, m);
	enum claim claim = CLAIM_STRANGER;
	if (nd.kind == ND_ASKED || nd.kind == ND_TOLD)
		claim = learn_nd(t, &nd, now_ns);
	if (claim == CLAIM_STRANGER && nd.kind != ND_OTHER && hostcfg_owns(t->cfg, &nd.who)) {
		drop(t, m, DROP_OWN);
		return;
	}
	switch (claim == CLAIM_REFUSED ? ND_OTHER : nd.kind) {
	case ND_ASKED:
		if (!ip_none(&nd.who) && !is_one_host(&nd.who, &nd.mac))
			break;
		nd_answer(&self, m, &nd);
		inject(t, m);
		return;
	case ND_ECHO:
		if (!is_one_host(&nd.who, &nd.mac))
			break;
		nd_echo(&self, m, t->cfg->ttl);
		inject(t, m);
		return;
	case ND_TOO_BIG:
		too_big(&t->icmp, nd.mtu);
		rte_pktmbuf_free(m);
		return;
	case ND_UNREACHABLE:
		t->icmp.unreachable++;
		rte_pktmbuf_free(m);
		return;
	case ND_EXPIRED:
		t->icmp.expired++;
		rte_pktmbuf_free(m);
		return;
	default:
		break;
	}
	done(t, m, claim);
}

void neigh_answer(struct neigh_table *t, uint64_t now_ns)
{
	for (uint16_t q = 0; q < t->cfg->port.queues; q++) {
		void *obj;
		while (rte_ring_sc_dequeue(t->queue[q]->punt, &obj) == 0) {
			struct rte_mbuf *m = obj;
			pop_tags(t, m);
			const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, void *);
			if (t->at.v6)
				take_icmp6(t, m, now_ns);
			else if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP))
				take_arp(t, m, now_ns);
			else
				take_icmp(t, m);
		}
	}
}

void neigh_poll(struct neigh_table *t, uint64_t now_ns)
{
	neigh_answer(t, now_ns);
	ask_due(t, now_ns);
}

bool neigh_complete(const struct neigh_table *t)
{
	for (size_t i = 0; i < t->hop_count; i++) {
		if (!t->hop[i].known)
			return false;
	}
	return true;
}

void neigh_missing(const struct neigh_table *t, char *buf, size_t size)
{
	size_t n = 0;
	buf[0] = '\0';
	for (size_t i = 0; i < t->hop_count && n + IP_STR_MAX + 2 < size; i++) {
		char ip[IP_STR_MAX];
		if (t->hop[i].known)
			continue;
		n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "",
				      ip_str(&t->hop[i].addr, ip, sizeof(ip)));
	}
}

const struct hop *neigh_silent(const struct neigh_table *t, uint64_t now_ns)
{
	const struct hop *most = NULL;
	uint64_t most_ns = 0;
	for (size_t i = 0; i < t->hop_count; i++) {
		uint64_t ns = hop_silent_ns(&t->hop[i], now_ns);
		if (ns > most_ns) {
			most = &t->hop[i];
			most_ns = ns;
		}
	}
	return most;
}
