#include "err.h"

#include "testlib.h"

#include <errno.h>
#include <string.h>

static void set_and_wrap(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(err_set(&e, ERANGE, "rate '%s': expected less", "9"), -ERANGE);
	assert_int_equal(e.code, ERANGE);
	assert_int_equal(err_wrap(&e, "rack.yaml:%d:%d", 14, 9), -ERANGE);
	assert_string_equal(e.msg, "rack.yaml:14:9: rate '9': expected less");
}

static void no_struct_is_fine(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, ENOENT, "%d", 1), -ENOENT);
	assert_int_equal(err_wrap(NULL, "where"), -EINVAL);
}

static void may_quote_itself(void **state)
{
	struct err e = { 0 };

	(void)state;
	err_set(&e, EIO, "disk");
	err_set(&e, EPERM, "<%s>", e.msg);
	err_wrap(&e, "%s", e.msg);
	assert_string_equal(e.msg, "<disk>: <disk>");
	assert_int_equal(e.code, EPERM);
}

static void one_line_always(void **state)
{
	struct err e = { 0 };

	(void)state;
	err_set(&e, EINVAL, "%s", "a\nb\033[31mc\177d\xc3\xa9");
	assert_string_equal(e.msg, "a?b?[31mc?d\xc3\xa9");
	err_wrap(&e, "x\ty");
	assert_string_equal(e.msg, "x?y: a?b?[31mc?d\xc3\xa9");
}

static void cut_is_seen(void **state)
{
	struct err e = { 0 };
	char longer[2 * ERR_MAX];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_set(&e, EINVAL, "%s", longer);
	assert_int_equal(strlen(e.msg), ERR_MAX - 1);
	assert_string_equal(e.msg + ERR_MAX - 5, "x...");
	err_wrap(&e, "where");
	assert_int_equal(strlen(e.msg), ERR_MAX - 1);
	assert_memory_equal(e.msg, "where: xxx", 10);
	assert_string_equal(e.msg + ERR_MAX - 5, "x...");
	err_wrap(&e, "%s", longer);
	assert_string_equal(e.msg + ERR_MAX - 5, "x...");

	// exactly full is not cut
	longer[ERR_MAX - 1] = '\0';
	err_set(&e, EINVAL, "%s", longer);
	assert_string_equal(e.msg, longer);
}

static void cut_spares_utf8(void **state)
{
	struct err e = { 0 };
	char text[ERR_MAX + 8];

	(void)state;
	// a two-byte letter at every offset near the cut
	for (size_t start = ERR_MAX - 10; start < ERR_MAX; start++) {
		memset(text, 'x', sizeof(text) - 1);
		text[sizeof(text) - 1] = '\0';
		memcpy(text + start, "\xc3\xa9", 2);
		err_set(&e, EINVAL, "%s", text);
		size_t len = strlen(e.msg);
		assert_string_equal(e.msg + len - 3, "...");
		assert_int_not_equal((unsigned char)e.msg[len - 4], 0xc3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_and_wrap),	    cmocka_unit_test(no_struct_is_fine),
		cmocka_unit_test(may_quote_itself), cmocka_unit_test(one_line_always),
		cmocka_unit_test(cut_is_seen),	    cmocka_unit_test(cut_spares_utf8),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
