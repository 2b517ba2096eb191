#include "names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t hash(const char *s)
{
	uint32_t h = 2166136261u; // FNV-1a

	while (*s != '\0')
		h = (h ^ (uint8_t)*s++) * 16777619u;
	return h;
}

int names_init(struct names *n, const struct matrix *m, struct err *e)
{
	uint32_t size = 4;

	while (size < 2 * m->host_count + 1)
		size *= 2;
	*n = (struct names){
		.matrix = m,
		.slot = calloc(size, sizeof(*n->slot)),
		.mask = size - 1,
	};
	if (n->slot == NULL)
		return err_set(e, ENOMEM, "no memory for the names of %zu hosts", m->host_count);
	for (size_t i = 0; i < m->host_count; i++) {
		uint32_t at = hash(m->host[i].name) & n->mask;
		while (n->slot[at] != 0)
			at = (at + 1) & n->mask;
		n->slot[at] = (uint32_t)i + 1;
	}
	return 0;
}

void names_free(struct names *n)
{
	free(n->slot);
	*n = (struct names){ 0 };
}

uint32_t names_find(const struct names *n, const char *name)
{
	for (uint32_t at = hash(name) & n->mask; n->slot[at] != 0; at = (at + 1) & n->mask)
		if (strcmp(n->matrix->host[n->slot[at] - 1].name, name) == 0)
			return n->slot[at] - 1;
	return NAME_NONE;
}
