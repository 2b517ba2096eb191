// pmx-lab-forwarder: stands between two interfaces and forwards what each receives to the other,
// with faults that it counts. An instrument: it drops nothing, or says so and exits 1.
//
// A frame's delay is the time from the kernel's receive stamp to the call that sends it on.
#include "fwd_path.h"

#include "parse.h"

#include <jansson.h>

#include <errno.h>
#include <getopt.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKET_BYTES (64 << 20)
#define POLL_MAX_NS 100000000ull
#define UDP_AT 34 // behind Ethernet and IPv4 without options

struct options {
	const char *name[2];
	bool loop;		   // the same interface twice: frames turn back
	struct path_rules rule[2]; // of what the first receives, of what the second receives
	uint64_t limit_ns;	   // it ends itself after this
	uint64_t spin_ns;	   // of a wait, the last part that is not slept
	bool fifo;
};

struct port {
	int fd;
	uint64_t drops;	  // of its socket
	uint64_t retries; // sends that had to be tried again
};

static _Atomic int stop_signal;

static void on_signal(int sig)
{
	atomic_store_explicit(&stop_signal, sig, memory_order_relaxed);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static int port_open(struct port *p, const char *name, struct err *e)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = __builtin_bswap16(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(name),
	};
	struct packet_mreq promisc = { .mr_ifindex = addr.sll_ifindex,
				       .mr_type = PACKET_MR_PROMISC };
	if (addr.sll_ifindex == 0)
		return err_set(e, ENODEV, "no interface '%s' here", name);
	p->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); // receives nothing until bound
	if (p->fd < 0 || set(p->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) != 0 ||
	    set(p->fd, SOL_SOCKET, SO_TIMESTAMPNS, 1) != 0 ||
	    set(p->fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BYTES) != 0 ||
	    set(p->fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BYTES) != 0 ||
	    setsockopt(p->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc)) != 0 ||
	    bind(p->fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		return err_set(e, errno, "socket on '%s': %s", name, strerror(errno));
	return 0;
}

// The receive stamp on the monotonic clock.
static uint64_t arrival_ns(struct msghdr *m)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME);
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
		struct timespec t;
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SO_TIMESTAMPNS)
			continue;
		memcpy(&t, CMSG_DATA(c), sizeof(t));
		uint64_t stamp = (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
		return stamp < real ? now - (real - stamp) : now;
	}
	return now;
}

// On a loop the paths are told apart by the UDP ports: an odd sum takes the second.
static bool odd_ports(const uint8_t *frame, uint32_t len)
{
	return len >= UDP_AT + 4 && ((frame[UDP_AT + 1] ^ frame[UDP_AT + 3]) & 1) != 0;
}

// One frame, if there is one. 1, 0 or -errno.
static int receive(const struct port *from, struct path *path, bool loop)
{
	static uint8_t data[PATH_FRAME_BYTES];
	union {
		char buf[CMSG_SPACE(sizeof(struct timespec))];
		struct cmsghdr align;
	} control;
	if (path_full(&path[0]) || (loop && path_full(&path[1])))
		return 0;
	struct iovec iov = { .iov_base = data, .iov_len = sizeof(data) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(from->fd, &m, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR || errno == ENETDOWN ? 0 : -errno;
	uint32_t len = (uint32_t)n;
	path_take(&path[loop && odd_ports(data, len)], data, len, arrival_ns(&m));
	return 1;
}

static int send_on(struct port *to, const struct path_frame *f)
{
	for (;;) {
		if (send(to->fd, f->data, f->len, 0) == (ssize_t)f->len)
			return 0;
		if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
			return -errno;
		to->retries++;
	}
}

// The frame that is due, if one is. 1, 0 or -errno.
static int pass_on(struct path *p, struct port *to, uint64_t *next_ns)
{
	const struct path_frame *f = path_due(p, clock_ns(CLOCK_MONOTONIC), next_ns);
	if (f == NULL)
		return 0;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r = send_on(to, f);
	if (r == 0 && f->dup)
		r = send_on(to, f);
	path_sent(p, now);
	*next_ns = now;
	return r < 0 ? r : 1;
}

static void wait_for(const struct port *port, int ports, uint64_t until_ns, uint64_t spin_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	if (until_ns < now + spin_ns)
		return;
	uint64_t ns = until_ns - spin_ns - now;
	struct timespec t = { .tv_nsec = (long)(ns < POLL_MAX_NS ? ns : POLL_MAX_NS) };
	struct pollfd p[2] = { { .fd = port[0].fd, .events = POLLIN },
			       { .fd = port[1].fd, .events = POLLIN } };
	ppoll(p, (nfds_t)ports, &t, NULL);
}

// Until the limit or a signal, and then until nothing is left inside.
static int forward(const struct options *o, struct port port[2], struct path path[2])
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + o->limit_ns;
	int ports = o->loop ? 1 : 2;
	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC), next = end;
		bool stop =
			now >= end || atomic_load_explicit(&stop_signal, memory_order_relaxed) != 0;
		int work = 0, r = 0;
		for (int i = 0; i < ports && r >= 0 && !stop; i++)
			work += (r = receive(&port[i], &path[i], o->loop));
		for (int i = 0; i < 2 && r >= 0; i++) {
			uint64_t due;
			work += (r = pass_on(&path[i], &port[o->loop ? 0 : 1 - i], &due));
			next = due < next ? due : next;
		}
		if (r < 0)
			return r;
		if (stop && path_empty(&path[0]) && path_empty(&path[1]))
			return 0;
		if (work == 0)
			wait_for(port, ports, next, o->spin_ns);
	}
}

static void read_drops(struct port *p)
{
	struct tpacket_stats s = { 0 };
	socklen_t len = sizeof(s);
	if (getsockopt(p->fd, SOL_PACKET, PACKET_STATISTICS, &s, &len) == 0)
		p->drops += s.tp_drops;
}

static json_t *describe(const char *from, const char *to, struct path *p, uint64_t drops,
			uint64_t retries)
{
	const struct path_counts *c = &p->count;
	json_t *delay = NULL;
	if (c->delays > 0)
		delay = json_pack("{s:I,s:I,s:I,s:f,s:I,s:I,s:I,s:I}", "asked_ns",
				  (json_int_t)p->rule.delay_ns, "count", (json_int_t)c->delays,
				  "min_ns", (json_int_t)c->delay_min_ns, "mean_ns",
				  (double)c->delay_sum_ns / (double)c->delays, "p50_ns",
				  (json_int_t)path_delay_percentile(p, 50), "p90_ns",
				  (json_int_t)path_delay_percentile(p, 90), "p99_ns",
				  (json_int_t)path_delay_percentile(p, 99), "max_ns",
				  (json_int_t)c->delay_max_ns);
	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o?}", "from", from, "to", to,
			 "received", (json_int_t)c->received, "udp", (json_int_t)c->udp,
			 "forwarded", (json_int_t)c->sent, "duplicated", (json_int_t)c->duplicated,
			 "swapped", (json_int_t)c->swapped, "unswapped", (json_int_t)c->unswapped,
			 "drops", (json_int_t)drops, "retries", (json_int_t)retries, "delay",
			 delay);
}

// One line on stdout. 0, or -EIO when the instrument is not to be trusted.
static int report(const struct options *o, const struct port port[2], struct path path[2],
		  struct err *e)
{
	json_t *all = json_array();
	int r = 0;
	for (int i = 0; i < 2; i++) {
		int from = o->loop ? 0 : i, to = o->loop ? 0 : 1 - i;
		json_array_append_new(all, describe(o->name[from], o->name[to], &path[i],
						    port[from].drops, port[to].retries));
		if (port[i].drops > 0)
			r = err_set(e, EIO, "the socket of %s dropped %llu frames", o->name[i],
				    (unsigned long long)port[i].drops);
	}
	json_dumpf(all, stdout, JSON_COMPACT);
	printf("\n");
	json_decref(all);
	return r;
}

static void prepare(const struct options *o)
{
	struct sigaction stop = { .sa_handler = on_signal };
	struct sched_param first = { .sched_priority = 1 };
	sigaction(SIGTERM, &stop, NULL);
	sigaction(SIGINT, &stop, NULL);
	prctl(PR_SET_TIMERSLACK, 1);
	if (o->fifo && sched_setscheduler(0, SCHED_FIFO, &first) != 0)
		fprintf(stderr, "pmx-lab-forwarder: no real-time priority: %s\n", strerror(errno));
}

static int run(const struct options *o, struct err *e)
{
	static struct path path[2];
	struct port port[2] = { { .fd = -1 }, { .fd = -1 } };
	int r = 0;
	for (int i = 0; i < 2 && r == 0; i++) {
		if (path_open(&path[i], &o->rule[i]) != 0)
			r = err_set(e, ENOMEM, "no memory");
		else if (i == 0 || !o->loop)
			r = port_open(&port[i], o->name[i], e);
	}
	if (r == 0) {
		prepare(o);
		fprintf(stderr, "forwarding between %s and %s\n", o->name[0], o->name[1]);
		r = forward(o, port, path);
		if (r != 0)
			err_set(e, -r, "forwarding failed: %s", strerror(-r));
	}
	for (int i = 0; i < 2; i++)
		read_drops(&port[i]);
	if (r == 0)
		r = report(o, port, path, e);
	for (int i = 0; i < 2; i++) {
		if (port[i].fd >= 0)
			close(port[i].fd);
		path_close(&path[i]);
	}
	return r;
}

enum option_id { DUP, SWAP, DELAY, FOR, SPIN, FIFO };

static const struct option option_table[] = {
	{ "dup-every", required_argument, NULL, DUP },
	{ "swap-every", required_argument, NULL, SWAP },
	{ "delay", required_argument, NULL, DELAY },
	{ "for", required_argument, NULL, FOR },
	{ "spin", required_argument, NULL, SPIN },
	{ "fifo", no_argument, NULL, FIFO },
	{ 0 },
};

static int usage(void)
{
	fprintf(stderr,
		"usage: pmx-lab-forwarder [OPTION...] IFACE IFACE     the same twice turns back\n"
		"  --dup-every N[,N]      each Nth UDP frame goes twice\n"
		"  --swap-every M[,M]     each Mth UDP frame goes behind its successor\n"
		"  --delay TIME[,TIME]    every frame goes this long after it came\n"
		"  --for TIME             ends itself (300s)\n"
		"  --spin TIME            of a wait, the last part that is not slept (50us)\n"
		"  --fifo                 real-time priority\n"
		"Two values: of what the first IFACE receives, of what the second receives; turned "
		"back:\n"
		"of frames whose UDP ports add up to an even number, to an odd one. 0 = none.\n"
		"Ends by SIGTERM or SIGINT too, and prints its counts as one line of JSON.\n");
	return 2;
}

// "A" is for both directions, "A,B" one for each.
static int read_pair(enum option_id id, const char *text, struct path_rules rule[2], struct err *e)
{
	char word[2][32] = { "", "" };
	int n = sscanf(text, "%31[^,],%31[^,]", word[0], word[1]);
	int r = n < 1 ? err_set(e, EINVAL, "'%s': expected one value or two", text) : 0;
	for (int i = 0; i < 2 && r == 0; i++) {
		const char *w = word[n == 2 ? i : 0];
		uint64_t v = 0;
		if (id == DELAY)
			r = strcmp(w, "0") == 0 ? 0 : parse_duration_ns(w, &rule[i].delay_ns, e);
		else
			r = parse_u64(w, 0, UINT32_MAX, &v, e);
		if (r == 0 && id == DUP)
			rule[i].dup_every = (uint32_t)v;
		if (r == 0 && id == SWAP && v == 1)
			r = err_set(e, EINVAL, "'1': every frame cannot go behind the next");
		if (r == 0 && id == SWAP)
			rule[i].swap_every = (uint32_t)v;
	}
	return r;
}

int main(int argc, char **argv)
{
	struct options o = { .limit_ns = 300000000000ull, .spin_ns = 50000 };
	struct err e = { 0 };
	int id, r = 0, index = 0;
	while (r == 0 && (id = getopt_long(argc, argv, "", option_table, &index)) != -1) {
		if (id == '?')
			return usage();
		if (id == FIFO)
			o.fifo = true;
		else if (id == FOR)
			r = parse_duration_ns(optarg, &o.limit_ns, &e);
		else if (id == SPIN)
			r = parse_duration_ns(optarg, &o.spin_ns, &e);
		else
			r = read_pair((enum option_id)id, optarg, o.rule, &e);
		if (r != 0)
			err_wrap(&e, "--%s", option_table[index].name);
	}
	if (r == 0 && argc - optind != 2)
		return usage();
	if (r == 0) {
		o.name[0] = argv[optind];
		o.name[1] = argv[optind + 1];
		o.loop = strcmp(o.name[0], o.name[1]) == 0;
		r = run(&o, &e);
	}
	if (r != 0)
		fprintf(stderr, "pmx-lab-forwarder: %s\n", e.msg);
	return r == 0 ? 0 : 1;
}
