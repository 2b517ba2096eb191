#include "session_calls.h"

#include "clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_NS (4 * NS_PER_S)
#define HELLO_NS (10 * NS_PER_S)
#define RESULT_NS (60 * NS_PER_S)
#define TIME_SAMPLES 10

// Takes the request; the answer is the caller's, or nobody's when NULL.
static int call(struct fleet_host *h, json_t *request, uint64_t timeout_ns, json_t **answer,
		struct err *e)
{
	json_t *got = NULL;

	if (request == NULL)
		return err_set(e, ENOMEM, "out of memory");
	int rc = remote_call(h->remote, request, timeout_ns, &got, e);
	json_decref(request);
	if (answer != NULL)
		*answer = got;
	else
		json_decref(got);
	return rc;
}

static json_t *word(const char *cmd)
{
	return json_pack("{s:s}", "cmd", cmd);
}

static json_t *word_ns(const char *cmd, const char *key, uint64_t ns)
{
	return json_pack("{s:s, s:I}", "cmd", cmd, key, (json_int_t)ns);
}

int call_hello(struct fleet_host *h, const char *run_id, struct err *e)
{
	json_t *answer = NULL;
	int rc = remote_attach(h->remote, h->site.agent, h->site.dir, e);

	if (rc == 0)
		rc = call(h, word("hello"), HELLO_NS, &answer, e);
	if (rc == 0 && run_id != NULL && !remote_is_dry(h->remote)) {
		const char *run = json_string_value(json_object_get(answer, "run_id"));

		if (run == NULL || strcmp(run, run_id) != 0)
			rc = err_set(
				e, EBUSY,
				"the agent in %s is of another run ('%s'): end it by `pmx stop`",
				h->site.dir, run != NULL ? run : "");
	}
	json_decref(answer);
	return rc;
}

int call_who(struct fleet_host *h, struct hello *out, struct err *e)
{
	json_t *answer = NULL;
	int rc = remote_attach(h->remote, h->site.agent, h->site.dir, e);

	*out = (struct hello){ 0 };
	if (rc == 0)
		rc = call(h, word("hello"), HELLO_NS, &answer, e);
	if (rc < 0)
		return rc;
	const char *run = json_string_value(json_object_get(answer, "run_id"));
	const char *state = json_string_value(json_object_get(answer, "state"));
	const json_t *end = json_object_get(answer, "end_ns");
	if (run == NULL || state == NULL || agent_state_parse(state, &out->state) < 0 ||
	    end == NULL)
		rc = err_set(e, EPROTO,
			     "the agent does not say enough of itself: is it older "
			     "than this pmx?");
	snprintf(out->run_id, sizeof(out->run_id), "%s", run != NULL ? run : "");
	out->end_ns = (uint64_t)json_integer_value(end);
	json_decref(answer);
	return rc;
}

int call_status(struct fleet_host *h, struct err *e)
{
	json_t *answer = NULL;
	struct status s;
	int rc = call(h, word("status"), CALL_NS, &answer, e);

	if (rc == 0)
		rc = status_read(answer, &s, e);
	json_decref(answer);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(h->fleet->lock);
	h->status = s;
	h->barrier.due_ns = s.start_ns;
	h->barrier.first_tx_ns = s.first_tx_ns;
	pthread_mutex_unlock(h->fleet->lock);
	if (s.state == AGENT_FAILED)
		return err_set(e, EIO, "%s", s.error[0] != '\0' ? s.error : "the agent failed");
	return 0;
}

static int ask_time(struct fleet_host *h, struct clock_sample *s, struct err *e)
{
	json_t *answer = NULL;

	s->sent_ns = raw_ns();
	int rc = call(h, word("time"), CALL_NS, &answer, e);
	s->received_ns = raw_ns();
	const json_t *theirs = json_object_get(answer, "mono_ns");
	s->theirs_ns = (uint64_t)json_integer_value(theirs);
	if (rc == 0 && !json_is_integer(theirs))
		rc = err_set(e, EPROTO, "the agent tells no time");
	json_decref(answer);
	return rc;
}

int call_time(struct fleet_host *h, struct err *e)
{
	struct clock_sample sample[TIME_SAMPLES];
	struct clock_offset offset = { 0 };
	int rc = 0;

	for (size_t i = 0; i < TIME_SAMPLES && rc == 0; i++)
		rc = ask_time(h, &sample[i], e);
	if (rc == 0 && !clock_offset_of(sample, TIME_SAMPLES, &offset))
		rc = err_set(e, EPROTO, "the agent's clock cannot be compared with ours");
	pthread_mutex_lock(h->fleet->lock);
	h->barrier.offset = offset;
	pthread_mutex_unlock(h->fleet->lock);
	return rc;
}

int call_arm(struct fleet_host *h, uint64_t start_ns, struct err *e)
{
	int rc = call(h, word_ns("arm", "start_ns", start_ns), CALL_NS, NULL, e);

	pthread_mutex_lock(h->fleet->lock);
	h->barrier.told_ns = start_ns;
	pthread_mutex_unlock(h->fleet->lock);
	return rc;
}

int call_stop(struct fleet_host *h, uint64_t at_ns, struct err *e)
{
	return call(h, word_ns("stop", "at_ns", at_ns), CALL_NS, NULL, e);
}

int call_join(struct fleet_host *h, uint64_t start_ns, uint64_t elapsed_ns, struct err *e)
{
	return call(h,
		    json_pack("{s:s, s:I, s:I}", "cmd", "arm", "start_ns", (json_int_t)start_ns,
			      "elapsed_ns", (json_int_t)elapsed_ns),
		    CALL_NS, NULL, e);
}

int call_retire(struct fleet_host *h, uint64_t at_ns, struct err *e)
{
	return call(h,
		    json_pack("{s:s, s:I, s:s}", "cmd", "stop", "at_ns", (json_int_t)at_ns, "why",
			      SESSION_RELOAD),
		    CALL_NS, NULL, e);
}

int call_result(struct fleet_host *h, struct err *e)
{
	struct clock_sample now = { 0 };
	struct result *r = calloc(1, sizeof(*r));
	json_t *answer = NULL;
	int rc = r != NULL ? call(h, word("result"), RESULT_NS, &answer, e)
			   : err_set(e, ENOMEM, "out of memory");

	if (rc == 0)
		rc = result_read(json_object_get(answer, "result"), r, e);
	json_decref(answer);
	if (rc < 0) {
		free(r);
		return rc;
	}
	if (strcmp(r->state, "done") != 0)
		rc = ask_time(h, &now, e);
	h->now_ns = now.theirs_ns;
	if (h->result != NULL)
		result_free(h->result);
	free(h->result);
	h->result = r;
	return rc;
}

int call_quit(struct fleet_host *h, struct err *e)
{
	int rc = call(h, word("quit"), CALL_NS, NULL, e);

	remote_detach(h->remote);
	return rc;
}
