#include "fleet_lives.h"

#include "deploy.h"
#include "lives.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The next element of host.older, empty.
static struct result *add(struct fleet_host *h)
{
	struct result *older = realloc(h->older, (h->lives + 1) * sizeof(*older));

	if (older == NULL)
		return NULL;
	h->older = older;
	older[h->lives] = (struct result){ 0 };
	return &older[h->lives++];
}

static int take_line(struct fleet_host *h, const char *line, size_t len, struct err *e)
{
	struct result *r = add(h);
	char name[PATH_MAX];

	if (r == NULL)
		return err_set(e, ENOMEM, "out of memory");
	snprintf(name, sizeof(name), "%s/result.%zu.json", h->site.dir, h->lives);
	return result_parse(name, line, len, r, e);
}

int lives_fetch(struct fleet_host *h, struct err *e)
{
	char *text;
	size_t len;
	int rc = deploy_lives(h->remote, &h->site, &text, &len, e);

	for (const char *line = text; rc == 0 && line < text + len;) {
		size_t n = strcspn(line, "\n");

		if (n > 0)
			rc = take_line(h, line, n, e);
		line += n + (line[n] == '\n');
	}
	if (rc == 0 || text != NULL)
		free(text);
	return rc;
}

int lives_load(struct fleet_host *h, const char *dir, struct err *e)
{
	char path[PATH_MAX];

	for (;;) {
		snprintf(path, sizeof(path), "%s/%s/result.%zu.json", dir, h->name, h->lives + 1);
		if (access(path, F_OK) != 0)
			return 0;
		struct result *r = add(h);
		int rc = r != NULL ? result_load(path, r, e) : err_set(e, ENOMEM, "out of memory");
		if (rc < 0)
			return rc;
	}
}

int lives_settle(struct fleet_host *h, struct err *e)
{
	size_t n = h->lives + 1;

	if (h->lives == 0 || h->result == NULL)
		return 0;
	const struct result **life = calloc(n, sizeof(*life));
	struct result *all = calloc(1, sizeof(*all));
	int rc = life != NULL && all != NULL ? 0 : err_set(e, ENOMEM, "out of memory");
	for (size_t i = 0; rc == 0 && i < h->lives; i++)
		life[i] = &h->older[i];
	if (rc == 0) {
		life[n - 1] = h->result;
		rc = lives_join(life, n, h->now_ns, all, e);
	}
	free(life);
	if (rc < 0) {
		free(all);
		return rc;
	}
	for (size_t i = 0; i < h->lives; i++)
		result_free(&h->older[i]);
	free(h->older);
	h->older = NULL;
	h->lives = 0;
	result_free(h->result);
	free(h->result);
	h->result = all;
	return 0;
}
