// The reader of driver profiles: any bytes are read, or refused by one line that points into the
// file; and what is read is shown as a text that reads back equal.
#include "fuzz.h"
#include "profile.h"

#include <stdlib.h>
#include <string.h>

static void shows_the_same(const struct profile *p)
{
	struct profile back, want = *p;
	struct err e = { 0 };
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fuzz_require(f != NULL, "there is memory");
	profile_show(f, p);
	fclose(f);
	fuzz_require(profile_parse(p->name, p->file, text, len, &back, &e) == 0, e.msg);
	memset(want.at, 0, sizeof(want.at));
	memset(back.at, 0, sizeof(back.at));
	fuzz_require(memcmp(&want, &back, sizeof(want)) == 0, "what is shown reads back equal");
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile p;
	struct err e = { 0 };
	int ret = profile_parse("x", "input.yaml", (const char *)data, size, &p, &e);

	if (ret == 0) {
		shows_the_same(&p);
		return 0;
	}
	fuzz_require(e.code == -ret, "a refusal returns its code");
	fuzz_require(strncmp(e.msg, "input.yaml:", 11) == 0, "a refusal has its place");
	fuzz_require(strchr(e.msg, '\n') == NULL, "a refusal is one line");
	return 0;
}
