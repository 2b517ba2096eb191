// A matrix from text to plan, for unit tests.
#pragma once

#include "plan.h"

#include "testlib.h"

#include <stdlib.h>
#include <string.h>

static const char *const plan_drivers[] = { TEST_DATA "/../../drivers-config", NULL };

struct planned {
	struct matrix matrix;
	struct profile *profile;
	struct plan plan;
};

// in: all but matrix and profile. On failure there is nothing to free.
static inline int planned_by(struct planned *p, const char *text, size_t len, struct plan_input *in,
			     struct err *e)
{
	int ret;

	memset(p, 0, sizeof(*p));
	ret = matrix_parse("FILE", text, len, &p->matrix, e);
	if (ret < 0)
		return ret;
	ret = profile_load_all(&p->matrix, plan_drivers, &p->profile, e);
	in->matrix = &p->matrix;
	in->profile = p->profile;
	if (ret == 0)
		ret = plan_build(in, &p->plan, e);
	if (ret < 0) {
		free(p->profile);
		matrix_free(&p->matrix);
	}
	return ret;
}

// Every step that `pmx run` takes.
static inline int planned_build(struct planned *p, const char *text, size_t len,
				const bool *excluded, unsigned cpus, struct err *e)
{
	struct plan_input in = {
		.excluded = excluded,
		.cookie = 0xbeef,
		.run_id = "test-run",
		.local_cpus = cpus,
		.warmup_ns = 1000000000,
		.duration_ns = 2000000000,
		.lease_ns = 10000000000,
	};

	return planned_by(p, text, len, &in, e);
}

// And those that `pmx check` takes.
static inline int planned_look(struct planned *p, const char *text, struct err *e)
{
	struct plan_input in = { .run_id = "check", .flows_only = true, .local_cpus = 8 };

	return planned_by(p, text, strlen(text), &in, e);
}

static inline void planned_free(struct planned *p)
{
	plan_free(&p->plan);
	free(p->profile);
	matrix_free(&p->matrix);
}

static inline void planned_good(struct planned *p, const char *text)
{
	struct err e = { 0 };

	if (planned_build(p, text, strlen(text), NULL, 8, &e) < 0)
		fail_msg("%s", e.msg);
}

static inline void planned_bad(const char *text, const char *msg)
{
	struct planned p;
	struct err e = { 0 };

	if (planned_build(&p, text, strlen(text), NULL, 8, &e) == 0)
		fail_msg("accepted, not refused by: %s", msg);
	assert_string_equal(e.msg, msg);
	assert_int_not_equal(e.code, 0);
}
