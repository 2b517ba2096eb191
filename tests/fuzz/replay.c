// Runs a fuzz target without libFuzzer: every file of a corpus, then N mutations of them. Mutation
// i depends on the seed and i only, so `-i I` with the same $PMX_SEED repeats one.
//
//   replay_NAME [-n MUTATIONS] [-i ONLY] FILE|DIRECTORY...
#include "fuzz.h"
#include "rng.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INPUT_MAX (1u << 20)
#define FILES_MAX 1024

struct input {
	uint8_t *data;
	size_t size;
};

struct corpus {
	struct input input[FILES_MAX];
	size_t count;
};

// What values and structure break parsers.
static const char *const token[] = {
	"-1",
	"0",
	"1e99",
	"1e999",
	"18446744073709551616",
	"9223372036854775807",
	"0x1G",
	"nan",
	"null",
	"true",
	"\"\"",
	"max",
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"\"",
	"\\",
	"\n",
	"\t",
	"\xff",
	"\\u0000",
	"- ",
	": ",
	"&a ",
	"*a",
	"!!int ",
	"<<: ",
	"1.5",
	"/24",
	"10k",
	"/33",
	"999.9.9.9",
	"%s%n",
};

static char running[160] = "none"; // what is being run, for the handler

static void say_running(void)
{
	ssize_t ignored = write(STDERR_FILENO, running, strlen(running));

	(void)ignored;
}

static void on_signal(int sig)
{
	say_running();
	signal(sig, SIG_DFL);
	raise(sig);
}

// There with ASan and UBSan only, which die without a signal.
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void watch(void)
{
	signal(SIGABRT, on_signal);
	if (__sanitizer_set_death_callback != NULL) {
		__sanitizer_set_death_callback(say_running);
		return; // SIGSEGV is theirs
	}
	signal(SIGSEGV, on_signal);
	signal(SIGBUS, on_signal);
}

static int add_file(struct corpus *c, const char *path)
{
	FILE *f = fopen(path, "rb");

	if (f == NULL || c->count == FILES_MAX)
		goto fail;
	struct input *in = &c->input[c->count];
	in->data = malloc(INPUT_MAX);
	if (in->data == NULL)
		goto fail;
	in->size = fread(in->data, 1, INPUT_MAX, f);
	in->data = realloc(in->data, in->size + 1);
	fclose(f);
	c->count++;
	return 0;
fail:
	fprintf(stderr, "%s: %s\n", path, f == NULL ? strerror(errno) : "too many files");
	if (f != NULL)
		fclose(f);
	return -1;
}

static int add(struct corpus *c, const char *path)
{
	struct dirent **entry;
	struct stat st;
	int ret = 0;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return add_file(c, path);
	int n = scandir(path, &entry, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char file[4096];
		snprintf(file, sizeof(file), "%s/%s", path, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.' && ret == 0)
			ret = add(c, file);
		free(entry[i]);
	}
	free(entry);
	return n < 0 ? -1 : ret;
}

// Puts `n` bytes in place of `cut` bytes at `at`, as far as there is room.
static void replace(struct input *in, size_t at, size_t cut, const void *data, size_t n)
{
	if (in->size - cut + n > INPUT_MAX)
		return;
	memmove(in->data + at + n, in->data + at + cut, in->size - at - cut);
	memcpy(in->data + at, data, n);
	in->size = in->size - cut + n;
}

static bool is_word(uint8_t c)
{
	return c == '.' || c == '-' || c == '_' || c == '"' || (c >= '0' && c <= '9') ||
	       (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Another value where one stood: what keeps the syntax and so gets past the first parser.
static void replace_word(struct input *in, size_t at, const char *t)
{
	size_t end = at;

	while (at > 0 && is_word(in->data[at - 1]))
		at--;
	while (end < in->size && is_word(in->data[end]))
		end++;
	replace(in, at, end - at, t, strlen(t));
}

static void mutate(struct input *in, const struct corpus *c, struct rng *r)
{
	size_t at = rng_below(r, in->size + 1), left = in->size - at;
	size_t cut = rng_below(r, (left < 16 ? left : 16) + 1);
	const struct input *other = &c->input[rng_below(r, c->count)];
	const char *t = token[rng_below(r, sizeof(token) / sizeof(token[0]))];
	uint8_t byte = (uint8_t)rng_next(r);
	uint8_t copy[256];

	switch (rng_below(r, 12)) {
	case 0: // another byte
		replace(in, at, cut > 0, &byte, 1);
		break;
	case 1: // a hole
		replace(in, at, cut, "", 0);
		break;
	case 2: // cut short
		in->size = rng_below(r, 4) == 0 ? at : in->size;
		break;
	case 3:
	case 4: // a token, in place of something or between
		replace(in, at, rng_below(r, 2) ? cut : 0, t, strlen(t));
		break;
	case 5: { // a piece of another
		size_t from = rng_below(r, other->size + 1);
		size_t n = rng_below(r, sizeof(copy));
		n = n > other->size - from ? other->size - from : n;
		memcpy(copy, other->data + from, n);
		replace(in, at, cut, copy, n);
		break;
	}
	default:
		replace_word(in, at, t);
	}
}

static void run_mutation(const struct corpus *c, uint64_t seed, uint64_t i)
{
	struct rng r = { .state = seed + i * UINT64_C(0xd1342543de82ef95) };
	const struct input *from = &c->input[rng_below(&r, c->count)];
	static uint8_t scratch[INPUT_MAX];
	struct input in = { .data = scratch, .size = from->size };

	memcpy(in.data, from->data, from->size);
	for (uint64_t n = 1 + rng_below(&r, 3); n > 0; n--)
		mutate(&in, c, &r);
	snprintf(running, sizeof(running), "while running mutation %llu of PMX_SEED=%llu\n",
		 (unsigned long long)i, (unsigned long long)seed);
	// a buffer of its exact size, so that reading beyond the end is seen
	uint8_t *exact = malloc(in.size + (in.size == 0));
	fuzz_require(exact != NULL, "memory");
	memcpy(exact, in.data, in.size);
	LLVMFuzzerTestOneInput(exact, in.size);
	free(exact);
}

int main(int argc, char **argv)
{
	static struct corpus c;
	uint64_t mutations = 1000, only = UINT64_MAX;
	int opt;

	while ((opt = getopt(argc, argv, "n:i:")) != -1) {
		if (opt != 'n' && opt != 'i')
			return 2;
		*(opt == 'n' ? &mutations : &only) = strtoull(optarg, NULL, 10);
	}
	for (int i = optind; i < argc; i++)
		if (add(&c, argv[i]) < 0)
			return 2;
	if (c.count == 0) {
		fprintf(stderr, "%s: no corpus given\n", argv[0]);
		return 2;
	}
	watch();
	uint64_t seed = rng_open(argv[0]).state;
	for (size_t i = 0; i < c.count; i++) {
		snprintf(running, sizeof(running), "while running file %zu of the corpus\n", i);
		LLVMFuzzerTestOneInput(c.input[i].data, c.input[i].size);
	}
	if (only != UINT64_MAX)
		run_mutation(&c, seed, only);
	for (uint64_t i = 0; only == UINT64_MAX && i < mutations; i++)
		run_mutation(&c, seed, i);
	printf("%zu files, %llu mutations\n", c.count, (unsigned long long)mutations);
	for (size_t i = 0; i < c.count; i++)
		free(c.input[i].data);
	return 0;
}
