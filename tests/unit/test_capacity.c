#include "capacity.h"
#include "capacity_show.h"
#include "rates.h"

#include "planlib.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#define RACK                                            \
	"pmx: 1\n"                                      \
	"defaults: {device: eth1, driver: af_packet}\n" \
	"hosts:\n"                                      \
	"  a: {addr: 198.18.0.1/24}\n"                  \
	"  b: {addr: 198.18.0.2/24}\n"                  \
	"  c: {addr: 198.18.0.3/24}\n"

static void capacity_of(struct planned *p, const char *traffic, double gbps, double mpps,
			struct capacity *c)
{
	char text[1024];
	struct err e = { 0 };

	snprintf(text, sizeof(text), RACK "traffic: %s\n", traffic);
	planned_good(p, text);
	assert_int_equal(capacity_build(&p->plan, p->profile, gbps, mpps, c, &e), 0);
}

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fabs(b)))
		fail_msg("%.12g is not %.12g", a, b);
}

// By hand: 64-byte frames are 84 bytes of L1, 558-byte frames 578.
static void both_ways(void **state)
{
	struct planned p;
	struct capacity c;

	(void)state;
	capacity_of(&p, "{reply: 512, pattern: cells, cells: {a: {b: 100k, c: 50k}, c: {a: 10k}}}",
		    1, 0, &c);
	const struct capacity_host *a = &c.host[0], *b = &c.host[1];
	assert_int_equal(a->flows_out, 2);
	assert_int_equal(a->flows_in, 1);
	near(a->requests_pps, 150e3);
	near(a->owed_pps, 10e3);
	near(a->tx_pps, 160e3);
	near(a->rx_pps, 160e3);
	near(a->tx_l1_bps, 150e3 * 84 * 8 + 10e3 * 578 * 8);
	near(a->rx_l1_bps, 10e3 * 84 * 8 + 150e3 * 578 * 8);
	near(b->tx_l1_bps, 100e3 * 578 * 8);
	near(b->rx_l1_bps, 100e3 * 84 * 8);
	near(a->load_pct, 100 * a->rx_l1_bps / 1e9);
	assert_string_equal(a->limit, "rx Gb/s");
	assert_int_equal(a->fit, FIT_OK);
	assert_int_equal(c.worst, 0);
	capacity_free(&c);
	planned_free(&p);
}

// 64/64 at 100G tops out at 74.4 M requests/s a host: the same link carries the replies.
static void line_rate(void **state)
{
	struct planned p;
	struct capacity c;

	(void)state;
	capacity_of(&p, "{rate: 37.2023809M}", 100, 0, &c);
	assert_int_equal(c.over, 0);
	assert_true(c.host[0].load_pct > 99.9999);
	capacity_free(&c);
	planned_free(&p);
	capacity_of(&p, "{rate: 37.203M}", 100, 0, &c);
	assert_int_equal(c.over, 3);
	assert_int_equal(c.host[2].fit, FIT_OVER);
	capacity_free(&c);
	planned_free(&p);
	capacity_of(&p, "{rate: 250k}", 0, 1, &c); // 1.0 Mpps of 1 Mpps is not over
	assert_int_equal(c.over, 0);
	near(c.host[1].load_pct, 100);
	near(c.scale, 1);
	assert_string_equal(c.host[1].limit, "tx pps");
	capacity_free(&c);
	planned_free(&p);
}

static void not_comparable(void **state)
{
	struct planned p;
	struct capacity c;

	(void)state;
	capacity_of(&p, "{pattern: cells, cells: {a: {b: max, c: 10k}}}", 1, 1, &c);
	assert_int_equal(c.host[0].fit, FIT_UNPACED);
	assert_int_equal(c.host[1].fit, FIT_UNPACED);
	assert_int_equal(c.host[2].fit, FIT_OK);
	assert_true(isnan(c.host[0].tx_pps) && isnan(c.host[1].tx_l1_bps));
	assert_int_equal(c.unpaced, 2);
	capacity_free(&c);
	planned_free(&p);
	capacity_of(&p, "{rate: 10k}", 0, 0, &c); // af_packet has no rating
	assert_int_equal(c.unrated, 3);
	assert_true(isnan(c.scale) && isnan(c.host[0].load_pct));
	assert_int_equal(c.worst, SIZE_MAX);
	capacity_free(&c);
	planned_free(&p);
}

static void profile_rating(void **state)
{
	struct planned p;
	struct capacity c;
	struct err e = { 0 };

	(void)state;
	planned_good(&p, RACK "traffic: {rate: 10k}\n");
	p.profile[1].rated_mpps = 0.03; // it sends and receives 40 kpps
	p.profile[2].speed_gbps = 10;
	assert_int_equal(capacity_build(&p.plan, p.profile, 0, 0, &c, &e), 0);
	assert_int_equal(c.host[0].fit, FIT_UNRATED);
	assert_int_equal(c.host[1].fit, FIT_OVER);
	assert_int_equal(c.host[2].fit, FIT_OK);
	near(c.scale, 0.75);
	capacity_free(&c);
	assert_int_equal(capacity_build(&p.plan, p.profile, 0, 1, &c, &e), 0); // the option wins
	assert_int_equal(c.over, 0);
	capacity_free(&c);
	planned_free(&p);
}

static json_t *json_of(const struct planned *p, const struct capacity *c)
{
	char *text;
	size_t len;
	json_error_t je;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	capacity_json(f, &p->plan, c);
	fclose(f);
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &je);
	if (json == NULL)
		fail_msg("%s\n%s", je.text, text);
	free(text);
	return json;
}

#define FOUR RACK "  d: {addr: 198.18.0.4/24}\n"

// What every shape asks of four hosts at 100k a pair and 1 Mpps a NIC: flows out and in of each,
// and what is said.
static void shapes(void **state)
{
	static const struct {
		const char *traffic;
		unsigned out[4], in[4];
		double load[4];
		const char *said;
	} t[] = {
		{ "rate: 200k",
		  { 3, 3, 3, 3 },
		  { 3, 3, 3, 3 },
		  { 120, 120, 120, 120 },
		  "over capacity on 4 of 4 hosts; the worst is a with 120.0 %\n"
		  "FIX         rate: 166.6k fits everywhere (now 200k)" },
		{ "rate: 200k, peers: 2",
		  { 2, 2, 2, 2 },
		  { 2, 2, 2, 2 },
		  { 80, 80, 80, 80 },
		  "every NIC with a rating carries it; the most loaded is a with 80.0 %" },
		{ "rate: 600k, pattern: pairs",
		  { 1, 1, 1, 1 },
		  { 1, 1, 1, 1 },
		  { 120, 120, 120, 120 },
		  "FIX         rate: 500k fits everywhere (now 600k)" },
		{ "rate: 400k, pattern: one-to-many, hub: b",
		  { 0, 3, 0, 0 },
		  { 1, 0, 1, 1 },
		  { 40, 120, 40, 40 },
		  "over capacity on 1 of 4 hosts; the worst is b with 120.0 %\n"
		  "FIX         rate: 333.3k fits everywhere (now 400k)" },
		{ "rate: 200k, pattern: many-to-one, hub: [a, b]",
		  { 0, 0, 2, 2 },
		  { 2, 2, 0, 0 },
		  { 40, 40, 40, 40 },
		  "every NIC with a rating carries it" },
		{ "rate: 300k, pattern: halves",
		  { 2, 2, 2, 2 },
		  { 2, 2, 2, 2 },
		  { 120, 120, 120, 120 },
		  "rate: 250k fits everywhere (now 300k)" },
		{ "pattern: cells, cells: {a: {b: 1.1M}}",
		  { 1, 0, 0, 0 },
		  { 0, 1, 0, 0 },
		  { 110, 110, 0, 0 },
		  "over capacity on 2 of 4 hosts; the worst is a with 110.0 %\n"
		  "FIX         multiply every rate by 0.909" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct planned p;
		struct capacity c;
		struct err e = { 0 };
		char text[1024], *shown;
		size_t len;

		snprintf(text, sizeof(text), FOUR "traffic: {%s}\n", t[i].traffic);
		planned_good(&p, text);
		assert_int_equal(capacity_build(&p.plan, p.profile, 0, 1, &c, &e), 0);
		for (size_t h = 0; h < 4; h++) {
			assert_int_equal(c.host[h].flows_out, t[i].out[h]);
			assert_int_equal(c.host[h].flows_in, t[i].in[h]);
			near(c.host[h].load_pct, t[i].load[h]);
			assert_int_equal(c.host[h].fit, t[i].load[h] > 100 ? FIT_OVER : FIT_OK);
		}
		FILE *f = open_memstream(&shown, &len);
		assert_non_null(f);
		capacity_text(f, &p.plan, &c, false);
		fclose(f);
		if (strstr(shown, t[i].said) == NULL)
			fail_msg("'%s' is not in:\n%s", t[i].said, shown);
		free(shown);
		capacity_free(&c);
		planned_free(&p);
	}
}

// Of a rotation, the worst layer of each host and not the sum.
static void rotation(void **state)
{
	struct planned p;
	struct capacity c;
	struct err e = { 0 };

	(void)state;
	planned_good(&p, FOUR "traffic: {rate: 100k, reply: 512, peers: 2, dwell: 1s}\n");
	assert_int_equal(capacity_build(&p.plan, p.profile, 1, 0, &c, &e), 0);
	near(c.requests_pps, 800e3);
	for (size_t h = 0; h < 4; h++) {
		assert_int_equal(c.host[h].layer, 0);
		assert_int_equal(c.host[h].flows_out, 2);
		assert_int_equal(c.host[h].flows_in, 2);
		near(c.host[h].tx_pps, 400e3);
		near(c.host[h].tx_l1_bps, 200e3 * (84 + 578) * 8);
	}
	capacity_free(&c);
	planned_free(&p);

	// a pair of the other layer that asks for more shows both its hosts in that
	planned_good(&p, FOUR "traffic: {rate: 100k, peers: 2, seed: 42, dwell: 1s,\n"
			      "  cells: {b: {a: 1M}}}\n");
	assert_int_equal(capacity_build(&p.plan, p.profile, 0, 1, &c, &e), 0);
	assert_int_equal(c.host[0].layer, 1); // of b to a, by the order of the seed
	assert_int_equal(c.host[1].layer, 1);
	assert_int_equal(c.host[2].layer, 0);
	near(c.host[0].load_pct, 110);
	assert_int_equal(c.host[0].flows_out, 1);
	assert_int_equal(c.over, 2);
	near(c.requests_pps, 1.3e6);
	json_t *json = json_of(&p, &c);
	assert_int_equal(json_integer_value(json_object_get(json, "layers")), 2);
	near(json_number_value(json_object_get(json, "cycle_s")), 2);
	json_decref(json);
	capacity_free(&c);
	planned_free(&p);
}

// Lines that were broken for the width, whole again.
static void unwrap(char *text)
{
	static const char broken[] = "\n            ";
	const size_t cut = sizeof(broken) - 2;

	for (char *at = text; (at = strstr(at, broken)) != NULL;) {
		memmove(at, at + cut, strlen(at + cut) + 1);
		*at = ' ';
	}
}

// Beyond one cycle or within it.
static void cycles(void **state)
{
	static const struct {
		const char *duration, *said;
	} t[] = {
		{ "2s", NULL },
		{ "1s", "has 1 of them: a whole cycle takes --for 2s" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct planned p;
		struct capacity c;
		struct err e = { 0 };
		char text[1024], *shown;
		size_t len;

		snprintf(text, sizeof(text),
			 FOUR "traffic: {rate: 1k, peers: 2, dwell: 1s}\n"
			      "timing: {duration: %s}\n",
			 t[i].duration);
		planned_good(&p, text);
		assert_int_equal(capacity_build(&p.plan, p.profile, 0, 1, &c, &e), 0);
		FILE *f = open_memstream(&shown, &len);
		assert_non_null(f);
		capacity_text(f, &p.plan, &c, false);
		fclose(f);
		assert_non_null(
			strstr(shown, "ROTATION    2 layers of 1.00 s each, a cycle of 2.00 s"));
		unwrap(shown);
		if (t[i].said != NULL)
			assert_non_null(strstr(shown, t[i].said));
		else
			assert_null(strstr(shown, "a whole cycle"));
		free(shown);
		capacity_free(&c);
		planned_free(&p);
	}
}

static void shown(void **state)
{
	struct planned p;
	struct capacity c;
	char *text;
	size_t len;

	(void)state;
	capacity_of(&p, "{rate: 100k}", 0, 0.1, &c);
	FILE *f = open_memstream(&text, &len);
	assert_non_null(f);
	capacity_text(f, &p.plan, &c, false);
	fclose(f);
	assert_non_null(strstr(text, "over capacity on 3 of 3 hosts; the worst is a with 400.0 %"));
	assert_non_null(strstr(text, "rate: 25k fits everywhere (now 100k)"));
	json_t *json = json_of(&p, &c), *host = json_array_get(json_object_get(json, "hosts"), 2);
	assert_string_equal(json_string_value(json_object_get(host, "fit")), "OVER");
	near(json_number_value(json_object_get(host, "load_pct")), 400);
	near(json_number_value(json_object_get(host, "tx_pps")), 400e3);
	assert_true(json_is_null(json_object_get(host, "rated_gbps")));
	near(json_number_value(json_object_get(json, "rates_fit_times")), 0.25);
	json_decref(json);
	free(text);
	capacity_free(&c);
	planned_free(&p);

	capacity_of(&p, "{rate: max}", 0, 0.1, &c);
	json = json_of(&p, &c);
	host = json_array_get(json_object_get(json, "hosts"), 0);
	assert_true(json_is_null(json_object_get(host, "tx_pps")));
	assert_true(json_is_null(json_object_get(json, "requests_pps")));
	assert_true(json_is_null(json_object_get(json, "fix")));
	json_decref(json);
	capacity_free(&c);
	planned_free(&p);
}

static void rate_strings(void **state)
{
	static const struct {
		double pps;
		const char *text;
	} t[] = {
		{ 125000, "125k" },	    { 92592.59, "92.59k" },
		{ 0.5156, "0.5156" },	    { 1, "1" },
		{ 999.99, "999.9" },	    { 1000, "1k" },
		{ 2.5e6, "2.5M" },	    { 0, "0" },
		{ 14880952, "14.88M" },	    { 1e10, "10G" },
		{ 0.00123456, "0.001234" },
	};
	char buf[RATE_STR_MAX];

	(void)state;
	assert_string_equal(rate_unit_str(5, "pps", buf, sizeof(buf)), "5 pps");
	assert_string_equal(rate_unit_str(5000, "pps", buf, sizeof(buf)), "5.00 kpps");
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct rate r;

		assert_string_equal(rate_str(t[i].pps, buf, sizeof(buf)), t[i].text);
		assert_int_equal(parse_rate(buf, &r, NULL), 0);
		assert_true(r.pps <= t[i].pps);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways),	  cmocka_unit_test(line_rate),
		cmocka_unit_test(not_comparable), cmocka_unit_test(profile_rating),
		cmocka_unit_test(shown),	  cmocka_unit_test(shapes),
		cmocka_unit_test(rotation),	  cmocka_unit_test(cycles),
		cmocka_unit_test(rate_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
