#include "fanout.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/packet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_BYTES 32768
#define ANSWER_S 5
#define PMD "net_af_packet"

// As rte_eth_af_packet.c makes it.
static unsigned int own_id(const char *vdev)
{
	char name[IF_NAMESIZE];
	const char *iface = strstr(vdev, "iface=");
	if (iface == NULL)
		return 0;
	iface += strlen("iface=");
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(iface, ","), iface);
	return ((unsigned int)getpid() ^ if_nametoindex(name)) & 0xffff;
}

// The low half of the attribute is the id, the high one the kind of fan-out.
static bool has_id(struct nlmsghdr *h, unsigned int id)
{
	int len = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof(struct packet_diag_msg)));
	struct rtattr *a = (struct rtattr *)((char *)NLMSG_DATA(h) +
					     NLMSG_ALIGN(sizeof(struct packet_diag_msg)));
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		unsigned int value;
		if (a->rta_type != PACKET_DIAG_FANOUT)
			continue;
		memcpy(&value, RTA_DATA(a), sizeof(value));
		if ((value & 0xffff) == id)
			return true;
	}
	return false;
}

// Reads the sockets that sock_diag(7) lists, to the end.
static bool search(int fd, unsigned int id)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	for (;;) {
		ssize_t n = recv(fd, answer, sizeof(answer), 0);
		if (n <= 0)
			return false;
		struct nlmsghdr *h;
		for (size_t at = 0; at + sizeof(*h) <= (size_t)n; at += NLMSG_ALIGN(h->nlmsg_len)) {
			h = (struct nlmsghdr *)(answer + at);
			if (h->nlmsg_len < sizeof(*h) || h->nlmsg_len > (size_t)n - at)
				return false;
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
				return false;
			if (has_id(h, id))
				return true;
		}
	}
}

static bool in_use(unsigned int id)
{
	struct {
		struct nlmsghdr head;
		struct packet_diag_req ask;
	} r = {
		.head = { .nlmsg_len = sizeof(r),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.ask = { .sdiag_family = AF_PACKET, .pdiag_show = PACKET_SHOW_FANOUT },
	};
	const struct timeval wait = { .tv_sec = ANSWER_S };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	bool found = send(fd, &r, sizeof(r), 0) == sizeof(r) && search(fd, id);
	close(fd);
	return found;
}

// The name of an abstract socket belongs to the network namespace, as the id does, and goes with
// the process.
static bool reserve(unsigned int id)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "pmx-fanout-%u", id);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	if (fd < 0 || bind(fd, (struct sockaddr *)&name, len) == 0)
		return true; // it stays open
	bool taken = errno == EADDRINUSE;
	close(fd);
	return !taken;
}

bool fanout_claim(const char *vdev)
{
	if (strncmp(vdev, PMD, strlen(PMD)) != 0)
		return true;
	unsigned int id = own_id(vdev);
	return reserve(id) && !in_use(id);
}
