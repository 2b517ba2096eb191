// The reader of report.csv: what it takes of a row can be written, as JSON that parses and as a
// line of as many fields as the head has.
#include "fuzz.h"

#include "export.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *line_of(const struct export_text *t, const struct export_row *row)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	fuzz_require(f != NULL, "memory");
	export_text_row(f, t, row);
	fclose(f);
	fuzz_require(len > 0 && strchr(text, '\n') == text + len - 1, "one line");
	return text;
}

static int take(const struct export_row *row, void *arg, struct err *e)
{
	char *json = line_of(&export_ndjson, row), *tsv = line_of(&export_tsv, row);
	size_t tabs = 0;

	(void)arg;
	(void)e;
	json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	fuzz_require(root != NULL && json_object_size(root) == export_columns, "JSON");
	json_decref(root);
	for (const char *s = tsv; (s = strchr(s, '\t')) != NULL; s++)
		tabs++;
	fuzz_require(tabs + 1 == export_columns, "fields");
	free(json);
	free(tsv);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = { 0 };
	char *text = malloc(size + 1);

	fuzz_require(text != NULL, "memory");
	memcpy(text, data, size);
	text[size] = '\0';
	int ret = export_samples(text, "report.csv", take, NULL, &e);
	fuzz_require(ret == 0 || (ret == -e.code && strncmp(e.msg, "report.csv:", 11) == 0 &&
				  strchr(e.msg, '\n') == NULL),
		     "a refusal names the line");
	free(text);
	return 0;
}
