// One direction of the lab's forwarder: what is done to its frames, and what was counted. No I/O:
// frames are put into it, and those that are due are taken out. Nothing is ever dropped: while it
// is full, the caller leaves frames where they are.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PATH_FRAMES 8192	  // a power of two
#define PATH_FRAME_BYTES 9216	  // MTU 9000 and its headers
#define PATH_SAMPLES (1u << 20)	  // delays that percentiles are taken of
#define PATH_HOLD_NS 200000000ull // that a frame waits for the one to swap with
#define PATH_NEVER UINT64_MAX

struct path_rules {
	uint32_t dup_every;  // each Nth UDP frame goes twice; 0 = none
	uint32_t swap_every; // each Mth goes behind its successor; 0 = none, else at least 2
	uint64_t delay_ns;
};

struct path_frame {
	uint64_t arrival_ns, due_ns;
	uint32_t len;
	bool timed; // its delay is the asked one
	bool dup;
	uint8_t data[PATH_FRAME_BYTES];
};

struct path_counts {
	uint64_t received, sent, udp; // sent = received + duplicated, once the path is empty
	uint64_t duplicated, swapped;
	uint64_t unswapped; // no successor came
	uint64_t delays, delay_sum_ns, delay_min_ns, delay_max_ns;
};

struct path {
	struct path_rules rule;
	struct path_counts count;
	struct path_frame *frame;    // owned, PATH_FRAMES
	uint16_t order[PATH_FRAMES]; // ring of indexes of `frame`, head .. tail - 1 in use
	uint32_t head, tail;
	bool holding;	  // the newest frame waits for its successor
	uint32_t *sample; // owned: delays in ns
};

// 0 or -ENOMEM. path_close frees.
int path_open(struct path *p, const struct path_rules *rule);
void path_close(struct path *p);
// While it is full, nothing may be taken.
bool path_full(const struct path *p);
// Takes a copy of a frame of at most PATH_FRAME_BYTES that came at arrival_ns.
void path_take(struct path *p, const uint8_t *data, uint32_t len, uint64_t arrival_ns);
// The oldest frame if it may go, else NULL with the instant to ask again, PATH_NEVER when empty.
const struct path_frame *path_due(struct path *p, uint64_t now_ns, uint64_t *next_ns);
// That frame went at now_ns, twice if it is a `dup`.
void path_sent(struct path *p, uint64_t now_ns);
bool path_empty(const struct path *p);
// Delay at or below which `percent` of the samples lie; 0 without samples.
uint64_t path_delay_percentile(struct path *p, double percent);
