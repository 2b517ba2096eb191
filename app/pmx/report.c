#include "render.h"

#include "grid.h"
#include "outfile.h"
#include "tables.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_dirs(const char *dir, struct err *e)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s", dir) >= sizeof(path))
		return err_set(e, ENAMETOOLONG, "directory name too long: %.200s...", dir);
	for (char *at = path + 1; at[-1] != '\0'; at++) {
		if (*at != '/' && *at != '\0')
			continue;
		char was = *at;
		*at = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return err_set(e, errno, "cannot make directory '%s': %s", path,
				       strerror(errno));
		*at = was;
		if (was == '\0')
			break;
	}
	return 0;
}

// What goes into one file: a table, a grid, or the JSON.
struct content {
	const struct summary *s;
	const struct table *table;
	const struct grid *grid;
};

static int put_content(FILE *f, const struct content *c, struct err *e)
{
	if (c->table != NULL)
		render_table_csv(f, c->table);
	else if (c->grid != NULL)
		render_grid(f, c->s, c->grid);
	else
		return render_json(f, c->s, e);
	return 0;
}

static int write_file(const char *path, const struct content *c, struct err *e)
{
	struct outfile o;
	int ret = outfile_open(&o, path, e);

	return ret < 0 ? ret : outfile_close(&o, put_content(o.f, c, e), e);
}

static int write_in(const char *dir, const char *name, const struct content *c, struct err *e)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s.csv", dir, name) >= sizeof(path))
		return err_set(e, ENAMETOOLONG, "directory name too long: %.200s...", dir);
	return write_file(path, c, e);
}

static int write_report(const char *dir, const struct summary *s, struct err *e)
{
	struct queue_list list;
	int ret = queue_list_all(s, &list, e);

	if (ret < 0)
		return ret;
	const struct table table[] = {
		table_flows(s, NULL, s->flow_count),
		table_hosts(s, NULL),
		table_queues(&list),
		table_layers(s, NULL),
		table_sizes(s, NULL),
	};
	// only with a rotation, or with a mix
	bool some[] = { true, true, true, s->rotation.layers > 0, s->size_count > 0 };
	ret = make_dirs(dir, e);
	for (size_t i = 0; ret == 0 && i < sizeof(table) / sizeof(table[0]); i++) {
		if (!some[i])
			continue;
		struct content c = { .s = s, .table = &table[i] };
		ret = write_in(dir, table[i].key, &c, e);
	}
	queue_list_free(&list);
	return ret;
}

static int write_grids(const char *dir, const struct summary *s, struct err *e)
{
	int ret = make_dirs(dir, e);

	for (size_t i = 0; ret == 0 && i < grid_count; i++) {
		struct content c = { .s = s, .grid = &grid_table[i] };
		ret = write_in(dir, grid_table[i].name, &c, e);
	}
	return ret;
}

static int write_stdout(const struct summary *s, const struct report_opts *o, bool json,
			struct err *e)
{
	int ret = json ? render_json(stdout, s, e) : render_text(stdout, s, o, e);

	if (ret == 0 && (fflush(stdout) != 0 || ferror(stdout)))
		ret = err_set(e, errno != 0 ? errno : EIO, "cannot write to stdout: %s",
			      strerror(errno));
	return ret;
}

int report_emit(const struct summary *s, const struct report_opts *o, struct err *e)
{
	bool json_only = o->json != NULL && strcmp(o->json, "-") == 0;
	int ret = write_stdout(s, o, json_only, e);

	if (ret == 0 && o->json != NULL && !json_only) {
		struct content c = { .s = s };
		ret = write_file(o->json, &c, e);
	}
	if (ret == 0 && o->report != NULL)
		ret = write_report(o->report, s, e);
	if (ret == 0 && o->grid != NULL)
		ret = write_grids(o->grid, s, e);
	return ret;
}
