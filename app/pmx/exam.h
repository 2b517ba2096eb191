// Exam: what is known of one host, and what doctor's probes find in it. A probe is a pure function
// of the host's facts and of what the plan asks of it. What a probe does not know it calls unknown,
// never ok.
#pragma once

#include "agent_elf.h"
#include "facts.h"
#include "matrix.h"
#include "profile.h"

#include "hostcfg.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Worse is greater.
enum health {
	HEALTH_NONE, // does not apply to this host
	HEALTH_OK,
	HEALTH_UNKNOWN, // the host did not tell
	HEALTH_NOTE,	// good to know
	HEALTH_WARNING, // it will run, and its figures may not mean what they say
	HEALTH_BLOCKER, // it will not run, or lose what it sends
	HEALTH_COUNT,
};
extern const char *const health_name[HEALTH_COUNT];

struct finding {
	enum health health;
	char text[400]; // what was found, with the numbers
	char fix[400];	// the command or the edit of the matrix; "" = none needed or none known
};

struct exam {
	const struct facts *facts;
	const struct matrix *matrix;
	size_t host; // in the matrix
	const struct profile *profile;
	const struct hostcfg *cfg;
	const struct agent_elf *agent; // the binary it would run; NULL = not known
	size_t agent_bytes;	       // of that file
	const char *dir;	       // remote_dir on it
	uint64_t need_bytes;	       // memory of its agent
	uint64_t need_all_bytes;       // of all agents on that machine
};

typedef void (*exam_probe)(const struct exam *x, struct finding *f);

// Sets what was found; later calls replace it. mend sets the fix: "" when it was never called.
void found(struct finding *f, enum health h, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void mend(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// What several probes ask.

bool exam_local(const struct exam *x);
bool exam_root(const struct exam *x, bool *known);
const char *exam_user(const struct exam *x); // "root", or "USER" when it is not known
// The kernel's interface and the PCI address of the device under test, as the host found them; ""
// when it has none.
const char *exam_iface(const struct exam *x);
const char *exam_pci(const struct exam *x);
bool exam_is_pci(const struct exam *x);	   // the driver takes a device from PCI
bool exam_on_iface(const struct exam *x);  // ... one that sits on an interface of the host
bool exam_has_iface(const struct exam *x); // it sits on an interface, or the device has one
// Capabilities of whatever the log-in runs; false when not known.
bool exam_capabilities(const struct exam *x, uint64_t *mask);
// NUMA node of the device: false when not known, and -1 is not known on a host with several.
bool exam_node(const struct exam *x, unsigned *node);
size_t exam_node_count(const struct exam *x); // 0 = not known
// "0-3,8" to a set; "" is the empty one. False when it is NULL or no list.
bool exam_cpus(const char *list, cpu_set_t *set);
// CPUs of the lcores, as the agent will choose them; false when not known.
bool exam_lcores(const struct exam *x, uint16_t cpu[LCORES_MAX]);
// "0-3,8" of a set. Into buf.
char *exam_cpus_str(const cpu_set_t *set, char *buf, size_t size);
// Free hugepages, bytes, on all nodes (node < 0) or one, each size capped by limit(size) when it is
// not NULL; false when not known.
bool exam_free_huge(const struct exam *x, int node, uint64_t *bytes);
// Whether the agent will use hugepages; false in *known when that depends on what is not known.
bool exam_uses_huge(const struct exam *x, bool *known);
