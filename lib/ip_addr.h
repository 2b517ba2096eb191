// IP addresses of either family, and their text.
#pragma once

#include "err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IP_STR_MAX 46 // INET6_ADDRSTRLEN

// In network byte order; IPv4 as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2), all zeros = none.
struct ip_addr {
	uint8_t b[16];
};

// Of an IPv4 address in host byte order: an initializer, a value.
#define IP4_INIT(a)                                                              \
	{                                                                        \
		{                                                                \
			[10] = 0xff, 0xff, (uint8_t)((a) >> 24 & 0xff),          \
			(uint8_t)((a) >> 16 & 0xff), (uint8_t)((a) >> 8 & 0xff), \
			(uint8_t)((a)&0xff)                                      \
		}                                                                \
	}
#define IP4(a) ((struct ip_addr)IP4_INIT(a))

bool ip_is4(const struct ip_addr *a);
// The last four bytes in host byte order: an IPv4 address.
uint32_t ip4_of(const struct ip_addr *a);
bool ip_none(const struct ip_addr *a);
int ip_cmp(const struct ip_addr *a, const struct ip_addr *b);
static inline bool ip_eq(const struct ip_addr *a, const struct ip_addr *b)
{
	return ip_cmp(a, b) == 0;
}
// Bits of an address of this family: 32, 128.
unsigned ip_bits(const struct ip_addr *a);
// Whether both are of one family and of one subnet. prefix_len: 0..ip_bits.
bool ip_same_net(const struct ip_addr *a, const struct ip_addr *b, unsigned prefix_len);

// A dotted quad without leading zeros, or IPv6 without a zone or an IPv4 tail. 0, or -EINVAL with
// an error that quotes the value.
int parse_ip(const char *s, struct ip_addr *out, struct err *e);
// "198.18.0.1/24", "2001:2::1/64"; the prefix is required, from 1 on.
int parse_ip_prefix(const char *s, struct ip_addr *addr, unsigned *prefix_len, struct err *e);
// As parse_ip reads it, IPv6 as RFC 5952 wants it, into buf (IP_STR_MAX); returns buf.
char *ip_str(const struct ip_addr *a, char *buf, size_t size);
