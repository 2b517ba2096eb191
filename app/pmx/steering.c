#include "steering.h"

#include "profile_keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The key of Microsoft's RSS verification suite, for which anyone can check a hash.
static const char default_key[] =
	"6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa";
_Static_assert(sizeof(default_key) == 2 * RSS_KEY_BYTES + 1, "all that a hash takes");

// A hash of addresses alone sends all frames of a peer to one queue, whatever their ports.
static bool hashes_ports(const struct profile *p, bool ip4)
{
	uint32_t of_ports = 1u << (ip4 ? RSS_FIELD_UDP4 : RSS_FIELD_UDP6);

	return p->rss_fields == 0 || (p->rss_fields & of_ports) != 0;
}

void steer_own(const struct profile *p, bool ip4, struct hostcfg *c)
{
	bool rss = p->steering == STEER_RSS && hashes_ports(p, ip4);
	bool ours = rss && p->rss == RSS_ON && p->rss_key[0] == '\0';

	c->port.steering = p->steering == STEER_RSS && !rss ? STEER_NONE : p->steering;
	if (ours)
		memcpy(c->port.rss_key, default_key, sizeof(default_key));
	else
		memcpy(c->port.rss_key, p->rss_key, sizeof(c->port.rss_key));
}

static bool by_ports(const struct hostcfg *c)
{
	return c->port.queues > 1 &&
	       (c->port.steering == STEER_RULES ||
		(c->port.steering == STEER_RSS && c->port.rss_key[0] != '\0'));
}

static bool same(const struct steer *a, const struct steer *b)
{
	return a->by == b->by && a->queues == b->queues && strcmp(a->rss_key, b->rss_key) == 0;
}

int steer_peer(struct hostcfg *c, const struct hostcfg *peer, uint32_t *peer_steer)
{
	struct steer want = { .by = peer->port.steering, .queues = peer->port.queues };

	*peer_steer = 0;
	if (!by_ports(peer))
		return 0;
	if (want.by == STEER_RSS)
		memcpy(want.rss_key, peer->port.rss_key, sizeof(want.rss_key));
	for (size_t i = 0; i < c->steer_count && *peer_steer == 0; i++)
		if (same(&c->steer[i], &want))
			*peer_steer = (uint32_t)i + 1;
	if (*peer_steer != 0)
		return 0;
	struct steer *more = realloc(c->steer, (c->steer_count + 1) * sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	c->steer = more;
	c->steer[c->steer_count++] = want;
	*peer_steer = (uint32_t)c->steer_count;
	return 0;
}
