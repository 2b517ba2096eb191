#include "ssh.h"

#include "testlib.h"

#include <string.h>

static void read_forms(void **state)
{
	static const struct {
		const char *text, *user, *address;
		uint16_t port;
	} good[] = {
		{ "h1", "", "h1", 0 },
		{ "192.0.2.1", "", "192.0.2.1", 0 },
		{ "192.0.2.1:2222", "", "192.0.2.1", 2222 },
		{ "root@h1", "root", "h1", 0 },
		{ "me@corp@h1:22", "me@corp", "h1", 22 },
		{ "2001:db8::1", "", "2001:db8::1", 0 },
		{ "ops@[2001:db8::1]:2200", "ops", "2001:db8::1", 2200 },
		{ "[2001:db8::1]", "", "2001:db8::1", 0 },
	};
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct ssh_target t;

		if (ssh_target_read(good[i].text, &t, &e) < 0)
			fail_msg("%s", e.msg);
		assert_string_equal(t.user, good[i].user);
		assert_string_equal(t.address, good[i].address);
		assert_int_equal(t.port, good[i].port);
	}
}

static void refuse_forms(void **state)
{
	static const char *const bad[] = {
		"",
		"@h1",
		"root@",
		"h1:",
		"h1:0",
		"h1:65536",
		"h1:x",
		":22",
		"[2001:db8::1",
		"[2001:db8::1]22",
		"h1: 22",
		"[]:1",
		"-oProxyCommand=x",
		"u@-x",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct ssh_target t;
		struct err e = { 0 };

		if (ssh_target_read(bad[i], &t, &e) == 0)
			fail_msg("'%s' was taken for user '%s' address '%s' port %u", bad[i],
				 t.user, t.address, t.port);
		assert_non_null(strstr(e.msg, "expected"));
	}
}

static void the_matrix_fills_in(void **state)
{
	struct matrix_host host = { .name = "h1" };
	struct matrix m = { .host = &host, .host_count = 1, .ssh = { .port = 2022 } };
	struct ssh_target t;

	(void)state;
	strcpy(m.ssh.user, "ops");
	assert_int_equal(ssh_target_of(&m, 0, &t, NULL), 0);
	assert_string_equal(t.address, "h1");
	assert_string_equal(t.user, "ops");
	assert_int_equal(t.port, 2022);
	strcpy(host.ssh, "root@192.0.2.9:22");
	assert_int_equal(ssh_target_of(&m, 0, &t, NULL), 0);
	assert_string_equal(t.address, "192.0.2.9");
	assert_string_equal(t.user, "root");
	assert_int_equal(t.port, 22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_forms),
		cmocka_unit_test(refuse_forms),
		cmocka_unit_test(the_matrix_fills_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
