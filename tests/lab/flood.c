// pmx-lab-flood: sends hostile frames to an agent out of the other end of its link, as fast as it
// can or as the agent takes them, and says how many of each kind it sent and what came back.
//
// With a window it waits for the agent: every 512 frames it pings, and no more than a window of
// them is out unanswered. As the agent takes frames in order, its ring never holds more of the
// flood.
#include "flood_frame.h"

#include "ip_addr.h"
#include "parse.h"

#include <jansson.h>

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 32
#define PING_EVERY 512
#define PING_ID 0x706d
#define PINGS 256      // that may be out
#define SLOW_LIMIT 100 // frames for the agent's main thread between pings: its queue has 256 places
#define PING_AGAIN_NS 100000000ull
#define SILENCE_NS 10000000000ull
#define SOCKET_BYTES (32 << 20)

struct options {
	const char *interface;
	uint64_t seconds, seed, window; // frames; 0 = none
	struct flood_target target;
};

// Frames are numbered as they are sent; `taken`: all up to there were taken by the agent.
struct flood {
	int fd;
	struct flood_target t;
	struct flood_rng rng;
	uint64_t sent[64]; // by kind
	uint64_t number, slow, taken, slow_taken;
	uint64_t pinged_at[PINGS], slow_at[PINGS]; // what was sent before that ping
	uint16_t ping;
	uint64_t refused, pings, pongs, asks, udp, strangers, ping_ns, heard_ns;
	unsigned weights;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "pmx-lab-flood: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void socket_open(struct flood *f, const char *interface)
{
	const int one = 1, bytes = SOCKET_BYTES;
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct ifreq r = { 0 };
	f->fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (f->fd < 0)
		die("no packet socket");
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", interface);
	at.sll_ifindex = (int)if_nametoindex(interface);
	if (at.sll_ifindex == 0 || ioctl(f->fd, SIOCGIFMTU, &r) != 0)
		die(interface);
	f->t.mtu = (uint32_t)r.ifr_mtu;
	if (setsockopt(f->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0 ||
	    setsockopt(f->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) != 0 ||
	    setsockopt(f->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)) != 0 ||
	    bind(f->fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		die(interface);
}

static unsigned weight(const struct flood *f, const struct flood_kind *k)
{
	if ((k->families & 1u << (f->t.v6 ? 6 : 4)) == 0 || f->t.mtu <= k->mtu_above)
		return 0;
	return k->weight != 0 ? k->weight : 8;
}

static size_t choose(struct flood *f)
{
	for (;;) {
		uint32_t at = flood_below(&f->rng, f->weights);
		size_t i = 0;
		for (; at >= weight(f, &flood_kind[i]); i++)
			at -= weight(f, &flood_kind[i]);
		if (!flood_kind[i].slow || f->slow - f->slow_taken < SLOW_LIMIT)
			return i;
	}
}

// What the agent sends: the answer to a ping of ours, its own traffic, its questions for
// neighbours; all else is an answer that it should not have given. Tags are not in the frame.
static void judge(struct flood *f, const uint8_t *d, size_t bytes, uint64_t now)
{
	size_t l4 = f->t.v6 ? 54 : 34;
	unsigned type = (unsigned)d[12] << 8 | d[13], protocol = d[f->t.v6 ? 20 : 23];
	bool icmp = protocol == (f->t.v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
	if (bytes < 42 || memcmp(d + 6, f->t.mac, 6) != 0)
		return;
	if (type == ETHERTYPE_ARP) {
		f->asks += d[21] == 1;
		f->strangers += d[21] != 1 && memcmp(d + 38, f->t.peer_ip, 4) != 0;
	} else if (type != (f->t.v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP)) {
		f->strangers++;
	} else if (icmp && d[l4] == (f->t.v6 ? 129 : 0) && memcmp(d, f->t.ping_mac, 6) == 0) {
		uint16_t seq = (uint16_t)(d[l4 + 6] << 8 | d[l4 + 7]), i = seq % PINGS;
		f->pongs++;
		f->heard_ns = now;
		if (f->pinged_at[i] > f->taken) {
			f->taken = f->pinged_at[i];
			f->slow_taken = f->slow_at[i];
		}
	} else if (icmp && f->t.v6 && (d[l4] == 135 || d[l4] == 136)) {
		f->asks++;
	} else if (protocol == IPPROTO_UDP &&
		   memcmp(d + (f->t.v6 ? 38 : 30), f->t.peer_ip, f->t.v6 ? 16 : 4) == 0) {
		f->udp++;
	} else {
		f->strangers++;
	}
}

static void listen_to_agent(struct flood *f, uint64_t now)
{
	static uint8_t d[FLOOD_FRAME_BYTES];
	ssize_t n;
	while ((n = recv(f->fd, d, sizeof(d), MSG_DONTWAIT)) > 0)
		judge(f, d, (size_t)n, now);
}

// The kernel says at once of a frame that it dropped it: a giant is meant to be, others are not
// sent.
static void refused(struct flood *f, size_t kind)
{
	if (strcmp(flood_kind[kind].reason, "kernel") == 0)
		return;
	f->sent[kind]--;
	f->refused++;
}

// sendmmsg tells of an error only for the first frame: of another, that it stopped there.
static void send_all(struct flood *f, struct mmsghdr *m, const size_t *kind, unsigned n)
{
	for (unsigned done = 0; done < n;) {
		int r = sendmmsg(f->fd, m + done, n - done, 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && errno != ENOBUFS)
			die("cannot send");
		done += r > 0 ? (unsigned)r : 0;
		if (done < n)
			refused(f, kind[done++]);
	}
}

static void ping(struct flood *f, uint64_t now)
{
	static struct flood_frame frame;
	struct iovec v = { .iov_base = frame.b };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };
	f->ping++;
	flood_ping(&frame, &f->t, PING_ID, f->ping);
	f->pinged_at[f->ping % PINGS] = f->number;
	f->slow_at[f->ping % PINGS] = f->slow;
	v.iov_len = frame.len;
	if (sendmmsg(f->fd, &m, 1, 0) == 1)
		f->pings++;
	f->ping_ns = now;
}

static void send_batch(struct flood *f)
{
	static struct flood_frame frame[BATCH];
	struct iovec v[BATCH];
	struct mmsghdr m[BATCH];
	size_t kind[BATCH];
	for (unsigned i = 0; i < BATCH; i++) {
		size_t k = kind[i] = choose(f);
		flood_kind[k].make(&frame[i], &f->t, &f->rng);
		f->sent[k]++;
		f->slow += flood_kind[k].slow;
		v[i] = (struct iovec){ .iov_base = frame[i].b, .iov_len = frame[i].len };
		m[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &v[i], .msg_iovlen = 1 } };
	}
	send_all(f, m, kind, BATCH);
	f->number += BATCH;
}

// Waits for an answer; a ping that is lost on the way is sent anew.
static void wait_for_agent(struct flood *f, uint64_t now)
{
	struct pollfd p = { .fd = f->fd, .events = POLLIN };
	if (now - f->ping_ns > PING_AGAIN_NS)
		ping(f, now);
	poll(&p, 1, 1);
	if (now - f->heard_ns > SILENCE_NS) {
		errno = ETIMEDOUT;
		die("the agent answers no ping");
	}
}

static void run(struct flood *f, const struct options *o)
{
	uint64_t now = now_ns(), end = now + o->seconds * 1000000000ull, next = PING_EVERY;
	f->heard_ns = now;
	while (now < end) {
		if (o->window == 0 || f->number - f->taken + BATCH <= o->window)
			send_batch(f);
		else
			wait_for_agent(f, now);
		if (f->number >= next) {
			ping(f, now);
			next = f->number + PING_EVERY;
		}
		listen_to_agent(f, now);
		now = now_ns();
	}
	ping(f, now);
	while (f->taken < f->number) { // the last one is behind all
		wait_for_agent(f, now);
		now = now_ns();
		listen_to_agent(f, now);
	}
}

static int report(const struct flood *f, double seconds)
{
	json_t *kinds = json_array();
	for (size_t i = 0; i < flood_kinds; i++) {
		if (weight(f, &flood_kind[i]) == 0)
			continue;
		json_array_append_new(
			kinds, json_pack("{s:s, s:s, s:I}", "kind", flood_kind[i].name, "reason",
					 flood_kind[i].reason, "sent", (json_int_t)f->sent[i]));
	}
	struct tpacket_stats s = { 0 };
	socklen_t bytes = sizeof(s);
	getsockopt(f->fd, SOL_PACKET, PACKET_STATISTICS, &s, &bytes);
	json_t *j = json_pack("{s:o, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I}", "kinds", kinds,
			      "sent", (json_int_t)(f->number - f->refused), "refused",
			      (json_int_t)f->refused, "seconds", seconds, "pings",
			      (json_int_t)f->pings, "pongs", (json_int_t)f->pongs, "asks",
			      (json_int_t)f->asks, "udp", (json_int_t)f->udp, "strangers",
			      (json_int_t)f->strangers, "missed", (json_int_t)s.tp_drops);
	int bad = j == NULL || json_dumpf(j, stdout, JSON_INDENT(1)) != 0;
	json_decref(j);
	return bad;
}

static int usage(void)
{
	fprintf(stderr, "pmx-lab-flood --mac M --ip A --peer A --port P --cookie C --sport P "
			"[--payload N] [--vlan V]\n"
			"  --ping-mac M --ping-ip A [--window FRAMES] [--seconds S] [--seed N] "
			"INTERFACE\n");
	return 2;
}

// 4 or 6, or -1.
static int read_ip(const char *s, uint8_t ip[16])
{
	struct ip_addr a;
	if (parse_ip(s, &a, NULL) != 0)
		return -1;
	memcpy(ip, ip_is4(&a) ? a.b + 12 : a.b, ip_is4(&a) ? 4 : 16);
	return ip_is4(&a) ? 4 : 6;
}

static int read_number(const char *s, uint64_t max, uint64_t *v)
{
	return parse_u64(s, 0, max, v, NULL);
}

static int read_option(struct options *o, int c, const char *s)
{
	struct flood_target *t = &o->target;
	uint64_t v = 0;
	int r = 0;
	switch (c) {
	case 'm':
		return parse_mac(s, t->mac, NULL);
	case 'M':
		return parse_mac(s, t->ping_mac, NULL);
	case 'i':
		r = read_ip(s, t->ip);
		t->v6 = r == 6;
		return r;
	case 'p':
		return read_ip(s, t->peer_ip);
	case 'I':
		return read_ip(s, t->ping_ip);
	case 's':
		return read_number(s, 3600, &o->seconds);
	case 'g':
		return read_number(s, UINT64_MAX, &o->seed);
	case 'w':
		return read_number(s, 1 << 20, &o->window);
	default:
		break;
	}
	r = read_number(s, 65535, &v);
	if (c == 'u')
		t->udp_port = (uint16_t)v;
	else if (c == 'c')
		t->cookie = (uint16_t)v;
	else if (c == 'o')
		t->sport = (uint16_t)v;
	else if (c == 'y')
		t->payload = (uint32_t)v;
	else if (c == 'v')
		t->vlan = (uint16_t)v;
	else
		r = -1;
	return r;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "mac", 1, NULL, 'm' },      { "ip", 1, NULL, 'i' },
		{ "peer", 1, NULL, 'p' },     { "port", 1, NULL, 'u' },
		{ "cookie", 1, NULL, 'c' },   { "sport", 1, NULL, 'o' },
		{ "payload", 1, NULL, 'y' },  { "vlan", 1, NULL, 'v' },
		{ "ping-mac", 1, NULL, 'M' }, { "ping-ip", 1, NULL, 'I' },
		{ "window", 1, NULL, 'w' },   { "seconds", 1, NULL, 's' },
		{ "seed", 1, NULL, 'g' },     { 0 },
	};
	static struct flood f;
	struct options o = { .seconds = 10, .seed = 1, .target.payload = 18 };
	int c;
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (read_option(&o, c, optarg) < 0)
			return usage();
	}
	if (optind + 1 != argc)
		return usage();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	f.t = o.target;
	f.rng.state = o.seed;
	socket_open(&f, argv[optind]);
	for (size_t i = 0; i < flood_kinds; i++)
		f.weights += weight(&f, &flood_kind[i]);
	uint64_t begin = now_ns();
	run(&f, &o);
	return report(&f, (double)(now_ns() - begin) / 1e9);
}
