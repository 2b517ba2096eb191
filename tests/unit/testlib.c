#include "testlib.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct rng rng_open(const char *what)
{
	const char *given = getenv("PMX_SEED");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t seed = given != NULL ? strtoull(given, NULL, 0)
				      : (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
	print_message("%s: PMX_SEED=%" PRIu64 "\n", what, seed);
	return (struct rng){ .state = seed };
}

uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	return rng_next(r) % n;
}

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
