#include "profile_keys.h"

#include "capability.h"
#include "device.h"
#include "matrix_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
const char *const bind_mode_name[BIND_MODES] = {
	[BIND_NONE] = "none",
	[BIND_KERNEL] = "kernel",
	[BIND_BIFURCATED] = "bifurcated",
	[BIND_VFIO_PCI] = "vfio-pci",
	[BIND_UIO_HV_GENERIC] = "uio_hv_generic",
};
const char *const mtu_by_name[MTU_BYS] = {
	[MTU_BY_PORT] = "port",
	[MTU_BY_KERNEL] = "kernel",
	[MTU_BY_RING] = "ring",
};
const char *const offload_name[OFFLOADS] = {
	"ipv4_cksum", "udp_cksum", "rx_cksum", "multi_segs", "scatter", "fast_free", "rss_hash",
	"vlan_insert",
};
const char *const rss_field_name[RSS_FIELDS] = {
	[RSS_FIELD_IPV4] = "ipv4", [RSS_FIELD_IPV6] = "ipv6", [RSS_FIELD_UDP4] = "udp4",
	[RSS_FIELD_UDP6] = "udp6",
};
// clang-format on

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

// --- lists

static int want_list(const struct yaml_doc *d, const struct yaml_item *v, const char *key,
		     const char *of, size_t max, struct err *e)
{
	char show[96];

	if (v->kind != YAML_LIST)
		return pos_fail(d->file, v->pos, e, "%s: %s given: expected a list of %s", key,
				yaml_show(v, show, sizeof(show)), of);
	if (v->count > max)
		return pos_fail(d->file, v->pos, e, "%s: %zu entries: expected at most %zu", key,
				v->count, max);
	return 0;
}

static int read_ids(const struct yaml_doc *d, const struct yaml_item *v, const char *key,
		    uint32_t *id, size_t max, struct err *e)
{
	static const char form[] = "PCI ids, as 8086:1592";
	char show[96];
	int ret = want_list(d, v, key, form, max, e);

	for (const struct yaml_item *i = v->child; ret == 0 && i != NULL; i = i->next, id++) {
		unsigned vendor, device;
		char end;

		ret = yaml_want_text(d, i, key, form, e);
		if (ret == 0 &&
		    (strlen(i->text) != 9 || i->text[4] != ':' ||
		     strspn(i->text, "0123456789abcdef:") != 9 ||
		     sscanf(i->text, "%4x:%4x%c", &vendor, &device, &end) != 2 || vendor == 0))
			ret = pos_fail(d->file, i->pos, e, "%s %s: expected %s, in lower case", key,
				       yaml_show(i, show, sizeof(show)), form);
		if (ret == 0)
			*id = vendor << 16 | device;
	}
	return ret;
}

static int set_pci_ids(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
		       struct err *e)
{
	struct profile *p = obj;

	return read_ids(d, v, "pci_ids", p->pci_id, PCI_IDS_MAX, e);
}

static int read_words(const struct yaml_doc *d, const struct yaml_item *v, const char *key,
		      const char *const *word, size_t n, uint32_t *set, struct err *e)
{
	char show[96], hint[256];
	int ret = want_list(d, v, key, "words", n, e);

	*set = 0;
	for (const struct yaml_item *i = v->child; ret == 0 && i != NULL; i = i->next) {
		size_t w = 0;

		ret = yaml_want_text(d, i, key, "a word", e);
		while (ret == 0 && w < n && strcmp(word[w], i->text) != 0)
			w++;
		if (ret == 0 && w == n)
			ret = pos_fail(d->file, i->pos, e, "%s %s: %s", key,
				       yaml_show(i, show, sizeof(show)),
				       yaml_suggest(i->text, word, n, hint, sizeof(hint)));
		if (ret == 0)
			*set |= UINT32_C(1) << w;
	}
	return ret;
}

static int set_offloads(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
			struct err *e)
{
	struct profile *p = obj;

	return read_words(d, v, "offloads", offload_name, OFFLOADS, &p->offloads, e);
}

static int set_rss_fields(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
			  struct err *e)
{
	struct profile *p = obj;

	return read_words(d, v, "rss_fields", rss_field_name, RSS_FIELDS, &p->rss_fields, e);
}

#define MODEL(field) YAML_FIELD(struct profile_model, field)
#define FAULT(field) YAML_FIELD(struct profile_fault, field)

static int set_model_ids(const struct yaml_doc *d, const struct yaml_item *v, void *obj,
			 struct err *e)
{
	struct profile_model *m = obj;

	return read_ids(d, v, "ids", m->id, sizeof(m->id) / sizeof(m->id[0]), e);
}

// clang-format off
static const struct yaml_key model_key[] = {
	{ .name = "name", .type = YAML_TYPE_TEXT, MODEL(name) },
	{ .name = "ids", .type = YAML_TYPE_CALL, .set = set_model_ids },
	{ .name = "gbps", .type = YAML_TYPE_REAL, MODEL(speed_gbps), .max = 100000 },
	{ .name = "mpps", .type = YAML_TYPE_REAL, MODEL(rated_mpps), .max = 100000 },
	{ .name = "source", .type = YAML_TYPE_TEXT, MODEL(source) },
};
static const struct yaml_key fault_key[] = {
	{ .name = "ref", .type = YAML_TYPE_TEXT, FAULT(ref) },
	{ .name = "text", .type = YAML_TYPE_TEXT, FAULT(text) },
};
// clang-format on
static const struct yaml_table model_table = YAML_TABLE("models", model_key);
static const struct yaml_table fault_table = YAML_TABLE("faults", fault_key);

// A rating that nobody can look up is none.
static int set_models(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct profile_model *m = ((struct profile *)obj)->model;
	int ret = want_list(d, v, "models", "mappings", PROFILE_MODELS_MAX, e);

	for (const struct yaml_item *i = v->child; ret == 0 && i != NULL; i = i->next, m++) {
		*m = (struct profile_model){ .speed_gbps = -1, .rated_mpps = -1 };
		ret = yaml_map_read(d, i, &model_table, m, e);
		if (ret == 0 && m->name[0] == '\0')
			ret = pos_fail(d->file, i->pos, e, "models: a model without 'name'");
		if (ret == 0 && m->rated_mpps >= 0 && m->source[0] == '\0')
			ret = pos_fail(d->file, i->pos, e,
				       "models '%s': mpps without 'source': expected where it was "
				       "read",
				       m->name);
	}
	return ret;
}

static int set_faults(const struct yaml_doc *d, const struct yaml_item *v, void *obj, struct err *e)
{
	struct profile_fault *f = ((struct profile *)obj)->fault;
	int ret = want_list(d, v, "faults", "mappings", PROFILE_FAULTS_MAX, e);

	for (const struct yaml_item *i = v->child; ret == 0 && i != NULL; i = i->next, f++) {
		ret = yaml_map_read(d, i, &fault_table, f, e);
		if (ret == 0 && f->text[0] == '\0')
			ret = pos_fail(d->file, i->pos, e, "faults: a fault without 'text'");
	}
	return ret;
}

#define FIELD(field) YAML_FIELD(struct profile, field)
#define WORDS(field, names, n) \
	.type = YAML_TYPE_WORD, FIELD(field), .words = (names), .word_count = (n)
#define AT(row) .pos = offsetof(struct profile, at) + (row) * sizeof(struct pos)
// Row by row, in the order in which profile_show writes.
// clang-format off
static const struct yaml_key profile_key[] = {
	{ .name = "pmd", .type = YAML_TYPE_TEXT, FIELD(pmd), AT(0) },
	{ .name = "virtual", .type = YAML_TYPE_BOOL, FIELD(virtual), AT(1) },
	{ .name = "pci_ids", .type = YAML_TYPE_CALL, .set = set_pci_ids, AT(2) },
	{ .name = "bind", WORDS(bind, bind_mode_name, BIND_MODES), AT(3) },
	{ .name = "kernel_driver", .type = YAML_TYPE_TEXT, FIELD(kernel_driver), AT(4) },
	{ .name = "capabilities", .type = YAML_TYPE_CALL, .set = set_capabilities, AT(5) },
	{ .name = "devargs", .type = YAML_TYPE_CALL, .set = set_devargs, FIELD(devargs), AT(6) },
	{ .name = "unlink", .type = YAML_TYPE_CALL, .set = set_unlink, FIELD(unlink), AT(7) },
	{ .name = "peer", .type = YAML_TYPE_TEXT, FIELD(peer), AT(8) },
	{ .name = "role", .type = YAML_TYPE_CALL, .set = set_role, FIELD(role), AT(9) },
	{ .name = "rxd", .type = YAML_TYPE_UINT, FIELD(rxd), .min = 8, .max = 32768, AT(10) },
	{ .name = "txd", .type = YAML_TYPE_UINT, FIELD(txd), .min = 8, .max = 32768, AT(11) },
	{ .name = "burst", .type = YAML_TYPE_UINT, FIELD(burst), .min = 1, .max = BURST_MAX,
	  AT(12) },
	{ .name = "queues_max", .type = YAML_TYPE_UINT, FIELD(queues_max), .min = 1,
	  .max = LCORES_MAX, AT(13) },
	{ .name = "mtu_max", .type = YAML_TYPE_UINT, FIELD(mtu_max), .min = 68, .max = UINT16_MAX,
	  AT(14) },
	{ .name = "mtu_by", WORDS(mtu_by, mtu_by_name, MTU_BYS), AT(15) },
	{ .name = "offloads", .type = YAML_TYPE_CALL, .set = set_offloads, AT(16) },
	{ .name = "checksum", WORDS(csum, csum_mode_name, CSUM_MODES), AT(17) },
	{ .name = "rss", WORDS(rss, rss_mode_name, RSS_MODES), AT(18) },
	{ .name = "rss_fields", .type = YAML_TYPE_CALL, .set = set_rss_fields, AT(19) },
	{ .name = "rss_key", .type = YAML_TYPE_CALL, .set = set_rss_key, FIELD(rss_key), AT(20) },
	{ .name = "rss_key_bytes", .type = YAML_TYPE_UINT, FIELD(rss_key_bytes), .min = 40,
	  .max = 80, AT(21) },
	{ .name = "reta_size", .type = YAML_TYPE_UINT, FIELD(reta_size), .min = 1, .max = 4096,
	  AT(22) },
	{ .name = "steering", WORDS(steering, steering_name, STEERINGS), AT(23) },
	{ .name = "queue_stats_max", .type = YAML_TYPE_UINT, FIELD(queue_stats_max), .max = 1024,
	  AT(24) },
	{ .name = "makes_iface", .type = YAML_TYPE_BOOL, FIELD(makes_iface), AT(35) },
	{ .name = "all_queues", .type = YAML_TYPE_BOOL, FIELD(all_queues), AT(34) },
	{ .name = "counts_missed", .type = YAML_TYPE_BOOL, FIELD(counts_missed), AT(25) },
	{ .name = "restart_until_link", .type = YAML_TYPE_BOOL, FIELD(restart_until_link), AT(26) },
	{ .name = "single_file_segments", .type = YAML_TYPE_BOOL, FIELD(single_file_segments),
	  AT(27) },
	{ .name = "quiet", .type = YAML_TYPE_BOOL, FIELD(quiet), AT(28) },
	{ .name = "rated_mpps", .type = YAML_TYPE_REAL, FIELD(rated_mpps), .max = 100000, AT(29) },
	{ .name = "speed_gbps", .type = YAML_TYPE_REAL, FIELD(speed_gbps), .max = 100000, AT(30) },
	{ .name = "models", .type = YAML_TYPE_CALL, .set = set_models, AT(31) },
	{ .name = "faults", .type = YAML_TYPE_CALL, .set = set_faults, AT(32) },
	{ .name = "notes", .type = YAML_TYPE_TEXT, FIELD(notes), AT(33) },
};
// clang-format on
_Static_assert(sizeof(profile_key) / sizeof(profile_key[0]) <= PROFILE_KEYS_MAX,
	       "raise PROFILE_KEYS_MAX");
const struct yaml_table profile_table = YAML_TABLE("profile", profile_key);

enum profile_list profile_list_of(const struct yaml_key *k)
{
	return k->set == set_pci_ids	    ? LIST_PCI_IDS
	       : k->set == set_offloads	    ? LIST_OFFLOADS
	       : k->set == set_rss_fields   ? LIST_RSS_FIELDS
	       : k->set == set_models	    ? LIST_MODELS
	       : k->set == set_faults	    ? LIST_FAULTS
	       : k->set == set_capabilities ? LIST_CAPABILITIES
					    : LIST_NONE;
}

// What one key says of another.
static int check_whole(const struct profile *p, const struct yaml_doc *d, struct err *e)
{
	struct pos pos = d->root->pos;

	if (p->virtual && p->devargs[0] == '\0')
		return pos_fail(d->file, pos, e,
				"devargs is missing: expected a template of the vdev, as "
				"net_x0,iface={iface}");
	if (p->virtual && p->pci_id[0] != 0)
		return pos_fail(d->file, pos, e, "pci_ids: a virtual device has none: remove them");
	if (p->virtual && (p->bind == BIND_VFIO_PCI || p->bind == BIND_BIFURCATED))
		return pos_fail(d->file, pos, e, "bind '%s': is for devices on PCI",
				bind_mode_name[p->bind]);
	if (p->rss_key[0] != '\0' && p->rss_key_bytes != 0 &&
	    strlen(p->rss_key) != 2u * p->rss_key_bytes)
		return pos_fail(d->file, pos, e, "rss_key: %zu bytes, and rss_key_bytes is %u",
				strlen(p->rss_key) / 2, p->rss_key_bytes);
	if (p->bind == BIND_BIFURCATED && p->kernel_driver[0] == '\0')
		return pos_fail(d->file, pos, e,
				"bind 'bifurcated': expected 'kernel_driver', the one it stays on");
	return 0;
}

int profile_parse(const char *name, const char *file, const char *text, size_t len,
		  struct profile *p, struct err *e)
{
	struct yaml_doc d;
	int ret = yaml_doc_parse(file, text, len, &d, e);

	if (ret < 0)
		return ret;
	memset(p, 0, sizeof(*p)); // two that are equal are so byte for byte
	p->rxd = 1024;
	p->txd = 1024;
	p->burst = 32;
	p->queues_max = LCORES_MAX;
	p->mtu_max = 9000;
	p->rated_mpps = -1;
	p->speed_gbps = -1;
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->file, sizeof(p->file), "%s", file);
	ret = yaml_map_read(&d, d.root, &profile_table, p, e);
	if (ret == 0)
		ret = check_whole(p, &d, e);
	yaml_doc_free(&d);
	return ret;
}
