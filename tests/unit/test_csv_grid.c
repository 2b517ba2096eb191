#include "csv_grid.h"

#include "planlib.h"

#include <errno.h>
#include <stdio.h>

// "18/512/5300 a b c: ab:1000 ac:max": sizes, port, hosts and flows.
static void grid_is(const char *text, const char *want)
{
	struct csv_grid g;
	struct err e = { 0 };
	char got[512];
	size_t used;

	if (csv_grid_parse("G", text, strlen(text), &g, &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	used = (size_t)snprintf(got, sizeof(got), "%u/%u/%u", g.req_bytes, g.rep_bytes, g.port);
	for (size_t i = 0; i < g.count; i++)
		used += (size_t)snprintf(got + used, sizeof(got) - used, " %s", g.host[i].name);
	used += (size_t)snprintf(got + used, sizeof(got) - used, ":");
	for (size_t i = 0; i < g.pair_count; i++) {
		const struct pair *p = &g.pair[i];

		used += (size_t)snprintf(got + used, sizeof(got) - used,
					 " %s%s:", g.host[p->src].name, g.host[p->dst].name);
		used += (size_t)snprintf(got + used, sizeof(got) - used,
					 p->rate.max ? "max" : "%.9g", p->rate.pps);
	}
	if (strcmp(got, want) != 0)
		fail_msg("%s\n%s\nexpected:\n%s", text, got, want);
	csv_grid_free(&g);
}

static void read(void **state)
{
	(void)state;
	grid_is("# tx_size=64 rx_size=512 port=5300\n"
		"src\\dst,a,b,c\n"
		"a,,1000,max\n"
		"b,1000,,0\n"
		"c,2.5k,1,\n",
		"64/512/5300 a b c: ab:1000 ac:max ba:1000 ca:2500 cb:1");
	grid_is("src\\dst,a,b\na,,5\n", "0/0/0 a b: ab:5");
	// rows in any order, some of them missing, short ones, and a diagonal of anything
	grid_is("x,a,b,c\nc,7\na,-,,8\n", "0/0/0 a b c: ac:8 ca:7");
	// as spreadsheets write it
	grid_is("\xef\xbb\xbf\"src\\dst\",\"a\",\"b\",\r\n\"a\",\"\",\"5\" ,,\r\n,,,\r\n\r\n",
		"0/0/0 a b: ab:5");
	grid_is("# tx_size=64,rx_size=18,,\n# made by hand on 5.5.\n#\n# a = b\n"
		" src , a , b \n a ,\t0, 5\n#,=\n",
		"64/18/0 a b: ab:5");
	grid_is("#port=1\nx,10.0.0.1,10.0.0.2\n10.0.0.2,0.5,",
		"0/0/1 10.0.0.1 10.0.0.2: 10.0.0.210.0.0.1:0.5");
}

static void refused(void **state)
{
	static const struct {
		const char *text, *msg;
	} t[] = {
		{ "", "G:1:1: no grid: expected a first line of names, as 'src\\dst,a,b'" },
		{ "# only\n", "G:1:1: no grid: expected a first line of names, as 'src\\dst,a,b'" },
		{ "x,a,b\n",
		  "G:1:1: every cell is empty: expected a rate above 0 for one pair or more" },
		{ "x,a,b\na,5,0\n",
		  "G:1:1: every cell is empty: expected a rate above 0 for one pair or more" },
		{ "\nx,a\n", "G:2:1: 1 columns behind the first: expected one a host, as "
			     "'src\\dst,a,b', two or more" },
		{ "x;a;b\na;;5\n", "G:1:1: 0 columns behind the first: expected one a host, as "
				   "'src\\dst,a,b', two or more" },
		{ "x,a,,b\n", "G:1:5: column without a name" },
		{ "x,a,b,a\n", "G:1:7: column 'a' a second time: it stands at 1:3; keep one" },
		{ "x,a,b c\n",
		  "G:1:5: column 'b c': expected a host's name, of letters, digits, '.', '_' and "
		  "'-', up to 63 characters" },
		{ "x,a,b\na,,5\n\na,,6\n", "G:4:1: row 'a' a second time: keep one" },
		{ "x,left,right\nrigth,5\n",
		  "G:2:1: row 'rigth': no column has that name, did you mean 'right'?" },
		{ "x,left,right\nhost,5\n", "G:2:1: row 'host': no column has that name" },
		{ "x,a,b\n,5\n", "G:2:1: row '': no column has that name" },
		{ "x,a,b\na,,5,7\n", "G:2:6: '7': row 'a' has more cells than there are columns" },
		{ "x,a,b\na,,fast\n",
		  "G:2:4: rate 'fast': expected packets/s with k, M or G, bits/s as 1Gbps, or "
		  "'max'" },
		{ "x,a,b\na,, -1\n", "G:2:5: rate '-1': expected packets/s with k, M or G, bits/s "
				     "as 1Gbps, or 'max'; it cannot be "
				     "negative" },
		{ "x,a,b\na,,1e3\n", "G:2:4: rate '1e3': expected packets/s with k, M or G, bits/s "
				     "as 1Gbps, or 'max'" },
		{ "x,a,b\na,,nan\n", "G:2:4: rate 'nan': expected packets/s with k, M or G, bits/s "
				     "as 1Gbps, or 'max'" },
		{ "x,a,b\na,,\"5\n", "G:2:4: the quote of this field is not closed in its line" },
		{ "x,a,b\na,,\"5\"6\n", "G:2:7: '6' behind a quoted field: expected a comma" },
		{ "# tx_size=17\n",
		  "G:1:3: tx_size: number '17': expected a whole number from 18 to 65507" },
		{ "# tx_size=64 txsize=64\n",
		  "G:1:14: 'txsize': no such setting: expected tx_size, rx_size or port, as '# "
		  "tx_size=64 rx_size=512 port=5300'" },
		{ "# port=5300 x\n",
		  "G:1:13: 'x': expected sizes as '# tx_size=64 rx_size=512 port=5300'" },
		{ "# port=65536\n",
		  "G:1:3: port: number '65536': expected a whole number from 1 to 65535" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct csv_grid g;
		struct err e = { 0 };

		if (csv_grid_parse("G", t[i].text, strlen(t[i].text), &g, &e) == 0)
			fail_msg("accepted: %s", t[i].text);
		if (strcmp(e.msg, t[i].msg) != 0)
			fail_msg("%s\n%s\nexpected:\n%s", t[i].text, e.msg, t[i].msg);
		assert_null(g.host);
		assert_null(g.pair);
	}
	static const char nul[] = "x,a,b\na,,\0005\n";
	struct csv_grid g;
	struct err e = { 0 };
	assert_int_equal(csv_grid_parse("G", nul, sizeof(nul) - 1, &g, &e), -EINVAL);
	assert_memory_equal(e.msg, "G:2:4: ", 7);
}

// What is written of a plan reads back as its flows.
static void written(void **state)
{
	static const char grid[] = "# tx_size=64 rx_size=512 port=5301\n"
				   "src\\dst,a,b,c\n"
				   "a,,1000,max\n"
				   "b,12500.5,,\n"
				   "c,,1,\n";
	struct planned p;
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_non_null(f);
	planned_good(&p, "pmx: 1\n"
			 "defaults: {device: net_null0}\n"
			 "hosts:\n"
			 "  a: {addr: 198.18.0.1/24}\n"
			 "  b: {addr: 198.18.0.2/24}\n"
			 "  c: {addr: 198.18.0.3/24}\n"
			 "traffic:\n"
			 "  {pattern: cells, request: 64, reply: 512, port: 5301,\n"
			 "   cells: {a: {b: 1k, c: max}, b: {a: 12500.5}, c: {b: 1}}}\n");
	csv_grid_write(f, &p.plan);
	fclose(f);
	assert_string_equal(text, grid);
	grid_is(text, "64/512/5301 a b c: ab:1000 ac:max ba:12500.5 cb:1");
	free(text);
	planned_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read),
		cmocka_unit_test(refused),
		cmocka_unit_test(written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
