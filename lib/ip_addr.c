#include "ip_addr.h"

#include "parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define IP4_AT 12

static const uint8_t mapped[IP4_AT] = { [10] = 0xff, 0xff };

bool ip_is4(const struct ip_addr *a)
{
	return memcmp(a->b, mapped, sizeof(mapped)) == 0;
}

uint32_t ip4_of(const struct ip_addr *a)
{
	const uint8_t *b = a->b + IP4_AT;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

bool ip_none(const struct ip_addr *a)
{
	return ip_eq(a, &(struct ip_addr){ { 0 } });
}

int ip_cmp(const struct ip_addr *a, const struct ip_addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b));
}

unsigned ip_bits(const struct ip_addr *a)
{
	return ip_is4(a) ? 32 : 128;
}

bool ip_same_net(const struct ip_addr *a, const struct ip_addr *b, unsigned prefix_len)
{
	unsigned bits = prefix_len + (ip_is4(a) ? 8 * IP4_AT : 0), bytes = bits / 8;
	uint8_t mask = (uint8_t)(0xff00 >> bits % 8);

	return ip_is4(a) == ip_is4(b) && memcmp(a->b, b->b, bytes) == 0 &&
	       (bits % 8 == 0 || ((a->b[bytes] ^ b->b[bytes]) & mask) == 0);
}

static int refuse(struct err *e, const char *s, const char *form)
{
	return err_set(e, EINVAL, "address '%s': expected %s", s, form);
}

// An IPv4-compatible address, deprecated by RFC 4291 (2.5.5.1): its text would have one, too.
static bool has_ip4_tail(const struct ip_addr *a)
{
	static const uint8_t none[IP4_AT];

	return memcmp(a->b, none, sizeof(none)) == 0 && (a->b[IP4_AT] | a->b[IP4_AT + 1]) != 0;
}

int parse_ip(const char *s, struct ip_addr *out, struct err *e)
{
	uint32_t four;
	struct ip_addr six;

	if (parse_ip4(s, &four, NULL) == 0) {
		*out = IP4(four);
		return 0;
	}
	// an IPv4 tail is another way to write what has one already
	if (strchr(s, '.') != NULL || inet_pton(AF_INET6, s, six.b) != 1 || ip_is4(&six) ||
	    has_ip4_tail(&six))
		return refuse(e, s, "IPv4 or IPv6, as 198.18.0.1 or 2001:2::1");
	*out = six;
	return 0;
}

int parse_ip_prefix(const char *s, struct ip_addr *addr, unsigned *prefix_len, struct err *e)
{
	static const char form[] =
		"an address and its prefix length, as 198.18.0.1/24 or 2001:2::1/64";
	const char *slash = strchr(s, '/');
	char text[IP_STR_MAX];
	struct ip_addr a;
	uint64_t len;

	if (slash == NULL && parse_ip(s, &a, NULL) == 0)
		return err_set(e, EINVAL,
			       "address '%s': the prefix length is missing: expected as %s/%d", s,
			       s, ip_is4(&a) ? 24 : 64);
	if (slash == NULL || (size_t)(slash - s) >= sizeof(text))
		return refuse(e, s, form);
	memcpy(text, s, (size_t)(slash - s));
	text[slash - s] = '\0';
	if (parse_ip(text, &a, NULL) < 0 || parse_u64(slash + 1, 1, ip_bits(&a), &len, NULL) < 0)
		return refuse(e, s, form);
	*addr = a;
	*prefix_len = (unsigned)len;
	return 0;
}

char *ip_str(const struct ip_addr *a, char *buf, size_t size)
{
	if (ip_is4(a))
		return ip4_str(ip4_of(a), buf, size);
	if (inet_ntop(AF_INET6, a->b, buf, (socklen_t)size) == NULL)
		buf[0] = '\0';
	return buf;
}
