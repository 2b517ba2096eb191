#include "on_wire.h"

#include "result.h"

#define MTU_ETHERNET 1500

static struct wire_mean mean(const struct size_mix *mix, uint32_t bytes, const struct sender *by,
			     uint32_t tags)
{
	uint64_t l1 = 0, frames = 0;

	if (mix->cycle == NULL)
		return (struct wire_mean){ datagram_l1_bytes(by, tags, bytes),
					   datagram_frames(by, bytes) };
	for (uint32_t i = 0; i < mix->cycle->count; i++) {
		l1 += datagram_l1_bytes(by, tags, (uint32_t)mix->cycle->v[i]);
		frames += datagram_frames(by, (uint32_t)mix->cycle->v[i]);
	}
	return (struct wire_mean){ (double)l1 / mix->cycle->count,
				   (double)frames / mix->cycle->count };
}

struct wire_mean request_wire(const struct matrix *m, const struct sender *by, uint32_t tags)
{
	return mean(&m->traffic.req_mix, m->traffic.req_bytes, by, tags);
}

struct wire_mean reply_wire(const struct matrix *m, const struct sender *by, uint32_t tags)
{
	return mean(&m->traffic.rep_mix, m->traffic.rep_bytes, by, tags);
}

struct sender host_sender(const struct matrix_host *h)
{
	return (struct sender){
		.mtu = h->mtu != 0 ? h->mtu : MTU_ETHERNET,
		.ip6 = !ip_is4(&h->addr),
		.tags = (uint32_t)h->vlan_count,
	};
}

struct sender host_sender_at(const struct matrix_host *h, uint64_t mtu)
{
	struct sender by = host_sender(h);

	if (mtu != COUNTER_UNKNOWN)
		by.mtu = (uint32_t)mtu;
	return by;
}

struct sender matrix_sender(const struct matrix *m)
{
	const struct matrix_host *most = &m->host[0];

	for (size_t i = 1; i < m->host_count; i++)
		if (host_encap(&m->host[i]) > host_encap(most))
			most = &m->host[i];
	return host_sender(most);
}
