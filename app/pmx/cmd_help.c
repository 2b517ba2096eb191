#include "cmd.h"
#include "help.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	void (*print)(FILE *f);
} formats[] = {
	{ "text", opts_help_all },
	{ "man", help_man },
	{ "bash", help_bash },
};

int cmd_help(struct opts *o)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]) && o->arg == NULL; i++)
		if (strcmp(o->help_format, formats[i].name) == 0)
			formats[i].print(stdout);
	if (o->arg == NULL)
		return EXIT_GOOD;
	if (strcmp(o->help_format, "text") != 0) {
		complain("'%s': one verb is explained as text only: pmx help --format %s", o->arg,
			 o->help_format);
		return EXIT_USAGE;
	}

	const struct verb *v = verb_find(o->arg);
	if (v == NULL) {
		complain("unknown verb '%s'; `pmx help` lists them", o->arg);
		return EXIT_USAGE;
	}
	opts_help_verb(stdout, v);
	return EXIT_GOOD;
}
