// What frames look like beyond their sizes: tags, DSCP; and what it costs in bytes.
#include "matrix_frame.h"

#include "hostcfg.h"
#include "units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VLAN_FORM "an id from 1 to 4094, or a list of two, the outer one first, as [100, 200]"

static int id_read(const struct yaml_doc *d, const struct yaml_item *v, uint16_t *id, struct err *e)
{
	char show[96];
	uint64_t n;

	if (v->kind != YAML_TEXT || parse_u64(v->text, 1, VLAN_ID_MAX, &n, NULL) < 0)
		return pos_fail(d->file, v->pos, e, "vlan %s: expected " VLAN_FORM,
				yaml_show(v, show, sizeof(show)));
	*id = (uint16_t)n;
	return 0;
}

int vlan_read(const struct yaml_doc *d, const struct yaml_item *v, struct matrix_host *h,
	      struct err *e)
{
	bool list = v->kind == YAML_LIST;
	const struct yaml_item *item = list ? v->child : v;
	size_t n = list ? v->count : 1;
	char show[96];

	if (n < 1 || n > VLANS_MAX)
		return pos_fail(d->file, v->pos, e, "vlan: %s of %zu: expected " VLAN_FORM,
				yaml_show(v, show, sizeof(show)), n);
	for (size_t i = 0; i < n; i++, item = item->next) {
		int ret = id_read(d, item, &h->vlan[i], e);

		if (ret < 0)
			return ret;
	}
	h->vlan_count = n;
	return 0;
}

// RFC 2474 (cs), RFC 2597 (af), RFC 3246 (ef), RFC 5865 (va), RFC 8622 (le).
static const struct {
	const char *name;
	uint8_t dscp;
} dscp_name[] = {
	{ "cs0", 0 },	{ "le", 1 },	{ "cs1", 8 },	{ "af11", 10 }, { "af12", 12 },
	{ "af13", 14 }, { "cs2", 16 },	{ "af21", 18 }, { "af22", 20 }, { "af23", 22 },
	{ "cs3", 24 },	{ "af31", 26 }, { "af32", 28 }, { "af33", 30 }, { "cs4", 32 },
	{ "af41", 34 }, { "af42", 36 }, { "af43", 38 }, { "cs5", 40 },	{ "va", 44 },
	{ "ef", 46 },	{ "cs6", 48 },	{ "cs7", 56 },
};

int dscp_read(const struct yaml_doc *d, const struct yaml_item *v, uint8_t *dscp, struct err *e)
{
	static const char form[] = "a number from 0 to 63, or a name, as ef, af41, cs1";
	char show[96];
	uint64_t n;
	int ret = yaml_want_text(d, v, "dscp", form, e);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < sizeof(dscp_name) / sizeof(dscp_name[0]); i++)
		if (strcmp(v->text, dscp_name[i].name) == 0) {
			*dscp = dscp_name[i].dscp;
			return 0;
		}
	if (parse_u64(v->text, 0, DSCP_MAX, &n, NULL) < 0)
		return pos_fail(d->file, v->pos, e, "dscp %s: expected %s",
				yaml_show(v, show, sizeof(show)), form);
	*dscp = (uint8_t)n;
	return 0;
}

uint32_t host_encap(const struct matrix_host *h)
{
	return encap_bytes(!ip_is4(&h->addr), (unsigned)h->vlan_count);
}

uint32_t matrix_encap(const struct matrix *m)
{
	uint32_t most = 0;

	for (size_t i = 0; i < m->host_count; i++) {
		uint32_t encap = host_encap(&m->host[i]);

		most = encap > most ? encap : most;
	}
	return most;
}
