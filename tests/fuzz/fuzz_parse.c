// Every text parser of lib/parse.h on the same text.
#include "fuzz.h"
#include "ip_addr.h"
#include "parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void refusal(int ret, const struct err *e)
{
	if (ret == 0)
		return;
	fuzz_require(e->code == -ret, "a refusal returns its code");
	fuzz_require(e->msg[0] != '\0' && strchr(e->msg, '\n') == NULL, "a refusal is one line");
}

static void numbers(const char *s)
{
	struct err e = { 0 };
	struct rate rate;
	uint64_t v;
	char text[32];

	int ret = parse_u64(s, 3, 70000, &v, &e);
	refusal(ret, &e);
	if (ret == 0) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
		fuzz_require(strcmp(text, s) == 0 && v >= 3 && v <= 70000, "u64 is what it says");
	}
	ret = parse_rate(s, &rate, &e);
	refusal(ret, &e);
	if (ret == 0)
		fuzz_require(rate.max || (isfinite(rate.pps) && rate.pps >= 0 &&
					  rate.pps <= RATE_MAX_PPS),
			     "a rate is in range");
	ret = parse_duration_ns(s, &v, &e);
	refusal(ret, &e);
	if (ret == 0)
		fuzz_require(v <= UINT64_C(31536000000000000), "a duration is in range");
}

static void addresses(const char *s)
{
	struct err e = { 0 };
	uint32_t addr;
	unsigned len;
	uint8_t mac[6];
	char text[32], ip[16];

	int ret = parse_ip4(s, &addr, &e);
	refusal(ret, &e);
	if (ret == 0)
		fuzz_require(strcmp(ip4_str(addr, ip, sizeof(ip)), s) == 0, "IPv4 both ways");
	ret = parse_ip4_prefix(s, &addr, &len, &e);
	refusal(ret, &e);
	if (ret == 0) {
		snprintf(text, sizeof(text), "%s/%u", ip4_str(addr, ip, sizeof(ip)), len);
		fuzz_require(strcmp(text, s) == 0 && len >= 1 && len <= 32, "prefix both ways");
	}
	struct ip_addr any, again;
	char shown[IP_STR_MAX];
	ret = parse_ip(s, &any, &e);
	refusal(ret, &e);
	if (ret == 0)
		fuzz_require(parse_ip(ip_str(&any, shown, sizeof(shown)), &again, NULL) == 0 &&
				     ip_eq(&any, &again),
			     "an address both ways");
	ret = parse_ip_prefix(s, &any, &len, &e);
	refusal(ret, &e);
	if (ret == 0)
		fuzz_require(len >= 1 && len <= ip_bits(&any), "a prefix is in range");
	ret = parse_mac(s, mac, &e);
	refusal(ret, &e);
	if (ret == 0) {
		snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
			 mac[2], mac[3], mac[4], mac[5]);
		fuzz_require(strcasecmp(text, s) == 0, "MAC both ways");
	}
}

static void words(const char *s)
{
	static const char *const word[] = { "duration", "rate", "max", "streams" };
	struct err e = { 0 };
	uint16_t id[16];
	size_t n;
	bool yes;

	int ret = parse_cpulist(s, id, 16, &n, &e);
	refusal(ret, &e);
	if (ret == 0)
		fuzz_require(n >= 1 && n <= 16, "a CPU list fits");
	refusal(parse_bool(s, &yes, &e), &e);
	nearest_word(s, word, sizeof(word) / sizeof(word[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1);

	fuzz_require(s != NULL, "memory");
	memcpy(s, data, size);
	s[size] = '\0';
	numbers(s);
	addresses(s);
	words(s);
	free(s);
	return 0;
}
