#include "cpu.h"

#include "clock.h"

#include <string.h>
#include <sys/resource.h>

void cpu_read_stat(FILE *f, struct cpu_sample *s)
{
	char line[512];
	s->count = 0;
	while (s->count < CPU_MAX && fgets(line, sizeof(line), f) != NULL) {
		unsigned int id;
		unsigned long long v[8] = { 0 };
		if (strncmp(line, "cpu ", 4) == 0) // "cpu ": the sum of all, which %u would read
			continue;
		if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &id, &v[0], &v[1],
			   &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) < 5)
			continue;
		uint64_t total = 0;
		for (int i = 0; i < 8; i++)
			total += v[i];
		s->total[s->count] = total;
		s->busy[s->count++] = total - v[3] - v[4]; // idle, iowait
	}
}

void cpu_read(struct cpu_sample *s)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	s->wall_ns = clock_now_ns();
	s->process_ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ull +
			(uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ull;
	s->count = 0;
	FILE *f = fopen("/proc/stat", "re");
	if (f == NULL)
		return;
	cpu_read_stat(f, s);
	fclose(f);
}

struct cpu_usage cpu_between(const struct cpu_sample *a, const struct cpu_sample *b)
{
	struct cpu_usage u = { .mean = -1, .max = -1, .process = -1 };
	if (b->wall_ns > a->wall_ns)
		u.process = (double)(b->process_ns - a->process_ns) * 100 /
			    (double)(b->wall_ns - a->wall_ns);
	if (a->count == 0 || a->count != b->count)
		return u;
	uint64_t busy = 0, total = 0;
	for (uint32_t i = 0; i < a->count; i++) {
		uint64_t all = b->total[i] - a->total[i], used = b->busy[i] - a->busy[i];
		double pct = all > 0 ? (double)used * 100 / (double)all : 0;
		u.max = pct > u.max ? pct : u.max;
		busy += used;
		total += all;
	}
	if (total > 0)
		u.mean = (double)busy * 100 / (double)total;
	return u;
}
