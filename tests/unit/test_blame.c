#include "blame.h"

#include "testlib.h"

#include <string.h>

#define HOSTS 5

// Hosts a..e have 198.18.0.1 to .5.
static void blamed_are(const char *want, const char *const waits[HOSTS])
{
	struct matrix_host host[HOSTS] = { 0 };
	const struct matrix m = { .host = host, .host_count = HOSTS };
	bool blamed[HOSTS];
	char got[HOSTS + 1] = "";

	for (uint32_t i = 0; i < HOSTS; i++)
		host[i].addr = IP4(0xc6120001 + i);
	blame_find(&m, waits, blamed);
	for (size_t i = 0, n = 0; i < HOSTS; i++)
		if (blamed[i])
			got[n++] = (char)('a' + i);
	assert_string_equal(got, want);
}

static void one_is_cut_off(void **state)
{
	(void)state;
	blamed_are("c", (const char *const[]){
				"no answer to ARP from 198.18.0.3",
				"no answer to ARP from 198.18.0.3",
				"no answer to ARP from 198.18.0.1, 198.18.0.2, 198.18.0.4",
				"no answer to ARP from 198.18.0.3.",
				NULL,
			});
}

static void link_is_down(void **state)
{
	(void)state;
	blamed_are("b", (const char *const[]){
				"no answer to ARP from 198.18.0.2",
				"the link of net_af_packet is down",
				"no answer to ARP from 198.18.0.2",
				NULL,
				NULL,
			});
}

static void gateway_is_silent(void **state)
{
	(void)state;
	blamed_are("a", (const char *const[]){ "no answer to ARP from 198.18.0.254", NULL, NULL,
					       NULL, NULL });
	blamed_are("ab", (const char *const[]){ "", "init", NULL, NULL, NULL });
}

// Deaf but not dumb: it is ready, nobody hears it.
static void ready_but_missed(void **state)
{
	(void)state;
	blamed_are("e", (const char *const[]){
				"no answer to ARP from 198.18.0.5",
				"no answer to ARP from 198.18.0.5",
				NULL,
				NULL,
				NULL,
			});
}

// A cut through the middle: one side goes, the other can be measured.
static void two_islands(void **state)
{
	(void)state;
	blamed_are("ab", (const char *const[]){
				 "no answer to ARP from 198.18.0.3, 198.18.0.4, 198.18.0.5",
				 "no answer to ARP from 198.18.0.3, 198.18.0.4, 198.18.0.5",
				 "no answer to ARP from 198.18.0.1, 198.18.0.2",
				 "no answer to ARP from 198.18.0.1, 198.18.0.2",
				 "no answer to ARP from 198.18.0.1, 198.18.0.2",
			 });
}

static void all_is_well(void **state)
{
	(void)state;
	blamed_are("", (const char *const[]){ NULL, NULL, NULL, NULL, NULL });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_is_cut_off),    cmocka_unit_test(link_is_down),
		cmocka_unit_test(gateway_is_silent), cmocka_unit_test(ready_but_missed),
		cmocka_unit_test(two_islands),	     cmocka_unit_test(all_is_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
