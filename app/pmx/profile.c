#include "profile.h"

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

size_t profile_names(const char *const *dirs, char **name)
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

void profile_names_free(char **name, size_t n)
{
	while (n > 0)
		free(name[--n]);
}

static int no_profile(const char *name, const char *const *dirs, struct err *e)
{
	char *names[PROFILES_MAX], hint[512];
	size_t n = profile_names(dirs, names);

	if (n == 0)
		err_set(e, ENOENT,
			"driver '%s': no profiles in %s: expected the path of "
			"drivers-config by --drivers",
			name, dirs[0] == NULL ? "no directory" : dirs[0]);
	else
		err_set(e, ENOENT, "driver '%s': no such profile: %s", name,
			yaml_suggest(name, (const char *const *)names, n, hint, sizeof(hint)));
	profile_names_free(names, n);
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
	size_t n = profile_names(dirs, names), len = strcspn(device, ",");
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
	profile_names_free(names, n);
	if (ret < 0)
		err_set(e, ENOENT,
			"device '%.60s': no profile has the PMD %.*s: expected one that "
			"'driver:' names",
			device, (int)len, device);
	return ret;
}

// What is known of the port goes before what is assumed of the driver.
static void model_apply(struct profile *p, const struct profile_model *m)
{
	if (m->rated_mpps >= 0)
		p->rated_mpps = m->rated_mpps;
	if (m->speed_gbps >= 0)
		p->speed_gbps = m->speed_gbps;
}

int profile_load_pci(uint32_t id, const char *const *dirs, struct profile *p, struct err *e)
{
	char *names[PROFILES_MAX];
	size_t n = profile_names(dirs, names);
	bool found = false;

	for (size_t i = 0; i < n && !found; i++) {
		struct err ignored = { 0 };

		// one broken profile must not stop the hosts that need another
		if (profile_load(names[i], dirs, p, &ignored) < 0)
			continue;
		for (size_t j = 0; j < PCI_IDS_MAX && p->pci_id[j] != 0; j++)
			found = found || p->pci_id[j] == id;
	}
	profile_names_free(names, n);
	if (!found)
		return profile_load("default", dirs, p, e);
	for (size_t i = 0; i < PROFILE_MODELS_MAX; i++)
		for (size_t j = 0; j < sizeof(p->model[i].id) / sizeof(p->model[i].id[0]); j++)
			if (p->model[i].id[j] == id)
				model_apply(p, &p->model[i]);
	return 0;
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
	case DEVICE_NET:
		return err_set(e, EINVAL,
			       "device '%s': %s: expected 'driver: af_packet' or 'driver: af_xdp' "
			       "with it",
			       h->device,
			       device_kind(h->device) == DEVICE_NET ? "a data subnet"
								    : "a kernel interface");
	default:
		return h->pci_id != 0 ? profile_load_pci(h->pci_id, dirs, p, e)
				      : profile_load("default", dirs, p, e);
	}
}

int profile_load_host(const struct matrix *m, const struct matrix_host *h, const char *const *dirs,
		      struct profile *p, struct err *e)
{
	struct pos at = h->at.driver.line != 0 ? h->at.driver : h->at.device;
	int ret = load_for_host(h, dirs, p, e);

	return ret < 0 && e != NULL ? err_wrap(e, "%s:%d:%d", m->file, at.line, at.col) : ret;
}

// The host before i whose profile this one shares, or i.
static size_t same_as(const struct matrix *m, size_t i)
{
	const struct matrix_host *h = &m->host[i];

	for (size_t j = i; j-- > 0;)
		if (strcmp(m->host[j].driver, h->driver) == 0 &&
		    (h->driver[0] != '\0' ||
		     (strcmp(m->host[j].device, h->device) == 0 && m->host[j].pci_id == h->pci_id)))
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
		size_t twin = same_as(m, i);

		if (twin != i) {
			p[i] = p[twin];
			continue;
		}
		int ret = profile_load_host(m, h, dirs, &p[i], e);
		if (ret < 0) {
			free(p);
			return ret;
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
