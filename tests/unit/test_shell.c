#include "shell.h"

#include "testlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What a shell makes of a command, up to 4 KB.
static char *run(const char *command)
{
	static char out[4096];
	FILE *f = popen(command, "r");

	assert_non_null(f);
	out[fread(out, 1, sizeof(out) - 1, f)] = '\0';
	pclose(f);
	return out;
}

static void quote(void **state)
{
	char *q;

	(void)state;
	q = shell_quote("it's");
	assert_string_equal(q, "'it'\\''s'");
	free(q);
	q = shell_quote("");
	assert_string_equal(q, "''");
	free(q);
}

// Whatever the word holds, the script gets it whole.
static void random_words(void **state)
{
	static const char nasty[] = "'\"\\$`!*?~#&|;<>(){}[] \n\tab=-";
	struct rng rng = rng_open("words");

	(void)state;
	for (int i = 0; i < 200; i++) {
		char word[32];
		size_t len = 1 + rng_below(&rng, 30);

		for (size_t j = 0; j < len; j++)
			word[j] = nasty[rng_below(&rng, sizeof(nasty) - 1)];
		word[len - 1] = 'x'; // command substitution would eat newlines at the end
		word[len] = '\0';
		const char *const args[] = { "first", word, NULL };
		char *command = shell_command("printf %s \"$2\"", args, false);
		const char *out = run(command);
		assert_string_equal(shell_output(out, strlen(out)), word);
		free(command);
	}
}

static void mark(void **state)
{
	static const char noisy[] = "Welcome!\nno newline at the end\n#pmx#\nours\n#pmx#\n";

	(void)state;
	assert_string_equal(shell_output(noisy, strlen(noisy)), "ours\n#pmx#\n");
	assert_null(shell_output("Welcome!\n#pmx", 13));
	assert_null(shell_output("", 0));
	assert_null(shell_output(NULL, 0));
}

static void command_forms(void **state)
{
	const char *const args[] = { "a b", NULL };
	char *c;

	(void)state;
	c = shell_command("echo \"$1\"", args, true);
	assert_string_equal(c,
			    "exec sudo -n sh -c 'printf \"\\n#pmx#\\n\"; echo \"$1\"' pmx 'a b'");
	free(c);
	c = shell_command("true", NULL, false);
	assert_string_equal(c, "exec sh -c 'printf \"\\n#pmx#\\n\"; true' pmx");
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quote),
		cmocka_unit_test(random_words),
		cmocka_unit_test(mark),
		cmocka_unit_test(command_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
