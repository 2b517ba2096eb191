#include "cmd.h"

#include <stdio.h>

int cmd_help(struct opts *o)
{
	if (o->arg == NULL) {
		opts_help_all(stdout);
		return EXIT_GOOD;
	}

	const struct verb *v = verb_find(o->arg);
	if (v == NULL) {
		complain("unknown verb '%s'; `pmx help` lists them", o->arg);
		return EXIT_USAGE;
	}
	opts_help_verb(stdout, v);
	return EXIT_GOOD;
}
