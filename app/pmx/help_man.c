#include "help.h"

#include "cmd.h"

#include <string.h>

// Text for a line of its own: what roff would take for its own is escaped.
static void put(FILE *f, const char *s)
{
	if (*s == '.' || *s == '\'')
		fputs("\\&", f);
	for (; *s != '\0'; s++) {
		if (*s == '\\')
			fputs("\\e", f);
		else if (*s == '-')
			fputs("\\-", f);
		else if (*s == '\'' || *s == '`')
			fputs(*s == '`' ? "\\(ga" : "\\(aq", f);
		else
			fputc(*s, f);
		if (*s == '\n' && (s[1] == '.' || s[1] == '\''))
			fputs("\\&", f);
	}
}

static void put_font(FILE *f, char font, const char *s)
{
	fprintf(f, "\\f%c", font);
	put(f, s);
	fputs("\\fR", f);
}

static void put_argument(FILE *f, const struct verb_arg *a)
{
	if (a == NULL)
		return;
	fputs(a->required ? " " : " [", f);
	put_font(f, 'I', a->name);
	if (!a->required)
		fputc(']', f);
}

static void put_usage(FILE *f, const struct verb *v)
{
	fputs("\\fBpmx ", f);
	put(f, v->name);
	fputs("\\fR [\\fIOPTION\\fR...]", f);
	put_argument(f, v->arg);
	put_argument(f, v->more);
	fputc('\n', f);
}

static void put_verb(FILE *f, const struct verb *v)
{
	const char *between = "Options:";

	fputs(".TP\n", f);
	put_usage(f, v);
	put(f, v->brief);
	fputs(".\n", f);
	put(f, v->text);
	fputs("\n.IP\n", f);
	for (size_t i = 0; i < opt_count; i++) {
		if (!(opt_table[i].verbs & v->id))
			continue;
		fprintf(f, "%s ", between);
		fputs("\\fB\\-\\-", f);
		put(f, opt_table[i].name);
		fputs("\\fR", f);
		between = ",";
	}
	fputs(".\n", f);
}

static void put_verbs_of(FILE *f, const struct opt *row)
{
	const char *between = "";
	uint32_t all = 0;

	for (size_t i = 0; i < verb_count; i++)
		all |= verb_table[i].id;
	fputs("Of ", f);
	if ((row->verbs & all) == all)
		fputs("every verb", f);
	for (size_t i = 0; i < verb_count && (row->verbs & all) != all; i++) {
		if (!(row->verbs & verb_table[i].id))
			continue;
		fprintf(f, "%s%s", between, verb_table[i].name);
		between = ", ";
	}
	fputs(".\n", f);
}

static void put_option(FILE *f, const struct opt *row)
{
	fputs(".TP\n", f);
	if (row->letter != '\0')
		fprintf(f, "\\fB\\-%c\\fR, ", row->letter);
	fputs("\\fB\\-\\-", f);
	put(f, row->name);
	fputs("\\fR", f);
	if (row->arg != NULL) {
		fputc(' ', f);
		put_font(f, 'I', row->arg);
	}
	fputc('\n', f);
	put(f, row->help);
	if (row->preset != NULL) {
		fputs(" (default: ", f);
		put(f, row->preset);
		fputc(')', f);
	}
	fputs(".\n", f);
	if (row->env != NULL)
		fprintf(f, "Environment: %s.\n", row->env);
	put_verbs_of(f, row);
}

// The arguments' variables stand in several rows, but once here.
static void put_argument_env(FILE *f, size_t verb)
{
	const struct verb_arg *const arg[] = { verb_table[verb].arg, verb_table[verb].more };

	for (size_t k = 0; k < 2; k++) {
		bool told = arg[k] == NULL || arg[k]->env == NULL;

		for (size_t i = 0; i < verb && !told; i++)
			told = verb_table[i].arg == arg[k] || verb_table[i].more == arg[k];
		if (told)
			continue;
		fprintf(f, ".TP\n.B %s\n", arg[k]->env);
		put(f, arg[k]->help);
		fputs(", where the command line names none.\n", f);
	}
}

static void put_environment(FILE *f)
{
	fputs(".SH ENVIRONMENT\nAn option goes before its variable, a variable before the matrix "
	      "file, the matrix file before the default.\n",
	      f);
	for (size_t i = 0; i < opt_count; i++) {
		if (opt_table[i].env == NULL)
			continue;
		fprintf(f, ".TP\n.B %s\nAs \\fB\\-\\-", opt_table[i].env);
		put(f, opt_table[i].name);
		fputs("\\fR.\n", f);
	}
	for (size_t i = 0; i < verb_count; i++)
		put_argument_env(f, i);
	for (const struct help_env *e = help_env; e->name != NULL; e++) {
		fprintf(f, ".TP\n.B %s\n", e->name);
		put(f, e->help);
		fputs(".\n", f);
	}
}

void help_man(FILE *f)
{
	fputs(".\\\" Written by pmx help \\-\\-format man.\n"
	      ".TH PMX 1 \"\" \"pmx " PMX_VERSION "\" \"pmx manual\"\n"
	      ".nh\n.ad l\n"
	      ".SH NAME\npmx \\- UDP request/reply traffic matrix at the packet rate of NICs\n"
	      ".SH SYNOPSIS\n",
	      f);
	for (size_t i = 0; i < verb_count; i++) {
		put_usage(f, &verb_table[i]);
		fputs(".br\n", f);
	}
	fputs("\\fBpmx \\-\\-version\\fR\n.SH DESCRIPTION\n"
	      "pmx plans a matrix of request/reply traffic between hosts, deploys\n"
	      ".BR pmx\\-agent (1)\nto them, starts all agents at one instant, watches and "
	      "collects, and says what the run means.\n.SH VERBS\n",
	      f);
	for (size_t i = 0; i < verb_count; i++)
		put_verb(f, &verb_table[i]);
	fputs(".SH OPTIONS\n", f);
	for (size_t i = 0; i < opt_count; i++)
		put_option(f, &opt_table[i]);
	put_environment(f);
	fputs(".SH EXIT STATUS\n", f);
	for (const struct help_exit *e = help_exit; e->code != NULL; e++)
		fprintf(f, ".TP\n.B %s\n%s.\n", e->code, e->help);
}
