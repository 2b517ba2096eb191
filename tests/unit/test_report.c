#include "testlib.h"

#include "mesh_run.h"
#include "render.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Runs report_emit with stdout into a file; returns what it wrote.
static char *emit(const struct summary *s, const struct report_opts *o, const char *dir, int want,
		  struct err *e)
{
	char path[256];
	int saved = dup(STDOUT_FILENO), fd;
	char *text;

	snprintf(path, sizeof(path), "%s/stdout", dir);
	fflush(stdout);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	assert_true(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
	int ret = report_emit(s, o, e);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	assert_int_equal(ret, want);
	text = data_read(path, NULL);
	unlink(path);
	return text;
}

static void file_begins(const char *dir, const char *name, const char *begin)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	char *text = data_read(path, NULL);
	assert_memory_equal(text, begin, strlen(begin));
	free(text);
	unlink(path);
}

static void test_emit(void **state)
{
	char dir[] = "/tmp/pmx-test-XXXXXX", deep[64], grid[64], json[64];
	struct mesh_run r;
	struct summary s;
	struct err e = { 0 };
	char *text;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(deep, sizeof(deep), "%s/a/b//c", dir);
	snprintf(grid, sizeof(grid), "%s/a/", dir);
	snprintf(json, sizeof(json), "%s/s.json", dir);
	mesh_three_make(&r);
	mesh_summarize(&r, &s);

	text = emit(&s, &(struct report_opts){ .json = "-", .report = deep, .grid = grid }, dir, 0,
		    &e);
	assert_memory_equal(text, "{\n  \"pmx_summary\": 1,", 21);
	json_t *root = json_loads(text, 0, NULL); // nothing before it, nothing after it
	assert_non_null(root);
	json_decref(root);
	free(text);
	file_begins(deep, "flows.csv", "host,dir,peer,size,rep_size,target_pps,pps,mbps,rep_pps,");
	file_begins(deep, "hosts.csv",
		    "host,dir,target_pps,pps,rep_pps,loss_pct,rtt_p99_us,cpu_pct,");
	file_begins(deep, "queues.csv", "host,dir,pps,rep_pps,queue,lcore,");
	file_begins(grid, "pps.csv", "src\\dst,a,b,c\na,,5000,5000\n");
	file_begins(grid, "delivered.csv", "src\\dst,a,b,c\na,,4950,5000\n");
	file_begins(grid, "loss.csv", "src\\dst,a,b,c\na,,1,0\n");
	file_begins(grid, "rtt_p99.csv", "src\\dst,a,b,c\na,,2");
	file_begins(grid, "coverage.csv", "src\\dst,a,b,c\na,,10,10\nb,10,,10\n");

	text = emit(&s, &(struct report_opts){ .json = json }, dir, 0, &e);
	assert_memory_equal(text, "lab: 10.00 s, 3 hosts", 21);
	free(text);
	file_begins(dir, "s.json", "{\n  \"pmx_summary\": 1,");

	// over what is there, and where nothing can be
	assert_int_equal(mkdir(json, 0700), 0);
	text = emit(&s, &(struct report_opts){ .json = json }, dir, -EISDIR, &e);
	assert_non_null(strstr(e.msg, json));
	free(text);
	text = emit(&s, &(struct report_opts){ .report = "/dev/null/x" }, dir, -ENOTDIR, &e);
	assert_string_equal(e.msg, "cannot make directory '/dev/null/x': Not a directory");
	free(text);

	DIR *left = opendir(dir); // no temporary file stays
	for (struct dirent *d = readdir(left); d != NULL; d = readdir(left))
		assert_null(strstr(d->d_name, ".tmp"));
	closedir(left);
	rmdir(json);
	rmdir(deep);
	snprintf(deep, sizeof(deep), "%s/a/b", dir);
	rmdir(deep);
	rmdir(grid);
	assert_int_equal(rmdir(dir), 0);
	summary_free(&s);
	mesh_run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_emit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
