#include "shell.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "\n#pmx#\n"
#define MARK_SCRIPT "printf \"\\n#pmx#\\n\"; "

char *shell_quote(const char *s)
{
	char *out = malloc(4 * strlen(s) + 3), *p = out;

	if (out == NULL)
		return NULL;
	*p++ = '\'';
	for (; *s != '\0'; s++) {
		if (*s == '\'') {
			memcpy(p, "'\\''", 4);
			p += 4;
		} else {
			*p++ = *s;
		}
	}
	*p++ = '\'';
	*p = '\0';
	return out;
}

char *shell_command(const char *script, const char *const *args, bool sudo)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	assert(strpbrk(script, "'\n") == NULL);
	if (f == NULL)
		return NULL;
	fprintf(f, "exec %ssh -c '" MARK_SCRIPT "%s' pmx", sudo ? "sudo -n " : "", script);
	for (size_t i = 0; args != NULL && i < SHELL_ARGS_MAX && args[i] != NULL; i++) {
		char *word = shell_quote(args[i]);

		if (word == NULL) {
			fclose(f);
			free(out);
			return NULL;
		}
		fprintf(f, " %s", word);
		free(word);
	}
	if (fclose(f) != 0) {
		free(out);
		return NULL;
	}
	return out;
}

const char *shell_output(const char *out, size_t len)
{
	const char *mark = len > 0 ? memmem(out, len, MARK, strlen(MARK)) : NULL;

	return mark != NULL ? mark + strlen(MARK) : NULL;
}

size_t shell_noise(const char *out, size_t len)
{
	const char *mark = len > 0 ? memmem(out, len, MARK, strlen(MARK)) : NULL;

	return mark != NULL ? (size_t)(mark - out) : 0;
}
