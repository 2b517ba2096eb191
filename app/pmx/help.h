// Help in the forms that programs read, out of the tables of cmd.c and opt.c, and the two small
// tables that belong to no verb.
#pragma once

#include <stdio.h>

struct help_env { // environment variables that are no option's
	const char *name, *help;
};
extern const struct help_env help_env[]; // ended by a NULL name

struct help_exit {
	const char *code, *help;
};
extern const struct help_exit help_exit[]; // ended by a NULL code

// The manual page's generated part, in man(7) macros: from .TH to the exit status. What is written
// by hand (doc/man/pmx.man) follows.
void help_man(FILE *f);
// The completion, to be sourced by bash.
void help_bash(FILE *f);
