// A host's answer and every probe on it, and the reader of the agent's ELF file: any bytes are read
// or refused, and what probes say is one line, in words.
#include "agent_elf.h"
#include "exam.h"
#include "facts.h"
#include "fuzz.h"
#include "probes.h"

#include "footprint.h"

#include <stdlib.h>
#include <string.h>

static struct matrix_host host = { .name = "a", .ssh = "a", .device = "eth1" };
static const struct matrix matrix = {
	.file = "fuzz.yaml",
	.transport = TRANSPORT_SSH,
	.host = &host,
	.host_count = 1,
	.ssh = { .sudo = true },
};
static const struct agent_elf agent = {
	.machine = "x86_64", .libs = "libm.so.6 libc.so.6", .glibc = { 2, 34 }, .pmds = "ice af_xdp"
};
static const struct profile profile_table[] = {
	{ .name = "af_xdp",
	  .pmd = "net_af_xdp",
	  .virtual = true,
	  .devargs = "net_af_xdp0,iface={iface}",
	  .bind = BIND_KERNEL,
	  .mtu_by = MTU_BY_KERNEL,
	  .mtu_max = 3520,
	  .capabilities = 1ull << 39,
	  .all_queues = true },
	{ .name = "ice", .pmd = "net_ice", .bind = BIND_VFIO_PCI, .pci_id = { 0x80861592 } },
};

static void probe_all(const struct facts *f, const struct profile *p, enum idle_policy idle)
{
	struct hostcfg cfg = { .port = { .queues = 2, .rxd = 1024, .txd = 1024, .mtu = 1500 },
			       .idle = idle,
			       .hugepages = idle == IDLE_SPIN ? HUGE_YES : HUGE_AUTO,
			       .prefix_len = 24 };
	struct exam x = { .facts = f,
			  .matrix = &matrix,
			  .profile = p,
			  .cfg = &cfg,
			  .agent = &agent,
			  .agent_bytes = 1 << 24,
			  .dir = "/var/tmp/pmx" };

	if (!p->virtual)
		memcpy(cfg.port.pci, "0000:3b:00.0", sizeof("0000:3b:00.0"));
	x.need_bytes = x.need_all_bytes = footprint_bytes(&cfg);
	for (size_t i = 0; i < probe_count; i++) {
		struct finding one = { 0 };

		probe_table[i].run(&x, &one);
		fuzz_require(one.health < HEALTH_COUNT, "a verdict is one of the words");
		fuzz_require((one.health == HEALTH_NONE) == (one.text[0] == '\0'),
			     "whoever finds something says it");
	}
}

static void facts(const char *data, size_t size)
{
	struct facts f;
	struct err e = { 0 };
	int ret = facts_read(data, size, &f, &e);

	if (ret < 0) {
		fuzz_require(e.code == -ret && strchr(e.msg, '\n') == NULL,
			     "a refusal is one line");
		return;
	}
	for (size_t i = 0; i < f.count; i++) {
		fuzz_require(strlen(f.item[i].path) < FACT_PATH_MAX, "a path has its limit");
		fuzz_require(i == 0 || strcmp(f.item[i - 1].path, f.item[i].path) <= 0,
			     "paths are in order");
		fuzz_require(fact(&f, "%s", f.item[i].path) != NULL, "what is there is found");
	}
	for (size_t i = 0; i < sizeof(profile_table) / sizeof(profile_table[0]); i++) {
		probe_all(&f, &profile_table[i], IDLE_SPIN);
		probe_all(&f, &profile_table[i], IDLE_SLEEP);
	}
	facts_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	// mutations seldom keep the end
	static const char end[] = "\n" FACT_END "\0ok\n";
	char *whole = malloc(size + sizeof(end));
	struct agent_elf elf;
	struct err e = { 0 };

	fuzz_require(whole != NULL, "memory");
	memcpy(whole, data, size);
	memcpy(whole + size, end, sizeof(end) - 1);
	facts((const char *)data, size);
	facts(whole, size + sizeof(end) - 1);
	free(whole);
	if (agent_elf_read(data, size, &elf, &e) < 0)
		fuzz_require(e.code != 0, "a refusal has a code");
	return 0;
}
