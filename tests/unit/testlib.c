#include "testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *data_read(const char *name, size_t *len)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : TEST_DATA,
		 name[0] == '/' ? "" : "/", name);
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		fail_msg("%s cannot be opened", path);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	long size = ftell(f);
	assert_true(size >= 0);
	rewind(f);
	char *text = malloc((size_t)size + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)size, f), size);
	fclose(f);
	text[size] = '\0';
	if (len != NULL)
		*len = (size_t)size;
	return text;
}

void temp_write(char path[64], const char *text, size_t len)
{
	const char *dir = getenv("TMPDIR");

	if (dir == NULL || strlen(dir) > 40)
		dir = "/tmp";
	snprintf(path, 64, "%s/pmx-test-XXXXXX", dir);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	while (len > 0) {
		ssize_t n = write(fd, text, len);
		assert_true(n > 0);
		text += n;
		len -= (size_t)n;
	}
	assert_int_equal(close(fd), 0);
}

static json_t *step(json_t *at, const char *key)
{
	return json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
				 : json_object_get(at, key);
}

void json_edit(json_t **root, const char *path, const char *value)
{
	char text[256], *rest = text, *key;
	json_t *new = NULL, *at = *root;

	if (value != NULL) {
		new = json_loads(value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(new);
	}
	if (path[0] == '\0') {
		json_decref(*root);
		*root = new;
		return;
	}
	assert_true(strlen(path) < sizeof(text));
	strcpy(text, path);
	key = strsep(&rest, ".");
	while (rest != NULL) {
		at = step(at, key);
		assert_non_null(at);
		key = strsep(&rest, ".");
	}
	if (json_is_object(at) && new == NULL) {
		assert_int_equal(json_object_del(at, key), 0);
	} else if (json_is_object(at)) {
		assert_int_equal(json_object_set_new(at, key, new), 0);
	} else {
		size_t i = strtoul(key, NULL, 10);
		assert_int_equal(i < json_array_size(at) ? json_array_set_new(at, i, new)
							 : json_array_append_new(at, new),
				 0);
	}
}

void golden_is(const char *name, const char *got)
{
	const char *mode = getenv("PMX_GOLDEN");
	char path[4096];

	if (mode != NULL && strcmp(mode, "write") == 0) {
		snprintf(path, sizeof(path), "%s/%s", TEST_DATA, name);
		FILE *f = fopen(path, "w");
		assert_non_null(f);
		fputs(got, f);
		assert_int_equal(fclose(f), 0);
		return;
	}
	char *want = data_read(name, NULL);
	assert_string_equal(got, want);
	free(want);
}
