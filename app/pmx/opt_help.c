// Help out of the tables of opt.c and cmd.c.
#include "opt.h"

#include "cmd.h"
#include "help.h"

#include <string.h>

#define HELP_COLUMN 26

const struct help_env help_env[] = {
	{ "PMX_AGENT", "the pmx-agent to run and to copy to the hosts" },
	{ "NO_COLOR", "when set, --color auto means never" },
	{ NULL, NULL },
};

const struct help_exit help_exit[] = {
	{ "0", "good" },
	{ "1", "a limit missed, or a problem found" },
	{ "2", "usage or bad input" },
	{ "3", "a host or the set-up failed" },
	{ "4", "results are partial" },
	{ "130, 143", "ended by SIGINT, SIGTERM" },
	{ NULL, NULL },
};

static void option_left(const struct opt *row, char *buf, size_t size)
{
	char letter[8] = "    ";

	if (row->letter != '\0')
		snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	snprintf(buf, size, "  %s--%s%s%s", letter, row->name, row->arg != NULL ? " " : "",
		 row->arg != NULL ? row->arg : "");
}

static void print_option(FILE *f, const struct opt *row)
{
	char left[80];

	option_left(row, left, sizeof(left));
	if (strlen(left) >= HELP_COLUMN)
		fprintf(f, "%s\n%*s%s", left, HELP_COLUMN, "", row->help);
	else
		fprintf(f, "%-*s%s", HELP_COLUMN, left, row->help);
	if (row->preset != NULL)
		fprintf(f, " (%s)", row->preset);
	if (row->env != NULL)
		fprintf(f, " [%s]", row->env);
	fputc('\n', f);
}

static void print_usage(FILE *f, const struct verb *v)
{
	fprintf(f, "pmx %s [OPTION...]", v->name);
	if (v->arg != NULL)
		fprintf(f, v->arg->required ? " %s" : " [%s]", v->arg->name);
	if (v->more != NULL)
		fprintf(f, v->more->required ? " %s" : " [%s]", v->more->name);
	fputc('\n', f);
}

static void print_argument(FILE *f, const struct verb_arg *a)
{
	if (a == NULL)
		return;
	fprintf(f, "  %-*s%s", HELP_COLUMN - 2, a->name, a->help);
	if (a->env != NULL)
		fprintf(f, " [%s]", a->env);
	fputc('\n', f);
}

void opts_help_verb(FILE *f, const struct verb *v)
{
	fputs("Usage: ", f);
	print_usage(f, v);
	fprintf(f, "\n%s: %s.\n%s\n\n", v->name, v->brief, v->text);
	print_argument(f, v->arg);
	print_argument(f, v->more);
	for (size_t i = 0; i < opt_count; i++)
		if (opt_table[i].verbs & v->id)
			print_option(f, &opt_table[i]);
	fputs("\n(default) [environment variable]; the command line goes first, then the "
	      "environment,\nthe matrix file, the default.\n",
	      f);
}

static void print_verbs_of(FILE *f, const struct opt *row)
{
	uint32_t all = 0;

	for (size_t i = 0; i < verb_count; i++)
		all |= verb_table[i].id;
	fprintf(f, "%*sof:", HELP_COLUMN, "");
	if ((row->verbs & all) == all)
		fputs(" every verb", f);
	for (size_t i = 0; i < verb_count && (row->verbs & all) != all; i++)
		if (row->verbs & verb_table[i].id)
			fprintf(f, " %s", verb_table[i].name);
	fputc('\n', f);
}

void opts_help_all(FILE *f)
{
	fputs("pmx: a UDP request/reply traffic matrix between hosts, at the packet rate of their "
	      "NICs\n\nUsage: pmx VERB [OPTION...] [ARGUMENT]\n\nVerbs\n",
	      f);
	for (size_t i = 0; i < verb_count; i++) {
		const struct verb *v = &verb_table[i];
		char left[80];

		snprintf(left, sizeof(left), "  %s %s", v->name,
			 v->arg != NULL ? v->arg->name : "");
		fprintf(f, "%-*s%s\n", HELP_COLUMN, left, v->brief);
	}
	fputs("\nArguments\n", f);
	for (size_t i = 0; i < verb_count; i++) {
		if (i == 0 || verb_table[i].arg != verb_table[i - 1].arg)
			print_argument(f, verb_table[i].arg);
		print_argument(f, verb_table[i].more);
	}
	fputs("\nOptions: (default) [environment variable]\n", f);
	for (size_t i = 0; i < opt_count; i++) {
		print_option(f, &opt_table[i]);
		print_verbs_of(f, &opt_table[i]);
	}
	fputs("\nThe command line goes first, then the environment, the matrix file, the default.\n"
	      "\nOther environment variables\n",
	      f);
	for (const struct help_env *e = help_env; e->name != NULL; e++)
		fprintf(f, "  %-*s%s\n", HELP_COLUMN - 2, e->name, e->help);
	fputs("\nExit status\n", f);
	for (const struct help_exit *e = help_exit; e->code != NULL; e++)
		fprintf(f, "  %-*s%s\n", HELP_COLUMN - 2, e->code, e->help);
}
