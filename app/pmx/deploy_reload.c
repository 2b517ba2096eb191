// What `pmx reload` leaves and finds in the directory: the lives of one run.
#include "deploy.h"

#include "clock.h"
#include "deploy_sh.h"

#include "session.h"

#include <errno.h>

// $1 directory
static const char rotate_script[] =
	SH_BAD "cd \"$1\" || exit 1; "
	       "[ -e " SESSION_RESULT " ] || bad \"the agent left no result in $1\"; "
	       "[ -e " SESSION_RESUME " ] || bad \"the agent left no " SESSION_RESUME " in $1\"; "
	       "n=1; while [ -e result.$n.json ]; do n=$((n+1)); done; "
	       "mv " SESSION_RESULT " result.$n.json || exit 1; "
	       "[ ! -e " SESSION_REPORT " ] || mv " SESSION_REPORT " report.$n.csv || exit 1; "
	       "[ ! -e " SESSION_LOG " ] || mv " SESSION_LOG " agent.$n.log";

int deploy_rotate(struct remote *r, const struct site *s, struct err *e)
{
	const struct script script = { .what = "keep the results so far",
				       .text = rotate_script,
				       .args = { s->dir } };
	struct output o;
	int rc = remote_check(r, &script, &o, e);

	output_free(&o);
	return rc;
}

// $1 directory. Each result is one line.
static const char lives_script[] =
	"cd \"$1\" 2>/dev/null || exit 0; n=1; while [ -e result.$n.json ]; do "
	"cat result.$n.json || exit 1; echo; n=$((n+1)); done";

int deploy_lives(struct remote *r, const struct site *s, char **text, size_t *len, struct err *e)
{
	const struct script script = { .what = "read the results of earlier agents",
				       .text = lives_script,
				       .args = { s->dir },
				       .timeout_ns = 90 * NS_PER_S,
				       .out_max = SESSION_LINE_MAX };
	struct output o;
	int rc = remote_check(r, &script, &o, e);

	*text = o.out;
	*len = o.out_len;
	o.out = NULL;
	if (rc == 0 && o.cut)
		rc = err_set(e, EFBIG, "%s: longer than %u bytes", script.what, SESSION_LINE_MAX);
	output_free(&o);
	return rc;
}
