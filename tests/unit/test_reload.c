// What a run that is under way can become, by the config of its agents and the plan of a matrix.
#include "reload.h"

#include "cmd.h"

#include "planlib.h"

#define HOSTS                                                           \
	"pmx: 1\n"                                                      \
	"hosts:\n"                                                      \
	"  a: {addr: 198.18.0.1/24, driver: af_packet, device: eth1}\n" \
	"  b: {addr: 198.18.0.2/24, driver: af_packet, device: eth1}\n" \
	"  c: {addr: 198.18.0.3/24, driver: af_packet, device: eth1}\n"

// Of three agents with a plan of one text, to a plan of another.
static int decide(const char *text, const char *edited, struct reload_host host[3])
{
	struct planned have, want;
	struct reload r = { .host = host, .count = 3 };
	struct launch l = { 0 };
	struct fleet_host hosts[3] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };
	struct fleet f = { .host = hosts, .count = 3 };

	planned_good(&have, text);
	planned_good(&want, edited);
	for (size_t i = 0; i < 3; i++)
		host[i] = (struct reload_host){ .has_config = true,
						.runs = true,
						.config = have.plan.host[i] };
	r.like = &host[0].config;
	f.matrix = &want.matrix;
	l.plan = want.plan;
	l.profile = want.profile;
	int code = reload_decide(&r, &f, &l);
	planned_free(&have);
	planned_free(&want);
	return code;
}

static void a_rate_restarts_who_asks(void **state)
{
	struct reload_host host[3];
	(void)state;
	assert_int_equal(
		decide(HOSTS "traffic: {pattern: cells, cells: {a: {b: 100}, b: {c: 100}}}\n",
		       HOSTS "traffic: {pattern: cells, cells: {a: {b: 100}, b: {c: 200}}}\n",
		       host),
		EXIT_GOOD);
	assert_int_equal(host[0].part, PART_GOES_ON);
	assert_int_equal(host[1].part, PART_RESTARTS);
	assert_int_equal(host[2].part, PART_GOES_ON);
}

// Nothing is begun whose results could not be added up at the end.
static void what_cannot_be_added_up_is_refused(void **state)
{
	static const char *const traffic[] = {
		"traffic: {rate: 100}\n",
		"traffic: {rate: 100, peers: 1, dwell: 10ms}\n",
		"traffic: {rate: 100, peers: 1, dwell: 20ms}\n",
	};
	struct reload_host host[3];
	(void)state;
	for (size_t i = 0; i < COUNT_OF(traffic); i++)
		for (size_t k = 0; k < COUNT_OF(traffic); k++) {
			char have[512], want[512];
			snprintf(have, sizeof(have), HOSTS "%s", traffic[i]);
			snprintf(want, sizeof(want), HOSTS "%s", traffic[k]);
			int code = decide(have, want, host);
			if (code != (i == k ? EXIT_GOOD : EXIT_USAGE))
				fail_msg("%s to %s: %d", traffic[i], traffic[k], code);
		}
}

// Counters by size tell what was sent, whatever comes and goes.
static void sizes_may_change(void **state)
{
	static const char *const traffic[] = {
		"traffic: {rate: 100}\n",
		"traffic: {rate: 100, request: 64}\n",
		"traffic: {rate: 100, request: imix}\n",
		"traffic: {rate: 100, request: 64-128}\n",
		"traffic: {rate: 100, reply: 64-128}\n",
	};
	struct reload_host host[3];
	(void)state;
	for (size_t i = 0; i < COUNT_OF(traffic); i++)
		for (size_t k = 0; k < COUNT_OF(traffic); k++) {
			char have[512], want[512];
			snprintf(have, sizeof(have), HOSTS "%s", traffic[i]);
			snprintf(want, sizeof(want), HOSTS "%s", traffic[k]);
			assert_int_equal(decide(have, want, host), EXIT_GOOD);
			for (size_t h = 0; h < 3; h++)
				assert_int_equal(host[h].part,
						 i == k ? PART_GOES_ON : PART_RESTARTS);
		}
}

// Their bytes on the wire would be those of the last agent's, for all packets.
static void frames_may_not_change(void **state)
{
	static const struct {
		const char *have, *want;
		int bytes, code;
	} cases[] = {
		{ "vlan: 5", "vlan: 6", 100, EXIT_GOOD },
		{ "vlan: 5", "vlan: [5, 6]", 100, EXIT_USAGE },
		{ "queues: 1", "vlan: 5", 100, EXIT_USAGE },
		{ "mtu: 1500", "mtu: 1400", 100, EXIT_GOOD },
		{ "mtu: 1500", "mtu: 1400", 3000, EXIT_USAGE },
	};
	struct reload_host host[3];
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char have[512], want[512];
		const char *form = HOSTS "defaults: {%s}\ntraffic: {rate: 100, request: %d}\n";
		snprintf(have, sizeof(have), form, cases[i].have, cases[i].bytes);
		snprintf(want, sizeof(want), form, cases[i].want, cases[i].bytes);
		int code = decide(have, want, host);
		if (code != cases[i].code)
			fail_msg("%s to %s: %d", cases[i].have, cases[i].want, code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_restarts_who_asks),
		cmocka_unit_test(what_cannot_be_added_up_is_refused),
		cmocka_unit_test(sizes_may_change),
		cmocka_unit_test(frames_may_not_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
