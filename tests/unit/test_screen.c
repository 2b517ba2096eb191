#include "screen.h"

#include "testlib.h"

#include <stdlib.h>
#include <string.h>

static void frame_is(struct screen *s, const char *text, const char *want)
{
	size_t len;
	char *got = screen_frame(s, text, &len);

	assert_non_null(got);
	assert_string_equal(got, want);
	assert_int_equal(len, strlen(want));
	free(got);
}

static void in_its_own_place(void **state)
{
	struct screen s = { .tty = true, .rows = 24, .columns = 80 };

	(void)state;
	frame_is(&s, "a: 1\nb: 2\n", "a: 1\033[K\nb: 2\033[K\n\033[J");
	frame_is(&s, "a: 3\nb: 4\n", "\r\033[2Aa: 3\033[K\nb: 4\033[K\n\033[J");
	// fewer lines, and one without its end
	frame_is(&s, "a: 5", "\r\033[2Aa: 5\033[K\n\033[J");
	frame_is(&s, "", "\r\033[1A\033[J");
	frame_is(&s, "a\n", "a\033[K\n\033[J");
}

static void cut_to_the_terminal(void **state)
{
	struct screen s = { .tty = true, .rows = 4, .columns = 6 };

	(void)state;
	frame_is(&s, "123456789\n2\n3\n", "12345\033[K\n2\033[K\n3\033[K\n\033[J");
	frame_is(&s, "1\n2\n3\n4\n", "\r\033[3A1\033[K\n2\033[K\n... a\033[K\n\033[J");
}

// A terminal that does not tell its size cuts nothing.
static void of_unknown_size(void **state)
{
	struct screen s = { .tty = true };

	(void)state;
	frame_is(&s, "123456789\n2\n", "123456789\033[K\n2\033[K\n\033[J");
	assert_int_equal(s.lines, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_its_own_place),
		cmocka_unit_test(cut_to_the_terminal),
		cmocka_unit_test(of_unknown_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
