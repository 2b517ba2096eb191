#include "iface.h"

#include <dirent.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 32768
#define ANSWER_S 5

unsigned int iface_rx_queues(const char *name)
{
	char path[128];
	unsigned int n = 0;
	snprintf(path, sizeof(path), "/sys/class/net/%.32s/queues", name);
	DIR *d = opendir(path);
	if (d == NULL)
		return 0;
	for (struct dirent *f; (f = readdir(d)) != NULL;)
		n += strncmp(f->d_name, "rx-", 3) == 0;
	closedir(d);
	return n;
}

unsigned int iface_mtu(unsigned int index, char *name)
{
	struct ifreq r = { 0 };
	if (if_indextoname(index, name) == NULL)
		return 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	memcpy(r.ifr_name, name, sizeof(r.ifr_name));
	unsigned int mtu = ioctl(fd, SIOCGIFMTU, &r) == 0 ? (unsigned int)r.ifr_mtu : 0;
	close(fd);
	return mtu;
}

struct request {
	struct nlmsghdr head;
	struct ifinfomsg info;
	struct {
		struct nlattr xdp, fd;
		int fd_value;
		struct nlattr flags;
		int flags_value;
	} attr;
};

// Sends one request of rtnetlink(7) and reads its answer. Bytes, or -errno.
static ssize_t ask(const struct request *r, void *answer, size_t size)
{
	const struct timeval wait = { .tv_sec = ANSWER_S };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	ssize_t n = send(fd, r, r->head.nlmsg_len, 0);
	if (n >= 0)
		n = recv(fd, answer, size, 0);
	if (n < 0)
		n = -errno;
	close(fd);
	return n;
}

static int error_of(const struct nlmsghdr *h)
{
	const struct nlmsgerr *e = NLMSG_DATA(h);
	return e->error;
}

struct attached {
	unsigned char mode; // XDP_ATTACHED_NONE...
	int id;
};

static void read_attached(struct rtattr *xdp, struct attached *at)
{
	int len = (int)RTA_PAYLOAD(xdp);
	for (struct rtattr *a = RTA_DATA(xdp); RTA_OK(a, len); a = RTA_NEXT(a, len)) {
		if (a->rta_type == IFLA_XDP_ATTACHED)
			at->mode = *(unsigned char *)RTA_DATA(a);
		else if (a->rta_type >= IFLA_XDP_PROG_ID && a->rta_type <= IFLA_XDP_HW_PROG_ID)
			memcpy(&at->id, RTA_DATA(a), sizeof(at->id));
	}
}

static int get_attached(const char *name, struct attached *at)
{
	static const size_t body = sizeof(struct ifinfomsg);
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	struct nlmsghdr *h = (struct nlmsghdr *)answer;
	struct request r = {
		.head = { .nlmsg_len = NLMSG_LENGTH(body),
			  .nlmsg_type = RTM_GETLINK,
			  .nlmsg_flags = NLM_F_REQUEST },
		.info = { .ifi_index = (int)if_nametoindex(name) },
	};
	*at = (struct attached){ .mode = XDP_ATTACHED_NONE };
	if (r.info.ifi_index == 0)
		return -ENODEV;
	ssize_t n = ask(&r, answer, sizeof(answer));
	if (n < 0)
		return (int)n;
	if (!NLMSG_OK(h, (size_t)n))
		return -EIO;
	if (h->nlmsg_type == NLMSG_ERROR)
		return error_of(h);
	int len = (int)(h->nlmsg_len - NLMSG_LENGTH(body));
	struct rtattr *a = IFLA_RTA(NLMSG_DATA(h));
	for (; RTA_OK(a, len); a = RTA_NEXT(a, len))
		if (a->rta_type == IFLA_XDP)
			read_attached(a, at);
	return 0;
}

int iface_xdp(const char *name)
{
	struct attached at;
	int r = get_attached(name, &at);
	return r < 0 ? r : at.mode == XDP_ATTACHED_NONE ? 0 : at.id;
}

// A program is taken off in the mode that it is on.
static int mode_flags(unsigned char mode)
{
	return mode == XDP_ATTACHED_SKB	  ? XDP_FLAGS_SKB_MODE
	       : mode == XDP_ATTACHED_DRV ? XDP_FLAGS_DRV_MODE
	       : mode == XDP_ATTACHED_HW  ? XDP_FLAGS_HW_MODE
					  : 0;
}

int iface_xdp_off(const char *name)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	struct nlmsghdr *h = (struct nlmsghdr *)answer;
	struct attached at;
	int got = get_attached(name, &at);
	if (got < 0)
		return got;
	struct request r = {
		.head = { .nlmsg_len = sizeof(r),
			  .nlmsg_type = RTM_SETLINK,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.info = { .ifi_index = (int)if_nametoindex(name) },
		.attr = { .xdp = { .nla_len = sizeof(r.attr), .nla_type = IFLA_XDP | NLA_F_NESTED },
			  .fd = { .nla_len = sizeof(r.attr.fd) + sizeof(r.attr.fd_value),
				  .nla_type = IFLA_XDP_FD },
			  .fd_value = -1,
			  .flags = { .nla_len = sizeof(r.attr.flags) + sizeof(r.attr.flags_value),
				     .nla_type = IFLA_XDP_FLAGS },
			  .flags_value = mode_flags(at.mode) },
	};
	if (r.info.ifi_index == 0)
		return -ENODEV;
	ssize_t n = ask(&r, answer, sizeof(answer));
	if (n < 0)
		return (int)n;
	return NLMSG_OK(h, (size_t)n) && h->nlmsg_type == NLMSG_ERROR ? error_of(h) : -EIO;
}
