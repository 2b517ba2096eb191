#include "profile.h"

#include "capability.h"
#include "device.h"
#include "matrix_parts.h"
#include "slurp.h"
#include "yaml_map.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".yaml"
#define PROFILES_MAX 256

static int set_template(const struct yaml_doc *d, const struct yaml_item *v, const char *key,
			char *buf, size_t size, struct err *e)
{
	char show[96];
	int ret = yaml_want_text(d, v, key, "a template, as net_x0,iface={iface}", e);

	if (ret < 0)
		return ret;
	if (strlen(v->text) >= size)
		return pos_fail(d->file, v->pos, e, "%s %s: expected at most %zu characters", key,
				yaml_show(v, show, sizeof(show)), size - 1);
	if (device_template_check(v->text, e) < 0)
		return yaml_wrap(d, v->pos, key, e);
	memcpy(buf, v->text, strlen(v->text) + 1);
	return 0;
}

static int set_devargs(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
		       struct err *e)
{
	struct profile *p = obj;

	return set_template(d, v, "devargs", p->devargs, sizeof(p->devargs), e);
}

static int set_unlink(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct profile *p = obj;

	return set_template(d, v, "unlink", p->unlink, sizeof(p->unlink), e);
}

static int set_rss_key(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
		       struct err *e)
{
	static const char form[] = "40 to 80 bytes as pairs of hex digits";
	struct profile *p = obj;
	char show[96];
	int ret = yaml_want_text(d, v, "rss_key", form, e);

	if (ret < 0)
		return ret;
	size_t len = strlen(v->text);
	if (strspn(v->text, "0123456789abcdefABCDEF") != len || len % 2 != 0 || len < 80 ||
	    len >= sizeof(p->rss_key))
		return pos_fail(d->file, v->pos, e, "rss_key %s: expected %s",
				yaml_show(v, show, sizeof(show)), form);
	memcpy(p->rss_key, v->text, len + 1);
	return 0;
}

static int set_role(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct profile *p = obj;

	return role_read(d, v, p->role, sizeof(p->role), e);
}

static int set_capabilities(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
			    struct err *e)
{
	struct profile *p = obj;
	int ret = yaml_want_text(d, v, "capabilities", "words, as net_raw", e);

	if (ret == 0 && capability_read(v->text, &p->capabilities, e) < 0)
		ret = yaml_wrap(d, v->pos, "capabilities", e);
	return ret;
}

#define FIELD(field) YAML_FIELD(struct profile, field)
// clang-format off
static const struct yaml_key profile_key[] = {
	{ .name = "pmd", .type = YAML_TYPE_TEXT, FIELD(pmd) },
	{ .name = "virtual", .type = YAML_TYPE_BOOL, FIELD(virtual) },
	{ .name = "devargs", .type = YAML_TYPE_CALL, .set = set_devargs },
	{ .name = "unlink", .type = YAML_TYPE_CALL, .set = set_unlink },
	{ .name = "peer", .type = YAML_TYPE_TEXT, FIELD(peer) },
	{ .name = "role", .type = YAML_TYPE_CALL, .set = set_role },
	{ .name = "rxd", .type = YAML_TYPE_UINT, FIELD(rxd), .min = 8, .max = 32768 },
	{ .name = "txd", .type = YAML_TYPE_UINT, FIELD(txd), .min = 8, .max = 32768 },
	{ .name = "burst", .type = YAML_TYPE_UINT, FIELD(burst), .min = 1, .max = BURST_MAX },
	{ .name = "queues_max", .type = YAML_TYPE_UINT, FIELD(queues_max), .min = 1,
	  .max = LCORES_MAX },
	{ .name = "mtu_max", .type = YAML_TYPE_UINT, FIELD(mtu_max), .min = 68, .max = UINT16_MAX },
	{ .name = "checksum", .type = YAML_TYPE_WORD, FIELD(csum), .words = csum_mode_name,
	  .word_count = CSUM_MODES },
	{ .name = "rss", .type = YAML_TYPE_WORD, FIELD(rss), .words = rss_mode_name,
	  .word_count = RSS_MODES },
	{ .name = "rss_key", .type = YAML_TYPE_CALL, .set = set_rss_key },
	{ .name = "restart_until_link", .type = YAML_TYPE_BOOL, FIELD(restart_until_link) },
	{ .name = "capabilities", .type = YAML_TYPE_CALL, .set = set_capabilities },
	{ .name = "all_queues", .type = YAML_TYPE_BOOL, FIELD(all_queues) },
	{ .name = "counts_missed", .type = YAML_TYPE_BOOL, FIELD(counts_missed) },
	{ .name = "single_file_segments", .type = YAML_TYPE_BOOL, FIELD(single_file_segments) },
	{ .name = "rated_mpps", .type = YAML_TYPE_REAL, FIELD(rated_mpps), .max = 100000 },
	{ .name = "speed_gbps", .type = YAML_TYPE_REAL, FIELD(speed_gbps), .max = 100000 },
	{ .name = "notes", .type = YAML_TYPE_TEXT, FIELD(notes) },
};
// clang-format on
static const struct yaml_table profile_table = YAML_TABLE("profile", profile_key);

int profile_parse(const char *name, const char *file, const char *text, size_t len,
		  struct profile *p, struct err *e)
{
	struct yaml_doc d;
	int ret = yaml_doc_parse(file, text, len, &d, e);

	if (ret < 0)
		return ret;
	*p = (struct profile){
		.rxd = 1024,
		.txd = 1024,
		.burst = 32,
		.queues_max = LCORES_MAX,
		.mtu_max = 9000,
		.rated_mpps = -1,
		.speed_gbps = -1,
	};
	snprintf(p->name, sizeof(p->name), "%s", name);
	ret = yaml_map_read(&d, d.root, &profile_table, p, e);
	if (ret == 0 && p->virtual && p->devargs[0] == '\0')
		ret = pos_fail(file, d.root->pos, e,
			       "devargs is missing: expected a template of the vdev, as "
			       "net_x0,iface={iface}");
	yaml_doc_free(&d);
	return ret;
}

bool profile_wants_iface(const struct profile *p)
{
	return p->virtual && strstr(p->devargs, "{iface}") != NULL;
}

bool profile_needs_device(const struct profile *p)
{
	return !p->virtual || profile_wants_iface(p);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

// Names of all profiles, sorted, once each; owned strings.
static size_t names_list(const char *const *dirs, char **name)
{
	size_t n = 0, kept = 0;

	for (; *dirs != NULL; dirs++) {
		DIR *dir = opendir(*dirs);
		struct dirent *f;

		while (dir != NULL && (f = readdir(dir)) != NULL && n < PROFILES_MAX) {
			size_t len = strlen(f->d_name), cut = strlen(SUFFIX);

			if (f->d_name[0] != '.' && len > cut &&
			    strcmp(f->d_name + len - cut, SUFFIX) == 0 &&
			    (name[n] = strndup(f->d_name, len - cut)) != NULL)
				n++;
		}
		if (dir != NULL)
			closedir(dir);
	}
	qsort(name, n, sizeof(*name), by_text);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && strcmp(name[kept - 1], name[i]) == 0)
			free(name[i]);
		else
			name[kept++] = name[i];
	}
	return kept;
}

static void names_free(char **name, size_t n)
{
	while (n > 0)
		free(name[--n]);
}

static int no_profile(const char *name, const char *const *dirs, struct err *e)
{
	char *names[PROFILES_MAX], hint[512];
	size_t n = names_list(dirs, names);

	if (n == 0)
		err_set(e, ENOENT,
			"driver '%s': no profiles in %s: expected the path of "
			"drivers-config by --drivers",
			name, dirs[0] == NULL ? "no directory" : dirs[0]);
	else
		err_set(e, ENOENT, "driver '%s': no such profile: %s", name,
			yaml_suggest(name, (const char *const *)names, n, hint, sizeof(hint)));
	names_free(names, n);
	return -ENOENT;
}

int profile_load(const char *name, const char *const *dirs, struct profile *p, struct err *e)
{
	if (!name_ok(name, "_-") || strlen(name) >= sizeof(p->name))
		return err_set(e, EINVAL, "driver '%.60s': expected the name of a profile", name);
	for (const char *const *dir = dirs; *dir != NULL; dir++) {
		char path[4096 + NAME_MAX_BYTES], *text;
		size_t len;
		int ret;

		snprintf(path, sizeof(path), "%s/%s" SUFFIX, *dir, name);
		ret = slurp(path, &text, &len, e);
		if (ret == -ENOENT || ret == -ENOTDIR)
			continue;
		if (ret < 0)
			return ret;
		ret = profile_parse(name, path, text, len, p, e);
		free(text);
		return ret;
	}
	return no_profile(name, dirs, e);
}

// net_af_packet0,iface=x -> net_af_packet: DPDK finds a vdev's driver by its name's beginning.
static int load_for_vdev(const char *device, const char *const *dirs, struct profile *p,
			 struct err *e)
{
	char *names[PROFILES_MAX];
	size_t n = names_list(dirs, names), len = strcspn(device, ",");
	int ret = -ENOENT;

	while (len > 0 && device[len - 1] >= '0' && device[len - 1] <= '9')
		len--;
	for (size_t i = 0; i < n && ret == -ENOENT; i++) {
		struct err ignored = { 0 };

		// one broken profile must not stop the hosts that need another
		if (profile_load(names[i], dirs, p, &ignored) == 0 && p->virtual &&
		    strlen(p->pmd) == len && strncmp(p->pmd, device, len) == 0)
			ret = 0;
	}
	names_free(names, n);
	if (ret < 0)
		err_set(e, ENOENT,
			"device '%.60s': no profile has the PMD %.*s: expected one that "
			"'driver:' names",
			device, (int)len, device);
	return ret;
}

static int load_for_host(const struct matrix_host *h, const char *const *dirs, struct profile *p,
			 struct err *e)
{
	if (h->driver[0] != '\0')
		return profile_load(h->driver, dirs, p, e);
	switch (device_kind(h->device)) {
	case DEVICE_VDEV:
		return load_for_vdev(h->device, dirs, p, e);
	case DEVICE_IFACE:
		return err_set(e, EINVAL,
			       "device '%s': a kernel interface: expected 'driver: af_packet' "
			       "or 'driver: af_xdp' with it",
			       h->device);
	default:
		return profile_load("default", dirs, p, e);
	}
}

// The host before i whose profile this one shares, or i.
static size_t same_as(const struct matrix *m, size_t i)
{
	const struct matrix_host *h = &m->host[i];

	for (size_t j = i; j-- > 0;)
		if (strcmp(m->host[j].driver, h->driver) == 0 &&
		    (h->driver[0] != '\0' || strcmp(m->host[j].device, h->device) == 0))
			return j;
	return i;
}

int profile_load_all(const struct matrix *m, const char *const *dirs, struct profile **out,
		     struct err *e)
{
	struct profile *p = calloc(m->host_count, sizeof(*p));

	if (p == NULL)
		return err_set(e, ENOMEM, "%s: out of memory", m->file);
	for (size_t i = 0; i < m->host_count; i++) {
		const struct matrix_host *h = &m->host[i];
		struct pos at = h->at.driver.line != 0 ? h->at.driver : h->at.device;
		size_t twin = same_as(m, i);

		if (twin != i) {
			p[i] = p[twin];
			continue;
		}
		int ret = load_for_host(h, dirs, &p[i], e);
		if (ret < 0) {
			free(p);
			return e == NULL ? ret : err_wrap(e, "%s:%d:%d", m->file, at.line, at.col);
		}
	}
	*out = p;
	return 0;
}

void profile_dirs_find(const char *first, struct profile_dirs *d)
{
	size_t n = 0;
	char exe[2048];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	*d = (struct profile_dirs){ 0 };
	if (first != NULL)
		d->dir[n++] = first;
	if (len > 0) {
		exe[len] = '\0';
		*strrchr(exe, '/') = '\0';
		snprintf(d->installed, sizeof(d->installed), "%s/../share/pmx/drivers-config", exe);
		if (access(d->installed, R_OK) == 0)
			d->dir[n++] = d->installed;
	}
	// an installed pmx does not look into a tree that may be gone or somebody else's
	if (d->installed[0] == '\0' || n == 0 || d->dir[n - 1] != d->installed)
		d->dir[n++] = PMX_DRIVERS_DIR;
}
