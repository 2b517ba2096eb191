#include "help.h"

#include "cmd.h"

#include <ctype.h>
#include <string.h>

// The same for every table: where the cursor stands, then what may stand there. Bash breaks words
// at '=', so "--name=value" comes as three.
static const char body[] =
	"_pmx()\n"
	"{\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} option='' kind='' n=0 i w\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -W \"$_pmx_verbs --help --version\" -- \"$cur\")\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tw=${COMP_WORDS[i]}\n"
	"\t\tif [ -n \"$option\" ]; then\n"
	"\t\t\t[ \"$w\" = = ] || option=\n"
	"\t\telif [[ $w == -?* ]]; then\n"
	"\t\t\t[ -z \"$(_pmx_value \"$verb:$w\")\" ] || option=$w\n"
	"\t\telse\n"
	"\t\t\tn=$((n + 1))\n"
	"\t\tfi\n"
	"\tdone\n"
	"\t[ \"$cur\" != = ] || cur=\n"
	"\tif [ -n \"$option\" ]; then\n"
	"\t\tkind=$(_pmx_value \"$verb:$option\")\n"
	"\telif [[ $cur == -* ]]; then\n"
	"\t\tkind=\"words $(_pmx_options \"$verb\")\"\n"
	"\telse\n"
	"\t\tkind=$(_pmx_argument \"$verb:$n\")\n"
	"\tfi\n"
	"\tcase $kind in\n"
	"\twords*) mapfile -t COMPREPLY < <(compgen -W \"${kind#words }\" -- \"$cur\") ;;\n"
	"\tfile | dir)\n"
	"\t\tcompopt -o filenames 2>/dev/null || true\n"
	"\t\tmapfile -t COMPREPLY < <(compgen \"-${kind:0:1}\" -- \"$cur\")\n"
	"\t\t;;\n"
	"\tesac\n"
	"}\n"
	"complete -F _pmx pmx\n";

// "auto|always|never" and "list|show" are words to choose from; capitals stand for something.
static bool is_choice(const char *arg)
{
	for (const char *p = arg; *p != '\0'; p++)
		if (isupper((unsigned char)*p))
			return false;
	return true;
}

static void put_words(FILE *f, const char *choices)
{
	fputs("words ", f);
	for (const char *p = choices; *p != '\0'; p++)
		fputc(*p == '|' ? ' ' : *p, f);
}

// What stands behind an option, for _pmx.
static void put_value(FILE *f, const struct opt *row)
{
	if (row->type == OPT_CHOICE)
		put_words(f, row->arg);
	else if (strstr(row->arg, "FILE") != NULL)
		fputs("file", f);
	else if (strstr(row->arg, "DIR") != NULL)
		fputs("dir", f);
	else
		fputs("text", f);
}

static void put_options(FILE *f)
{
	fputs("_pmx_options()\n{\n\tcase $1 in\n", f);
	for (size_t i = 0; i < verb_count; i++) {
		fprintf(f, "\t%s) echo \"", verb_table[i].name);
		for (size_t k = 0, n = 0; k < opt_count; k++) {
			const struct opt *row = &opt_table[k];

			if (!(row->verbs & verb_table[i].id))
				continue;
			fprintf(f, "%s--%s", n++ > 0 ? " " : "", row->name);
			if (row->letter != '\0')
				fprintf(f, " -%c", row->letter);
		}
		fputs("\" ;;\n", f);
	}
	fputs("\tesac\n}\n", f);
}

static void put_values(FILE *f)
{
	fputs("_pmx_value()\n{\n\tcase $1 in\n", f);
	for (size_t k = 0; k < opt_count; k++) {
		const struct opt *row = &opt_table[k];
		const char *between = "\t";

		if (row->type == OPT_FLAG)
			continue;
		for (size_t i = 0; i < verb_count; i++) {
			if (!(row->verbs & verb_table[i].id))
				continue;
			fprintf(f, "%s%s:--%s", between, verb_table[i].name, row->name);
			between = " | ";
			if (row->letter != '\0')
				fprintf(f, "%s%s:-%c", between, verb_table[i].name, row->letter);
		}
		fputs(") echo \"", f);
		put_value(f, row);
		fputs("\" ;;\n", f);
	}
	fputs("\tesac\n}\n", f);
}

static void put_argument(FILE *f, const struct verb *v, int n, const struct verb_arg *a)
{
	if (a == NULL)
		return;
	fprintf(f, "\t%s:%d) echo \"", v->name, n);
	if (is_choice(a->name))
		put_words(f, a->name);
	else if (strcmp(a->name, "VERB") == 0)
		fputs("words $_pmx_verbs", f);
	else
		fputs("file", f);
	fputs("\" ;;\n", f);
}

void help_bash(FILE *f)
{
	fputs("# shellcheck shell=bash\n# Completion of pmx, written by pmx help --format bash.\n"
	      "_pmx_verbs=\"",
	      f);
	for (size_t i = 0; i < verb_count; i++)
		fprintf(f, "%s%s", i > 0 ? " " : "", verb_table[i].name);
	fputs("\"\n", f);
	put_options(f);
	put_values(f);
	fputs("_pmx_argument()\n{\n\tcase $1 in\n", f);
	for (size_t i = 0; i < verb_count; i++) {
		put_argument(f, &verb_table[i], 0, verb_table[i].arg);
		put_argument(f, &verb_table[i], 1, verb_table[i].more);
	}
	fputs("\tesac\n}\n", f);
	fputs(body, f);
}
