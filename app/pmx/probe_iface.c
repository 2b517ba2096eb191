#include "probes.h"

#include "parse.h"

#include <stdio.h>
#include <string.h>

// What `ethtool` said of the interface; NULL when there is no ethtool, or none of what was asked.
static const char *ethtool(const struct exam *x, const char *what, bool *refused)
{
	uint64_t status;

	*refused = false;
	if (!fact_u64(x->facts, &status, "cmd/%s.status", what) || status > 100)
		return NULL;
	*refused = status != 0;
	return fact(x->facts, "cmd/%s", what);
}

static bool is_set(const char *text, const char *key)
{
	char word[64];

	return fact_line(text, key, word, sizeof(word)) != NULL && strncmp(word, "on", 2) == 0;
}

void probe_pause(const struct exam *x, struct finding *f)
{
	bool refused;
	const char *text = ethtool(x, "pause", &refused), *name = exam_iface(x);

	if (!exam_has_iface(x))
		return;
	if (text == NULL) {
		found(f, HEALTH_UNKNOWN, "the pause settings are not known (ethtool -a)");
	} else if (!refused && (is_set(text, "RX") || is_set(text, "TX"))) {
		found(f, HEALTH_WARNING,
		      "pause frames are on (RX %s, TX %s): they slow senders, and nothing counts "
		      "as lost",
		      is_set(text, "RX") ? "on" : "off", is_set(text, "TX") ? "on" : "off");
		mend(f, "ethtool -A %s autoneg off rx off tx off", name);
	} else {
		found(f, HEALTH_OK, refused ? "%s has no pause frames" : "%s: pause frames are off",
		      name);
	}
}

void probe_firmware(const struct exam *x, struct finding *f)
{
	bool refused;
	const char *text = ethtool(x, "info", &refused);
	char version[128], driver[64];

	if (!exam_has_iface(x) || !(exam_is_pci(x) || exam_pci(x)[0] != '\0'))
		return;
	if (text == NULL || refused ||
	    fact_line(text, "firmware-version", version, sizeof(version)) == NULL ||
	    version[0] == '\0' || fact_line(text, "driver", driver, sizeof(driver)) == NULL)
		found(f, HEALTH_UNKNOWN, "the firmware's version is not known (ethtool -i)");
	else if (strncmp(version, "N/A", 3) == 0)
		found(f, HEALTH_UNKNOWN, "%s does not tell its firmware's version", driver);
	else
		found(f, HEALTH_OK, "%s, firmware %s", driver, version);
}

// Receive offloads that make one frame of several.
static const struct {
	const char *feature, *word; // as -k shows it and -K takes it
	enum health health;
} offload_table[] = {
	{ "generic-receive-offload", "gro", HEALTH_WARNING },
	{ "large-receive-offload", "lro", HEALTH_WARNING },
	{ "rx-gro-hw", "rx-gro-hw", HEALTH_WARNING },
	// these take UDP of any receiver
	{ "rx-gro-list", "rx-gro-list", HEALTH_BLOCKER },
	{ "rx-udp-gro-forwarding", "rx-udp-gro-forwarding", HEALTH_BLOCKER },
};

void probe_offloads(const struct exam *x, struct finding *f)
{
	bool refused;
	const char *text = ethtool(x, "offload", &refused);
	enum health worst = HEALTH_OK;
	char on[160] = "", off[160] = "";

	if (!exam_on_iface(x))
		return;
	if (text == NULL || refused) {
		found(f, HEALTH_UNKNOWN, "the receive offloads are not known (ethtool -k)");
		return;
	}
	for (size_t i = 0; i < sizeof(offload_table) / sizeof(offload_table[0]); i++) {
		size_t n = strlen(on), m = strlen(off);

		if (!is_set(text, offload_table[i].feature))
			continue;
		snprintf(on + n, sizeof(on) - n, " %s", offload_table[i].feature);
		snprintf(off + m, sizeof(off) - m, " %s off", offload_table[i].word);
		if (offload_table[i].health > worst)
			worst = offload_table[i].health;
	}
	if (worst == HEALTH_OK) {
		found(f, HEALTH_OK, "no receive offload joins frames");
		return;
	}
	found(f, worst, "receive offloads join frames of a stream:%s", on);
	mend(f, "ethtool -K %s%s", exam_iface(x), off);
}

// The program that libxdp puts on for AF_XDP sockets, anybody's: those of the next agent would use
// it, too. Any other stands in the way of the sockets, and before those of af_packet.
#define SOCKET_PROGRAM "xsk_def_prog"

void probe_xdp(const struct exam *x, struct finding *f)
{
	const char *text = fact(x->facts, "cmd/link"), *name = exam_iface(x);
	const char *program = text != NULL ? strstr(text, "prog/xdp") : NULL;
	char what[32] = "without a name";
	unsigned id = 0;
	uint64_t noted; // by the agent of this directory

	if (!exam_on_iface(x))
		return;
	if (text == NULL || strstr(text, name) == NULL || name[0] == '\0') {
		found(f, HEALTH_UNKNOWN, "whether an XDP program is attached is not known");
		return;
	}
	if (program == NULL) {
		found(f, HEALTH_OK, "no XDP program is attached to %s", name);
		return;
	}
	sscanf(program, "prog/xdp id %u name %31s", &id, what);
	if (fact_u64(x->facts, &noted, "cmd/xdp") && noted == id) {
		found(f, HEALTH_NOTE,
		      "%s has the XDP program of an agent of this directory (id %u), which takes "
		      "the "
		      "frames of the host: the next run takes it off if that agent is gone",
		      name, id);
		mend(f, "pmx clean");
		return;
	}
	if (!x->profile->all_queues)
		found(f, HEALTH_WARNING,
		      "an XDP program (%s, id %u) is attached to %s: it has the frames first", what,
		      id, name);
	else if (strcmp(what, SOCKET_PROGRAM) == 0)
		found(f, HEALTH_WARNING,
		      "%s has the XDP program of AF_XDP sockets (id %u), and no agent of this "
		      "directory put it there: the next run uses it, too",
		      name, id);
	else
		found(f, HEALTH_BLOCKER,
		      "an XDP program (%s, id %u) is attached to %s: there is no room for the "
		      "agent's",
		      what, id, name);
	mend(f, "ip link set dev %s xdp off", name);
}

// Whether the interface has receive and transmit queues apart, as a veth: net_af_xdp counts
// combined ones only, and takes one where there are none.
static bool is_apart(const struct exam *x)
{
	bool refused;
	const char *text = ethtool(x, "channels", &refused);
	char word[32];

	return text != NULL && !refused &&
	       fact_line(text, "Combined", word, sizeof(word)) != NULL && // of the maximums
	       (strcmp(word, "n/a") == 0 || strcmp(word, "0") == 0);
}

static unsigned count_queues(const struct exam *x)
{
	char pattern[FACT_PATH_MAX];
	size_t at = 0;
	unsigned n = 0;

	snprintf(pattern, sizeof(pattern), "sys/class/net/%s/queues/rx-*", exam_iface(x));
	while (fact_next(x->facts, pattern, &at) != NULL)
		n++;
	return n;
}

void probe_queues(const struct exam *x, struct finding *f)
{
	const char *name = exam_iface(x);
	unsigned want = x->cfg->port.queues, have = count_queues(x);

	if (!x->profile->all_queues || !exam_on_iface(x))
		return;
	if (name[0] == '\0' || have == 0) {
		found(f, HEALTH_UNKNOWN, "how many queues the interface has is not known");
	} else if (is_apart(x) && want > 1) {
		found(f, HEALTH_BLOCKER, "%s has no combined queues: %s takes one of them", name,
		      x->profile->pmd);
		mend(f, "queues: 1 in the matrix, and ethtool -L %s rx 1 tx 1", name);
	} else if (have > want) {
		found(f, HEALTH_BLOCKER,
		      "%s has %u receive queues, and %u %s taken: frames of the others are lost, "
		      "and nothing counts them",
		      name, have, want, want == 1 ? "is" : "are");
		if (is_apart(x))
			mend(f, "ethtool -L %s rx 1 tx 1", name);
		else
			mend(f, "ethtool -L %s combined %u; or queues: %u in the matrix", name,
			     want, have);
	} else if (have < want) {
		found(f, HEALTH_BLOCKER, "%s has %u receive queue%s, %u are asked", name, have,
		      have == 1 ? "" : "s", want);
		mend(f, "ethtool -L %s combined %u; or queues: %u in the matrix", name, want, have);
	} else {
		found(f, HEALTH_OK, "%s has %u receive queue%s, and all are taken", name, have,
		      have == 1 ? "" : "s");
	}
}
