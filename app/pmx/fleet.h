// All hosts of a matrix: the same step on each, a bounded number at a time, failures kept by host
// and told in matrix order.
#pragma once

#include "agent_file.h"
#include "barrier.h"
#include "cmd.h"
#include "deploy.h"
#include "matrix.h"
#include "remote.h"

#include "err.h"
#include "result.h"
#include "session.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fleet;
struct poller;

struct fleet_host {
	struct fleet *fleet;
	size_t index; // in the matrix
	const char *name;
	struct site site;
	bool chosen; // by --hosts

	pthread_mutex_t turn;  // of a machine, by its first port: see fleet_turn
	pthread_mutex_t busy;  // held by whoever uses what follows
	struct remote *remote; // NULL = not open
	bool launched;	       // an agent may be running
	struct result *result; // owned, or NULL
	struct result *older;  // owned, [lives]: of earlier agents of the run, the first one first
	size_t lives;
	uint64_t now_ns; // the agent's clock when a live result was asked for; 0 = final
	char *text;	 // what a step has to print; owned, or NULL

	// News, under fleet->lock: written by whoever holds `busy`, read by anybody.
	bool failed; // and left alone since
	char why[ERR_MAX];
	char *log; // last lines of the agent's log when it failed; owned, or NULL
	struct status status;
	struct barrier_host barrier;

	// The poller's, under fleet->lock.
	bool watched, polling;
	uint64_t lost_ns; // its connection broke then; 0 = it did not. Whoever holds `busy`
	uint64_t poll_ns; // when it is due
	unsigned polls;	  // since it is watched

	bool told; // its failure was printed; the main thread's
};

struct fleet {
	const struct opts *opts;
	const struct matrix *matrix;
	struct matrix hasty;	 // the same with little time to connect
	struct agent_file agent; // of verbs that launch
	bool dry;
	bool leased;	  // agents end by themselves when pmx is gone
	bool cancellable; // a signal ends waiting calls
	size_t jobs;
	struct fleet_host *host; // owned, [count], matrix order
	size_t count;
	size_t chosen;
	pthread_mutex_t *lock; // owned
	struct poller *poller; // owned, or NULL
	uint64_t end_ns;       // by mono_ns(): when agents will be done; 0 = not known. Under lock
	// When set, a result that was collected goes here, by its host's thread, and is not kept.
	int (*take)(struct fleet_host *h, void *arg, struct err *e);
	void *take_arg;
};

// A step on one host; a negative return is that host's failure.
typedef int (*fleet_step)(struct fleet_host *h, void *arg, struct err *e);

enum fleet_which {
	FLEET_LIVE,	// chosen, not failed
	FLEET_OPEN,	// chosen and connected, failed or not
	FLEET_CHOSEN,	// all chosen
	FLEET_LAUNCHED, // connected, and an agent may be running
};

// Checks the directory and --hosts, finds the agent if the verb launches, fills the table: touches
// no host. 0, or an exit code after saying why.
int fleet_init(struct fleet *f, const struct opts *o, const struct matrix *m, bool launches);
void fleet_free(struct fleet *f);
// Runs the step on every such host, `jobs` at a time. Returns how many failed in it.
size_t fleet_each(struct fleet *f, enum fleet_which which, fleet_step step, void *arg);
size_t fleet_live(const struct fleet *f);
// To be held where the ports of one machine must go one after the other. After `busy`.
pthread_mutex_t *fleet_turn(struct fleet_host *h);
// A copy of the host's status, or false when it has failed or is not chosen.
bool fleet_status(const struct fleet_host *h, struct status *s);
// Whether the poller asks for the host's status, from now on.
void fleet_watch(struct fleet_host *h, bool watched);
size_t fleet_failed(const struct fleet *f);
// Connects every chosen host. Returns how many failed.
size_t fleet_connect(struct fleet *f);
// Closes the connections of the chosen hosts; fleet_connect may open new ones.
void fleet_disconnect(struct fleet *f);
// The caller holds h->busy. Keeps a reason for the host, with its log where an agent was launched.
void fleet_fail(struct fleet_host *h, const struct err *e);
// Prints each new failure (host-prefixed, log lines indented) and, when there is one,
// "FAILED on n/m: names". Returns how many have failed.
size_t fleet_complain(struct fleet *f);
// Prints the hosts' texts to stdout in matrix order, each line with its host in front, and forgets
// them.
void fleet_print(struct fleet *f);
// Sets the text that fleet_print will print.
void fleet_say(struct fleet_host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// With --verbose, one line on stderr at once.
void fleet_detail(const struct fleet_host *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
