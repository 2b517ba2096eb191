#include "agent_elf.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PMD_MARK "pmx-agent PMDs: "
#define VERSIONS_MAX 4096 // of one file's symbols; a broken file's lists may be rings

static const struct {
	Elf64_Half machine;
	const char *name;
} machine_table[] = {
	{ EM_X86_64, "x86_64" }, { EM_AARCH64, "aarch64" },	  { EM_PPC64, "ppc64le" },
	{ EM_RISCV, "riscv64" }, { EM_LOONGARCH, "loongarch64" },
};

struct image {
	const unsigned char *data;
	size_t len;
	uint64_t strings; // file offset of DT_STRTAB
};

static bool inside(const struct image *m, uint64_t at, uint64_t n)
{
	return at <= m->len && n <= m->len - at;
}

// The file may be anywhere in memory, and broken: everything is copied out.
static bool take(const struct image *m, uint64_t at, void *out, size_t n)
{
	if (!inside(m, at, n))
		return false;
	memcpy(out, m->data + at, n);
	return true;
}

static bool segment(const struct image *m, const Elf64_Ehdr *h, size_t i, Elf64_Phdr *p)
{
	return take(m, h->e_phoff + i * (uint64_t)sizeof(*p), p, sizeof(*p));
}

static bool offset_of(const struct image *m, const Elf64_Ehdr *h, uint64_t address, uint64_t *at)
{
	Elf64_Phdr p;

	for (size_t i = 0; i < h->e_phnum && segment(m, h, i, &p); i++) {
		if (p.p_type != PT_LOAD || address < p.p_vaddr || address - p.p_vaddr >= p.p_filesz)
			continue;
		*at = p.p_offset + (address - p.p_vaddr);
		return inside(m, *at, 1);
	}
	return false;
}

// A string of the dynamic section; NULL when it does not end within the file.
static const char *string_at(const struct image *m, uint64_t index)
{
	uint64_t at = m->strings + index;

	if (index > m->len || !inside(m, at, 1))
		return NULL;
	return memchr(m->data + at, '\0', m->len - at) != NULL ? (const char *)m->data + at : NULL;
}

static void note_version(struct agent_elf *a, const char *name)
{
	unsigned major, minor;

	if (name == NULL || sscanf(name, "GLIBC_%u.%u", &major, &minor) != 2)
		return;
	if (major > a->glibc[0] || (major == a->glibc[0] && minor > a->glibc[1])) {
		a->glibc[0] = major;
		a->glibc[1] = minor;
	}
}

static void read_versions(const struct image *m, uint64_t at, struct agent_elf *a)
{
	Elf64_Verneed need;
	Elf64_Vernaux aux;
	unsigned n = 0;

	while (n++ < VERSIONS_MAX && take(m, at, &need, sizeof(need))) {
		uint64_t where = at + need.vn_aux;

		while (n++ < VERSIONS_MAX && take(m, where, &aux, sizeof(aux))) {
			note_version(a, string_at(m, aux.vna_name));
			if (aux.vna_next == 0)
				break;
			where += aux.vna_next;
		}
		if (need.vn_next == 0)
			break;
		at += need.vn_next;
	}
}

static void add_lib(struct agent_elf *a, const char *name)
{
	size_t n = strlen(a->libs);

	if (name != NULL && strpbrk(name, " \n") == NULL && n + strlen(name) + 2 < sizeof(a->libs))
		sprintf(a->libs + n, "%s%s", n > 0 ? " " : "", name);
}

static void read_dynamic(struct image *m, const Elf64_Ehdr *h, const Elf64_Phdr *p,
			 struct agent_elf *a)
{
	uint64_t versions = 0, at;
	size_t count = p->p_filesz / sizeof(Elf64_Dyn);
	Elf64_Dyn d;

	for (size_t i = 0; i < count && take(m, p->p_offset + i * sizeof(d), &d, sizeof(d)); i++) {
		if (d.d_tag == DT_STRTAB && offset_of(m, h, d.d_un.d_ptr, &at))
			m->strings = at;
		if (d.d_tag == DT_VERNEED && offset_of(m, h, d.d_un.d_ptr, &at))
			versions = at;
	}
	if (m->strings == 0)
		return;
	for (size_t i = 0; i < count && take(m, p->p_offset + i * sizeof(d), &d, sizeof(d)); i++)
		if (d.d_tag == DT_NEEDED)
			add_lib(a, string_at(m, d.d_un.d_val));
	if (versions != 0)
		read_versions(m, versions, a);
}

static void read_pmds(const struct image *m, struct agent_elf *a)
{
	const char *p = memmem(m->data, m->len, PMD_MARK, strlen(PMD_MARK));

	if (p == NULL)
		return;
	p += strlen(PMD_MARK);
	size_t left = m->len - (size_t)((const unsigned char *)p - m->data);
	snprintf(a->pmds, sizeof(a->pmds), "%.*s", (int)strnlen(p, left), p);
}

int agent_elf_read(const void *data, size_t len, struct agent_elf *a, struct err *e)
{
	struct image m = { .data = data, .len = len };
	Elf64_Ehdr h;
	Elf64_Phdr p;

	*a = (struct agent_elf){ 0 };
	if (!take(&m, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (h.e_type != ET_EXEC && h.e_type != ET_DYN))
		return err_set(e, ENOEXEC, "not a 64-bit little-endian ELF program");
	for (size_t i = 0; i < sizeof(machine_table) / sizeof(machine_table[0]); i++)
		if (machine_table[i].machine == h.e_machine)
			snprintf(a->machine, sizeof(a->machine), "%s", machine_table[i].name);
	for (size_t i = 0; i < h.e_phnum; i++) {
		if (!segment(&m, &h, i, &p))
			return err_set(e, ENOEXEC, "its program headers are cut off");
		if (p.p_type == PT_DYNAMIC)
			read_dynamic(&m, &h, &p, a);
	}
	read_pmds(&m, a);
	return 0;
}
