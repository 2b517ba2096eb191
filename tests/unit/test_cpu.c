// /proc/stat in the shapes that kernels give it, and what lies between two of them.
#include "cpu.h"

#include "testlib.h"

#include <string.h>

static void read_text(const char *text, struct cpu_sample *s)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(f);
	memset(s, 0xff, sizeof(*s));
	cpu_read_stat(f, s);
	fclose(f);
}

// user nice system idle iowait irq softirq steal guest guest_nice
#define TWO                                                 \
	"cpu  30 2 12 1000 10 0 4 6 7 0\n"                  \
	"cpu0 10 1 4 600 5 0 1 2 7 0\n"                     \
	"cpu1 20 1 8 400 5 0 3 4 0 0\n"                     \
	"intr 12345 0 9 0 0 0\nctxt 77\nbtime 1700000000\n" \
	"processes 4242\nprocs_running 1\nprocs_blocked 0\n"

static void the_sum_is_no_cpu(void **state)
{
	struct cpu_sample s;

	(void)state;
	read_text(TWO, &s);
	assert_int_equal(s.count, 2);
	assert_int_equal(s.total[0], 623); // a guest's time is in user's already
	assert_int_equal(s.busy[0], 18);
	assert_int_equal(s.total[1], 441);
	assert_int_equal(s.busy[1], 36);
}

static void shapes(void **state)
{
	static const struct {
		const char *text;
		uint32_t count;
		uint64_t total, busy; // of the last one
	} x[] = {
		{ "cpu  1 2 3 4 5 6 7 8\n", 0, 0, 0 },
		{ "cpu0 1 2 3 4\n", 1, 10, 6 },	       // of a kernel before iowait
		{ "cpu0 1 2 3 4 5 6 7\n", 1, 28, 19 }, // before steal
		{ "cpu0 1 2 3\n", 0, 0, 0 },	       // cut short
		{ "cpu0 1 2 3 4 5 6 7 8", 1, 36, 27 }, // no end of line
		{ "cpu3 9 0 0 1 0 0 0 0\ncpu7 1 0 0 9 0 0 0 0\n", 2, 10, 1 }, // others are off
		{ "cpux 1 2 3 4\nintr 1 2 3 4 5\nsoftirq 1 2 3 4 5\n", 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++) {
		struct cpu_sample s;

		read_text(x[i].text, &s);
		assert_int_equal(s.count, x[i].count);
		if (s.count == 0)
			continue;
		assert_int_equal(s.total[s.count - 1], x[i].total);
		assert_int_equal(s.busy[s.count - 1], x[i].busy);
	}
}

// A server of 4,096: as many as there is room for; and a line of interrupts that is longer than
// any.
static void many(void **state)
{
	struct cpu_sample s;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	for (int i = 0; i < CPU_MAX + 10; i++)
		fprintf(f, "cpu%d 1 0 0 1 0 0 0 0 0 0\n", i);
	fclose(f);
	read_text(text, &s);
	assert_int_equal(s.count, CPU_MAX);
	free(text);

	f = open_memstream(&text, &len);
	fprintf(f, "cpu0 1 0 0 1 0 0 0 0\nintr 1");
	for (int i = 0; i < 5000; i++)
		fprintf(f, " 0");
	fprintf(f, "\nctxt 5\n");
	fclose(f);
	read_text(text, &s);
	assert_int_equal(s.count, 1);
	free(text);
}

static void between(void **state)
{
	static struct cpu_sample a, b;

	(void)state;
	read_text(TWO, &a);
	read_text("cpu0 60 1 4 650 5 0 1 2 0 0\ncpu1 20 1 8 500 5 0 3 4 0 0\n", &b);
	a.wall_ns = 1000;
	b.wall_ns = 2000;
	a.process_ns = 100;
	b.process_ns = 350;
	struct cpu_usage u = cpu_between(&a, &b);
	assert_true(u.mean == 25 && u.max == 50 && u.process == 25);
	b.count = 1; // one was taken off meanwhile: nothing is known of the box
	u = cpu_between(&a, &b);
	assert_true(u.mean == -1 && u.max == -1 && u.process == 25);
	u = cpu_between(&a, &a);
	assert_true(u.process == -1 && u.mean == -1 && u.max == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sum_is_no_cpu),
		cmocka_unit_test(shapes),
		cmocka_unit_test(many),
		cmocka_unit_test(between),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
