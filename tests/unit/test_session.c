#include "session.h"

#include "testlib.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void round_trip(void **state)
{
	const struct status s = {
		.state = AGENT_RUNNING,
		.error = "",
		.start_ns = 123456789012345,
		.first_tx_ns = 123456789012999,
		.elapsed_s = 1.5,
		.tx_pps = 14880952.25,
		.returned_pps = 14880951,
		.served_pps = -1,
		.loss_pct = 0,
		.rtt_p50_us = NAN,
		.rtt_p99_us = 12.25,
		.busy_pct = 100,
		.layer = 3,
		.layers = 9,
		.silent_hop = IP4_INIT(0xc61200fe),
		.silent_s = 2.5,
	};
	struct status got;
	struct err e = { 0 };
	json_t *v = status_write(&s);

	(void)state;
	assert_non_null(v);
	char *text = json_dumps(v, JSON_COMPACT);
	assert_string_equal(text, "{\"ok\":true,\"state\":\"running\",\"error\":\"\","
				  "\"start_ns\":123456789012345,\"first_tx_ns\":123456789012999,"
				  "\"elapsed_s\":1.5,\"tx_pps\":14880952.25,"
				  "\"returned_pps\":14880951.0,\"served_pps\":null,"
				  "\"loss_pct\":0.0,\"rtt_p50_us\":null,\"rtt_p99_us\":12.25,"
				  "\"busy_pct\":100.0,\"layer\":3,\"layers\":9,"
				  "\"silent_hop\":\"198.18.0.254\",\"silent_s\":2.5}");
	free(text);
	assert_int_equal(status_read(v, &got, &e), 0);
	assert_int_equal(got.state, s.state);
	assert_int_equal(got.start_ns, s.start_ns);
	assert_int_equal(got.first_tx_ns, s.first_tx_ns);
	assert_true(got.elapsed_s == s.elapsed_s && got.tx_pps == s.tx_pps);
	assert_true(got.returned_pps == s.returned_pps && got.loss_pct == 0);
	assert_true(got.served_pps == -1 && got.rtt_p50_us == -1); // no data, not 0
	assert_true(got.rtt_p99_us == s.rtt_p99_us && got.busy_pct == s.busy_pct);
	assert_true(got.layer == 3 && got.layers == 9);
	assert_true(ip_eq(&got.silent_hop, &s.silent_hop) && got.silent_s == s.silent_s);
	json_decref(v);
}

static void error_text_is_made_json(void **state)
{
	struct status s = { .state = AGENT_FAILED }, got;
	struct err e = { 0 };

	(void)state;
	strcpy(s.error, "EAL: \"x\"\n\xff\xfe gone");
	json_t *v = status_write(&s);
	assert_non_null(v);
	assert_int_equal(status_read(v, &got, &e), 0);
	assert_string_equal(got.error, "EAL: \"x\"??? gone");
	json_decref(v);
}

static void refused(void **state)
{
	static const struct {
		const char *path, *value, *msg;
	} t[] = {
		{ "ok", "false", "$.ok: false: expected true" },
		{ "ok", NULL, "$.ok: missing" },
		{ "state", "\"runing\"",
		  "$.state: \"runing\": expected one of \"init\" \"link\" \"ready\" \"armed\" "
		  "\"running\" \"drain\" \"done\" \"failed\"" },
		{ "state", "4",
		  "$.state: 4: expected one of \"init\" \"link\" \"ready\" \"armed\" \"running\" "
		  "\"drain\" \"done\" \"failed\"" },
		{ "start_ns", "-1",
		  "$.start_ns: -1: expected an integer from 0 to 9223372036854775807 or null" },
		{ "tx_pps", "\"5\"",
		  "$.tx_pps: \"5\": expected a number from 0 to 1000000000000 or null" },
		{ "loss_pct", "101", "$.loss_pct: 101: expected a number from 0 to 100 or null" },
		{ "los_pct", "1", "$: unknown key 'los_pct', did you mean 'loss_pct'?" },
		{ "", "[]", "$: an array: expected an object" },
		{ "", "null", "$: null: expected an object" },
	};
	struct status s = { 0 }, got;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err e = { 0 };
		json_t *v = status_write(&s);
		json_edit(&v, t[i].path, t[i].value);
		assert_int_equal(status_read(v, &got, &e), -EINVAL);
		assert_string_equal(e.msg, t[i].msg);
		json_decref(v);
	}
}

static void state_names(void **state)
{
	enum agent_state s;

	(void)state;
	for (unsigned i = 0; i < AGENT_STATES; i++) {
		assert_int_equal(agent_state_parse(agent_state_name[i], &s), 0);
		assert_int_equal(s, i);
	}
	assert_int_equal(agent_state_parse("", &s), -EINVAL);
	assert_int_equal(agent_state_parse("Init", &s), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(error_text_is_made_json),
		cmocka_unit_test(refused),
		cmocka_unit_test(state_names),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
