// How busy the box's CPUs and this process are.
#pragma once

#include <stdint.h>
#include <stdio.h>

#define CPU_MAX 1024

struct cpu_sample {
	uint64_t wall_ns, process_ns;
	uint32_t count;				// CPUs read; 0 = unknown
	uint64_t busy[CPU_MAX], total[CPU_MAX]; // ticks
};

struct cpu_usage {	  // percent; -1 = unknown
	double mean, max; // of the box's CPUs
	double process;	  // of one CPU
};

void cpu_read(struct cpu_sample *s);
// The CPUs alone, of what /proc/stat says.
void cpu_read_stat(FILE *f, struct cpu_sample *s);
struct cpu_usage cpu_between(const struct cpu_sample *a, const struct cpu_sample *b);
