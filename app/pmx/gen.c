#include "gen.h"

#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DATA_NET "198.18.0.0/24" // RFC 2544
#define DATA_NET_LARGE "198.18.0.0/16"
#define SMALL_NET_HOSTS 254

struct net {
	uint32_t addr;
	unsigned prefix_len;
};

static int net_parse(const struct gen *g, struct net *net, struct err *e)
{
	const char *text = g->data_net != NULL			  ? g->data_net
			   : g->servers->count <= SMALL_NET_HOSTS ? DATA_NET
								  : DATA_NET_LARGE;
	char base[16];

	if (parse_ip4_prefix(text, &net->addr, &net->prefix_len, e) < 0)
		return e == NULL ? -EINVAL : err_wrap(e, "option '--data-net'");
	uint32_t mask = UINT32_MAX << (32 - net->prefix_len);
	if ((net->addr & ~mask) != 0)
		return err_set(
			e, EINVAL,
			"option '--data-net': '%s' is an address in its net: expected the net, "
			"%s/%u",
			text, ip4_str(net->addr & mask, base, sizeof(base)), net->prefix_len);
	// without the network's own address and broadcast
	uint64_t room = net->prefix_len >= 31 ? 0 : (1ull << (32 - net->prefix_len)) - 2;
	if (room < g->servers->count)
		return err_set(e, EINVAL,
			       "option '--data-net': '%s' has %" PRIu64 " addresses for %zu hosts: "
			       "expected a shorter prefix",
			       text, room, g->servers->count);
	return 0;
}

const char *gen_own_size(char own[16], uint32_t bytes)
{
	snprintf(own, 16, "%" PRIu32, bytes);
	return own;
}

void gen_text_write(FILE *f, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._/@-:";
	size_t len = strlen(s);

	if (len > 0 && strspn(s, plain) == len && strchr("-:@", s[0]) == NULL &&
	    s[len - 1] != ':' && strcmp(s, "null") != 0) {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			fprintf(f, "\\x%02x", *s);
		else
			fprintf(f, strchr("\"\\", *s) != NULL ? "\\%c" : "%c", *s);
	fputc('"', f);
}

static void key_write(FILE *f, const char *key, const char *value)
{
	fprintf(f, "  %s: ", key);
	gen_text_write(f, value);
	fputc('\n', f);
}

static void comment_write(FILE *f, const struct gen *g)
{
	fprintf(f, "# %zu hosts of ", g->servers->count);
	for (const char *s = g->source; *s != '\0'; s++)
		fputc((unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s, f);
	fputc('\n', f);
}

static void defaults_write(FILE *f, const struct gen *g)
{
	fputs("\n# What holds for every host that does not say otherwise.\ndefaults:\n", f);
	if (g->device == NULL && g->device_example != NULL)
		fprintf(f,
			"  # FILL IN the device under test, here or in each host:\n"
			"  # device: %s\n",
			g->device_example);
	if (g->device == NULL && g->device_example != NULL && g->driver == NULL)
		fputs("  # or a kernel interface:\n"
		      "  # device: eth1\n"
		      "  # driver: af_packet\n",
		      f);
	if (g->device != NULL)
		key_write(f, "device", g->device);
	if (g->driver != NULL)
		key_write(f, "driver", g->driver);
	fprintf(f, "  queues: %" PRIu64 "\n", g->queues);
}

static void hosts_write(FILE *f, const struct gen *g, const struct net *net)
{
	fputs("\nhosts:\n", f);
	for (size_t i = 0; i < g->servers->count; i++) {
		const struct server *s = &g->servers->server[i];
		char addr[16];

		fputs("  ", f);
		gen_text_write(f, s->name);
		fputs(": {", f);
		if (s->ssh[0] != '\0' && !g->local) {
			fputs("ssh: ", f);
			gen_text_write(f, s->ssh);
			fputs(", ", f);
		}
		fprintf(f, "addr: %s/%u}\n",
			ip4_str(net->addr + (uint32_t)i + 1, addr, sizeof(addr)), net->prefix_len);
	}
}

int gen_write(FILE *f, const struct gen *g, struct err *e)
{
	struct net net;
	int ret = net_parse(g, &net, e);

	if (ret < 0)
		return ret;
	comment_write(f, g);
	fprintf(f, "pmx: 1\ntransport: %s\n", g->local ? "local" : "ssh");
	if (g->ssh_user != NULL && !g->local) {
		fputs("\nssh:\n", f);
		key_write(f, "user", g->ssh_user);
	}
	defaults_write(f, g);
	hosts_write(f, g, &net);
	gen_traffic_write(f, g);
	return 0;
}
