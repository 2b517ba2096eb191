#include "template.h"

#include "parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VARS_MAX 32

static int unknown_name(const char *name, int len, const struct template_var *var, size_t vars,
			struct err *e)
{
	const char *names[VARS_MAX];
	char word[64], list[256];
	const char *near;
	size_t used = 0, n = vars < VARS_MAX ? vars : VARS_MAX;

	snprintf(word, sizeof(word), "%.*s", len, name);
	for (size_t i = 0; i < n; i++) {
		names[i] = var[i].name;
		if (used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s{%s}",
						 i > 0 ? " " : "", var[i].name);
	}
	near = nearest_word(word, names, n);
	if (near != NULL)
		return err_set(e, EINVAL, "'{%s}': did you mean '{%s}'?", word, near);
	return err_set(e, EINVAL, "'{%s}': expected one of %s", word, list);
}

static const struct template_var *var_find(const char *name, size_t len,
					   const struct template_var *var, size_t vars)
{
	for (size_t i = 0; i < vars; i++)
		if (strlen(var[i].name) == len && memcmp(var[i].name, name, len) == 0)
			return &var[i];
	return NULL;
}

int template_expand(const char *text, const struct template_var *var, size_t vars, char *out,
		    size_t size, struct err *e)
{
	size_t used = 0;

	for (const char *p = text; *p != '\0';) {
		const char *piece = p;
		size_t len = strcspn(p, "{}");

		p += len;
		if (len == 0) {
			const char *end = *p == '{' ? strchr(p, '}') : NULL;
			if (end == NULL)
				return err_set(e, EINVAL, "'%s': a brace without its other", text);
			const struct template_var *v =
				var_find(p + 1, (size_t)(end - p - 1), var, vars);
			if (v == NULL)
				return unknown_name(p + 1, (int)(end - p - 1), var, vars, e);
			if (v->value == NULL)
				return err_set(e, EINVAL, "'{%s}': has no value here", v->name);
			piece = v->value;
			len = strlen(piece);
			p = end + 1;
		}
		if (len >= size - used)
			return err_set(e, ENAMETOOLONG,
				       "'%s': longer than %zu characters when filled in", text,
				       size - 1);
		memcpy(out + used, piece, len);
		used += len;
	}
	out[used] = '\0';
	return 0;
}
