// make_results DIR HOSTS PEERS BINS [SEED]: a run that never was, as `pmx collect` leaves it:
// DIR/matrix.yaml, and DIR/<host>/result.json written by the library that agents write it with.
// Every host asks the PEERS hosts behind it (HOSTS - 1 is a full mesh); BINS is the most that the
// histogram of a flow has. What a flow lost, and what is not known of it or of its hosts, hangs on
// the seed, which is printed.
#include "result.h"
#include "rng.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WINDOW_NS 10000000000u
#define FLOW_PPS 1000

static struct {
	const char *dir;
	uint64_t hosts, peers, bins, seed;
	struct hist *hist;
} made;

static void die(const char *what)
{
	perror(what);
	exit(3);
}

// The numbers of one thing (a flow, a host), whoever asks for them.
static struct rng rng_of(uint64_t a, uint64_t b)
{
	struct rng r = { made.seed ^ (a << 32) ^ (b << 8) };

	rng_next(&r);
	return r;
}

static bool one_in(struct rng *r, uint64_t n)
{
	return rng_below(r, n) == 0;
}

static void host_name(uint64_t i, char name[NAME_MAX_BYTES])
{
	snprintf(name, NAME_MAX_BYTES, "h%04" PRIu64, i);
}

struct flow {
	struct tx_counts tx;
	struct rx_counts rx;
};

static struct flow flow_of(uint64_t src, uint64_t dst)
{
	struct rng r = rng_of(src + 1, dst + 1);
	uint64_t due = FLOW_PPS * (WINDOW_NS / 1000000000u);
	struct flow f = { 0 };

	f.tx.unsent = one_in(&r, 50) ? rng_below(&r, due / 20) : 0;
	f.tx.sent = due - f.tx.unsent;
	f.rx.delivered = f.tx.sent - (one_in(&r, 20) ? rng_below(&r, f.tx.sent / 10) : 0);
	f.rx.reply_unsent = one_in(&r, 100) ? rng_below(&r, 50) : 0;
	f.rx.replied = f.rx.delivered - f.rx.reply_unsent;
	f.tx.returned = f.rx.replied - (one_in(&r, 30) ? rng_below(&r, f.tx.sent / 100) : 0);
	f.tx.dup = one_in(&r, 9) ? rng_below(&r, 9) : 0;
	f.rx.dup = one_in(&r, 9) ? rng_below(&r, 9) : 0;
	f.tx.reordered = one_in(&r, 9) ? rng_below(&r, 9) : 0;
	f.rx.reordered = one_in(&r, 9) ? rng_below(&r, 9) : 0;
	f.tx.late = f.tx.sent > f.tx.returned ? rng_below(&r, f.tx.sent - f.tx.returned) : 0;
	f.rx.late = f.tx.sent > f.rx.delivered ? rng_below(&r, f.tx.sent - f.rx.delivered) : 0;
	f.tx.off_queue = one_in(&r, 5) ? rng_below(&r, 100) : 0;
	return f;
}

// `bins` neighbouring buckets and then a tail of a few far ones, `count` records in all.
static struct hist_packed *rtt_of(struct rng *r, uint64_t count)
{
	uint64_t bins = 1 + rng_below(r, made.bins), base = 8000 + rng_below(r, 100000);

	if (count == 0)
		return NULL;
	hist_reset(made.hist);
	for (uint64_t i = 0; i < bins && count > 0; i++) {
		uint64_t n = i + 1 == bins ? count : count / 8 + 1;
		uint64_t ns = base + base * i / 100 + (i > bins / 2 ? rng_below(r, 9 * base) : 0);

		hist_record_n(made.hist, ns, n);
		count -= n;
	}
	struct hist_packed *p = hist_pack(made.hist);
	if (p == NULL)
		die("histogram");
	return p;
}

static void fill_flows(struct result *res, uint64_t host)
{
	for (uint64_t i = 0; i < made.peers; i++) {
		uint64_t to = (host + 1 + i) % made.hosts,
			 from = (host + made.hosts - 1 - i) % made.hosts;
		struct rng r = rng_of(host + 1, made.hosts + to);
		struct result_flow_tx *tx = &res->tx[i];
		struct result_flow_rx *rx = &res->rx[i];

		host_name(to, tx->peer);
		host_name(from, rx->peer);
		tx->req_bytes = rx->req_bytes = 18;
		tx->rep_bytes = rx->rep_bytes = 466;
		tx->streams = 1 + (uint32_t)rng_below(&r, 4);
		tx->rate_pps = FLOW_PPS;
		tx->trial[0] = flow_of(host, to).tx;
		tx->trial[0].rtt = rtt_of(&r, tx->trial[0].returned);
		rx->trial[0] = flow_of(from, host).rx;
	}
}

static uint64_t share(uint64_t all, uint64_t parts, uint64_t part)
{
	return all / parts + (part < all % parts);
}

static void fill_queues(struct result *res, struct rng *r)
{
	struct queue_counts sum = { 0 };

	for (uint64_t i = 0; i < made.peers; i++) {
		sum.requests_sent += res->tx[i].trial[0].sent;
		sum.replies_received += res->tx[i].trial[0].returned;
		sum.off_queue += res->tx[i].trial[0].off_queue;
		sum.requests_received += res->rx[i].trial[0].delivered;
		sum.replies_sent += res->rx[i].trial[0].replied;
	}
	for (size_t q = 0; q < res->queue_count; q++)
		res->queue[q].trial[0] = (struct queue_counts){
			.requests_sent = share(sum.requests_sent, res->queue_count, q),
			.replies_received = share(sum.replies_received, res->queue_count, q),
			.requests_received = share(sum.requests_received, res->queue_count, q),
			.replies_sent = share(sum.replies_sent, res->queue_count, q),
			.off_queue = share(sum.off_queue, res->queue_count, q),
			.tx_full = rng_below(r, 3),
			.busy_tsc = rng_below(r, 900000),
			.total_tsc = 1000000,
			.lcore = q + 1,
		};
}

static void fill_host(struct result *res, uint64_t host)
{
	struct rng r = rng_of(host + 1, 0);

	host_name(host, res->host);
	strcpy(res->run_id, "20240131-a1b2");
	strcpy(res->pmx_version, "0.1.0");
	strcpy(res->dpdk_version, "DPDK 22.11.9");
	strcpy(res->state, "done");
	strcpy(res->ended_by, "plan");
	strcpy(res->driver, one_in(&r, 4) ? "" : "net_ice");
	res->steering = (enum steering)rng_below(&r, STEERINGS);
	res->steered = one_in(&r, 2);
	strcpy(res->steering_why, one_in(&r, 3) ? "the port does not tell its RSS key" : "");
	res->tsc_hz = 2445434000.5;
	res->trial[0] = (struct trial){
		0, TRIAL_MEASURE, 5000000000, 5000000000 + WINDOW_NS, 6000000000 + WINDOW_NS, 0
	};
	res->trial[0].end_ns += rng_below(&r, 1000);
	for (int i = 0; i < DROP_REASONS; i++)
		res->drop[i] = one_in(&r, 9) ? rng_below(&r, 100) : 0;
	if (!one_in(&r, 3)) { // a driver that counts what it misses
		res->port.imissed = one_in(&r, 3) ? rng_below(&r, 2000) : 0;
		res->port.rx_nombuf = one_in(&r, 9) ? rng_below(&r, 2000) : 0;
		res->port.ipackets = rng_next(&r) >> 20;
		res->port.link_mbps = 100000;
	}
	if (!one_in(&r, 4)) {
		res->cpu_pct = (double)rng_below(&r, 1000) / 10;
		res->cpu_max_pct = (double)rng_below(&r, 1000) / 10;
		res->agent_cpu_pct = (double)rng_below(&r, 4000) / 10;
	}
	hist_reset(made.hist);
	hist_record_n(made.hist, 300, 1000);
	hist_record_n(made.hist, 300 + rng_below(&r, 1000000), 1 + rng_below(&r, 100));
	res->lateness = malloc(sizeof(*res->lateness));
	if (res->lateness == NULL)
		die("lateness");
	*res->lateness = *made.hist;
}

static void write_host(uint64_t host)
{
	struct rng r = rng_of(host + 1, made.hosts);
	char name[NAME_MAX_BYTES], path[4096];
	struct result res;

	host_name(host, name);
	snprintf(path, sizeof(path), "%s/%s", made.dir, name);
	if (mkdir(path, 0777) < 0)
		die(path);
	if (made.hosts > 3 && one_in(&r, 40))
		return; // a host that gave none
	if (result_alloc(&res, 1, made.peers, made.peers, 1 + rng_below(&r, 4)) < 0)
		die("result");
	fill_host(&res, host);
	fill_flows(&res, host);
	fill_queues(&res, &r);
	snprintf(path, sizeof(path), "%s/%s/result.json", made.dir, name);
	json_t *root = result_write(&res);
	if (root == NULL || json_dump_file(root, path, JSON_COMPACT) < 0)
		die(path);
	json_decref(root);
	result_free(&res);
}

static void write_matrix(void)
{
	char path[4096], name[NAME_MAX_BYTES];

	snprintf(path, sizeof(path), "%s/matrix.yaml", made.dir);
	FILE *f = fopen(path, "wx");
	if (f == NULL)
		die(path);
	fprintf(f, "pmx: 1\ntransport: local\ndefaults: {driver: af_packet}\nhosts:\n");
	for (uint64_t i = 0; i < made.hosts; i++) {
		host_name(i, name);
		fprintf(f,
			"  %s: {device: eth%" PRIu64 ", addr: 198.18.%" PRIu64 ".%" PRIu64 "/16}\n",
			name, i, i / 250, 1 + i % 250);
	}
	fprintf(f, "traffic:\n  request: 18\n  reply: 466\n");
	if (made.peers == made.hosts - 1)
		fprintf(f, "  pattern: mesh\n  rate: %d\n", FLOW_PPS);
	else
		fprintf(f, "  pattern: cells\n  cells:\n");
	for (uint64_t i = 0; made.peers < made.hosts - 1 && i < made.hosts; i++) {
		host_name(i, name);
		fprintf(f, "    %s: {", name);
		for (uint64_t k = 0; k < made.peers; k++) {
			host_name((i + 1 + k) % made.hosts, name);
			fprintf(f, "%s%s: %d", k > 0 ? ", " : "", name, FLOW_PPS);
		}
		fprintf(f, "}\n");
	}
	fprintf(f, "timing: {duration: 10s}\nlimits: {loss: 0.5%%}\n");
	if (fclose(f) != 0)
		die(path);
}

static uint64_t number(const char *s)
{
	char *end;
	uint64_t v = strtoull(s, &end, 0);

	if (*s == '\0' || *end != '\0') {
		fprintf(stderr, "make_results: '%s' is no number\n", s);
		exit(2);
	}
	return v;
}

int main(int argc, char **argv)
{
	if (argc < 5 || argc > 6) {
		fprintf(stderr, "usage: make_results DIR HOSTS PEERS BINS [SEED]\n");
		return 2;
	}
	made.dir = argv[1];
	made.hosts = number(argv[2]);
	made.peers = number(argv[3]);
	made.bins = number(argv[4]);
	if (made.hosts < 2 || made.peers < 1 || made.peers >= made.hosts || made.bins < 1) {
		fprintf(stderr, "make_results: out of range\n");
		return 2;
	}
	if (argc > 5) {
		made.seed = number(argv[5]);
		printf("make_results: seed %#" PRIx64 "\n", made.seed);
	} else {
		made.seed = rng_open("make_results").state;
	}
	made.hist = malloc(sizeof(*made.hist));
	if (made.hist == NULL || (mkdir(made.dir, 0777) < 0 && errno != EEXIST))
		die(made.dir);
	for (uint64_t i = 0; i < made.hosts; i++)
		write_host(i);
	write_matrix();
	free(made.hist);
	return 0;
}
