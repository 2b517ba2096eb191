#include "footprint.h"
#include "prepare.h"

#include "planlib.h"

#include <string.h>

static const char head[] = "pmx: 1\nhosts:\n  a: {addr: 198.18.0.1/24, ";
static const char tail[] = "}\n  b: {addr: 198.18.0.2/24, device: '3b:00.1'}\ntraffic: {rate: 5}\n";

static void items_of(const char *host, const struct prepare_want *w, uint64_t pages, char *buf,
		     size_t size)
{
	struct planned p;
	char text[512];

	snprintf(text, sizeof(text), "%s%s%s", head, host, tail);
	planned_good(&p, text);
	prepare_items(&p.plan.host[0], &p.profile[0], &p.matrix.host[0], w, pages, buf, size);
	planned_free(&p);
}

static void items(void **state)
{
	static const struct {
		const char *host;
		struct prepare_want want;
		const char *items;
	} row[] = {
		{ "device: '3b:00.0'",
		  { 0 },
		  "pages=70:2048:0000:3b:00.0 bind=0000:3b:00.0:vfio-pci" },
		{ "device: '0001:3b:00.0,x=1', driver: ice",
		  { .noiommu = true },
		  "pages=70:2048:0001:3b:00.0 noiommu bind=0001:3b:00.0:vfio-pci" },
		{ "device: '3b:00.0', driver: mlx5", { 0 }, "pages=70:2048:0000:3b:00.0" },
		{ "device: '3b:00.0', driver: mlx5, hugepages: no", { .noiommu = true }, "" },
		{ "device: eth1, driver: af_packet", { 0 }, "quiet=eth1" },
		{ "device: eth1, driver: af_packet, hugepages: yes",
		  { .hugetlbfs = true },
		  "pages=70:2048:eth1 hugetlbfs quiet=eth1" },
		{ "device: eth1, driver: af_xdp", { 0 }, "" },
		{ "driver: 'null', hugepages: yes", { 0 }, "pages=70:2048:-" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(row); i++) {
		char buf[PREPARE_ITEMS_MAX];

		items_of(row[i].host, &row[i].want, 70, buf, sizeof(buf));
		assert_string_equal(buf, row[i].items);
	}
}

// As many as the agent asks for, rounded up to whole pages.
static void pages(void **state)
{
	struct planned p;
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "%sdevice: '3b:00.0', queues: 4%s", head, tail);
	planned_good(&p, text);
	uint64_t need = footprint_bytes(&p.plan.host[0]), n;

	n = prepare_pages(&p.plan.host[0], &p.profile[0]);
	assert_true(n * 2097152 >= need && (n - 1) * 2097152 < need);
	p.plan.host[0].hugepages = HUGE_NO;
	assert_int_equal(prepare_pages(&p.plan.host[0], &p.profile[0]), 0);
	planned_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items),
		cmocka_unit_test(pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
