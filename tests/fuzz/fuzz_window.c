// The reader of the agents' reports and the summary behind it: any bytes are read, or refused by
// one line.
#include "fuzz.h"
#include "summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void summarize(const struct matrix *m, struct summary_parts *parts)
{
	const struct summary_input in = {
		.matrix = m,
		.parts = parts,
		.skew_ns = NAN,
		.skew_error_ns = NAN,
	};
	char text[512];
	struct summary s;
	struct err e = { 0 };

	fuzz_require(summary_build(&in, &s, &e) == 0, e.msg);
	fuzz_require(summary_verdict(&s, text, sizeof(text)) == VERDICT_PARTIAL, "b gave none");
	for (size_t i = 0; i < s.flow_count; i++)
		fuzz_require(s.flow[i].lost_forward == LOSS_UNKNOWN, "reports tell no direction");
	summary_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct matrix_host host[2] = { { .name = "a" }, { .name = "b" } };
	const struct matrix m = {
		.file = "lab.yaml",
		.host = host,
		.host_count = 2,
		.traffic = { .req_bytes = 18, .rep_bytes = 18, .streams = 1, .rate.pps = 500 },
		.limits = { .loss_pct = -1, .rtt_p99_us = -1, .achieved_pct = -1 },
	};
	struct summary_parts parts;
	struct err e = { 0 };
	char *text = malloc(size + 1);

	fuzz_require(text != NULL, "memory");
	memcpy(text, data, size);
	text[size] = '\0';
	fuzz_require(summary_parts_init(&parts, &m, &e) == 0, "memory");
	int ret = summary_take_window(&parts, 0, text, size, 2000000000, 1000000000, &e);
	if (ret < 0)
		fuzz_require(e.code == -ret && strchr(e.msg, '\n') == NULL,
			     "a refusal is one line");
	else
		summarize(&m, &parts);
	summary_parts_free(&parts);
	free(text);
	return 0;
}
