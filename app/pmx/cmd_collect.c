#include "cmd.h"
#include "fleet_collect.h"
#include "fleet_verb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX_BYTES (1u << 30)

static int make_dirs(const char *dir, struct err *e)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", dir);
	for (char *p = path + 1;; p++) {
		if (*p != '/' && *p != '\0')
			continue;
		char was = *p;
		*p = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return err_set(e, errno, "cannot make %s: %s", path, strerror(errno));
		if (was == '\0')
			return 0;
		*p = was;
	}
}

// By a temporary name: what was collected before stays until the new is whole.
static int write_file(const char *path, const char *data, size_t len, struct err *e)
{
	char part[PATH_MAX + 32];
	FILE *f;

	snprintf(part, sizeof(part), "%s.part", path);
	f = fopen(part, "wb");
	bool good = f != NULL && fwrite(data, 1, len, f) == len;
	if (f != NULL && fclose(f) != 0)
		good = false;
	if (good && rename(part, path) == 0)
		return 0;
	int rc = err_set(e, errno, "cannot write %s: %s", path, strerror(errno));
	unlink(part);
	return rc;
}

static int write_result(const struct result *r, const char *dir, const char *name, struct err *e)
{
	char path[PATH_MAX + 64];
	json_t *root = result_write(r);
	char *text = root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;

	json_decref(root);
	if (text == NULL)
		return err_set(e, ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	int rc = write_file(path, text, strlen(text), e);
	free(text);
	return rc;
}

// Bytes, 0 when the host has no such file.
static int copy_file(struct fleet_host *h, const char *dir, const char *name, size_t *len,
		     struct err *e)
{
	char from[PATH_MAX], to[PATH_MAX + 64], *data;

	snprintf(from, sizeof(from), "%s/%s", h->site.dir, name);
	snprintf(to, sizeof(to), "%s/%s", dir, name);
	int rc = remote_get(h->remote, from, FILE_MAX_BYTES, &data, len, e);
	if (rc == -ENOENT) {
		unlink(to); // of an earlier run: it would be taken for this one's
		return 0;
	}
	if (rc == 0 && !h->fleet->dry)
		rc = write_file(to, data, *len, e);
	free(data);
	return rc;
}

// Results, reports and logs of earlier agents of the run; files that a longer run left here go.
static int copy_lives(struct fleet_host *h, const char *dir, struct err *e)
{
	static const char *const form[] = { "result.%zu.json", "report.%zu.csv", "agent.%zu.log" };
	char name[64], path[PATH_MAX + 64];
	size_t len;
	int rc = 0;

	for (size_t n = 1; n <= h->lives && rc == 0; n++) {
		snprintf(name, sizeof(name), form[0], n);
		rc = write_result(&h->older[n - 1], dir, name, e);
		for (size_t k = 1; k < 3 && rc == 0; k++) {
			snprintf(name, sizeof(name), form[k], n);
			rc = copy_file(h, dir, name, &len, e);
		}
	}
	for (size_t n = h->lives + 1, gone = 1; gone > 0 && !h->fleet->dry && rc == 0; n++) {
		gone = 0;
		for (size_t k = 0; k < 3; k++) {
			snprintf(name, sizeof(name), form[k], n);
			snprintf(path, sizeof(path), "%s/%s", dir, name);
			gone += unlink(path) == 0;
		}
	}
	return rc;
}

static int copy_one(struct fleet_host *h, void *arg, struct err *e)
{
	size_t report = 0, log = 0;
	char dir[PATH_MAX];

	(void)arg;
	if (snprintf(dir, sizeof(dir) - 32, "%s/%s", h->fleet->opts->results, h->name) >=
	    (int)sizeof(dir) - 32)
		return err_set(e, ENAMETOOLONG, "option '--output': too long a name");
	int rc = h->fleet->dry ? 0 : make_dirs(dir, e);
	if (rc == 0 && h->result != NULL)
		rc = write_result(h->result, dir, SESSION_RESULT, e);
	if (rc == 0)
		rc = copy_file(h, dir, SESSION_REPORT, &report, e);
	if (rc == 0)
		rc = copy_file(h, dir, SESSION_LOG, &log, e);
	if (rc == 0)
		rc = copy_lives(h, dir, e);
	if (rc == 0 && !h->fleet->dry)
		fleet_say(h, "%s: result (%s), report %zu bytes, log %zu bytes%s", dir,
			  h->result->state, report, log,
			  h->lives > 0 ? ", and those from before a reload" : "");
	return rc;
}

static int collect_fleet(struct fleet *f, void *arg)
{
	(void)arg;
	fleet_connect(f);
	fleet_collect(f, LIVES_APART);
	fleet_each(f, FLEET_LIVE, copy_one, NULL);
	fleet_print(f);
	if (fleet_complain(f) == 0)
		return EXIT_GOOD;
	return fleet_live(f) > 0 ? EXIT_PARTIAL : EXIT_HOST;
}

int cmd_collect(struct opts *o)
{
	return fleet_with(o, collect_fleet, NULL);
}
