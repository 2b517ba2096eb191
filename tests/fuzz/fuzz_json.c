// The readers of host config, result and status on the same JSON text: what one of them takes, it
// writes and takes again, to the same bytes.
#include "fuzz.h"
#include "hostcfg.h"
#include "jsonmap.h"
#include "result.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

static void refusal(int ret, const struct err *e)
{
	fuzz_require(ret < 0 && e->code == -ret && e->msg[0] == '$', "a refusal has a path");
}

// The text of v, which it drops.
static char *text_of(json_t *v)
{
	fuzz_require(v != NULL, "what was read can be written");
	char *text = json_dumps(v, JSON_COMPACT);
	fuzz_require(text != NULL, "memory");
	json_decref(v);
	return text;
}

static json_t *again(const char *text)
{
	struct err e;
	json_t *v;

	fuzz_require(jsonmap_parse("again", text, strlen(text), &v, &e) == 0,
		     "written JSON parses");
	return v;
}

static void same(char *a, char *b)
{
	fuzz_require(strcmp(a, b) == 0, "the same bytes come back");
	free(a);
	free(b);
}

static void hostcfg(json_t *v)
{
	struct hostcfg c;
	struct err e = { 0 };
	int ret = hostcfg_read(v, &c, &e);

	if (ret < 0) {
		refusal(ret, &e);
		return;
	}
	char *first = text_of(hostcfg_write(&c));
	hostcfg_free(&c);
	v = again(first);
	fuzz_require(hostcfg_read(v, &c, &e) == 0, "a written host config is read");
	json_decref(v);
	same(first, text_of(hostcfg_write(&c)));
	hostcfg_free(&c);
}

static void result(json_t *v)
{
	struct result r;
	struct err e = { 0 };
	int ret = result_read(v, &r, &e);

	if (ret < 0) {
		refusal(ret, &e);
		return;
	}
	char *first = text_of(result_write(&r));
	result_free(&r);
	v = again(first);
	fuzz_require(result_read(v, &r, &e) == 0, "a written result is read");
	json_decref(v);
	same(first, text_of(result_write(&r)));
	result_free(&r);
}

// The reader of the text takes what that of the tree does, to the same result. Both may refuse.
static void result_text(json_t *v, const uint8_t *data, size_t size)
{
	struct result r, want;
	struct err e = { 0 }, refused = { 0 };
	char *text = malloc(size + 1);

	fuzz_require(text != NULL, "memory");
	memcpy(text, data, size);
	text[size] = '\0';
	int ret = result_read(v, &want, &refused);
	fuzz_require(result_parse("input", text, size, &r, &e) == ret, "both ways read alike");
	if (ret == 0) {
		same(text_of(result_write(&want)), text_of(result_write(&r)));
		result_free(&want);
		result_free(&r);
	}
	free(text);
}

// Text that no parser of JSON takes, the reader of the text does not take either.
static void no_json(const uint8_t *data, size_t size)
{
	struct result r;
	struct err e = { 0 };
	char *text = malloc(size + 1);

	fuzz_require(text != NULL, "memory");
	memcpy(text, data, size);
	text[size] = '\0';
	fuzz_require(result_parse("input", text, size, &r, &e) < 0, "no JSON is no result");
	free(text);
}

static void status(json_t *v)
{
	struct status s;
	struct err e = { 0 };
	int ret = status_read(v, &s, &e);

	if (ret < 0) {
		refusal(ret, &e);
		return;
	}
	char *first = text_of(status_write(&s));
	v = again(first);
	fuzz_require(status_read(v, &s, &e) == 0, "a written status is read");
	json_decref(v);
	same(first, text_of(status_write(&s)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = { 0 };
	json_t *v;

	if (jsonmap_parse("input", (const char *)data, size, &v, &e) < 0) {
		fuzz_require(e.code != 0 && strchr(e.msg, '\n') == NULL, "a refusal is one line");
		no_json(data, size);
		return 0;
	}
	hostcfg(v);
	result(v);
	result_text(v, data, size);
	status(v);
	json_decref(v);
	return 0;
}
