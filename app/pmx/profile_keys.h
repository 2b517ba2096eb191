// Between the files of profile: the table of its keys, and the words in it.
#pragma once

#include "profile.h"
#include "yaml_map.h"

#include <stddef.h>

#define OFFLOADS 8
enum rss_field { RSS_FIELD_IPV4, RSS_FIELD_IPV6, RSS_FIELD_UDP4, RSS_FIELD_UDP6, RSS_FIELDS };

extern const char *const offload_name[OFFLOADS];
extern const char *const rss_field_name[RSS_FIELDS];
extern const struct yaml_table profile_table;

// What profile_show writes for a key whose value is not a plain field.
enum profile_list {
	LIST_NONE,
	LIST_PCI_IDS,
	LIST_OFFLOADS,
	LIST_RSS_FIELDS,
	LIST_MODELS,
	LIST_FAULTS,
	LIST_CAPABILITIES,
};
enum profile_list profile_list_of(const struct yaml_key *k);
