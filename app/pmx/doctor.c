#include "doctor.h"

#include "doctor_script.h"
#include "prepare.h"
#include "probes.h"

#include "footprint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ASK_NS (90ull * 1000000000ull) // a dozen commands of 5 s at most

int doctor_begin(struct doctor *d, const struct matrix *m, const struct profile *profile,
		 const struct plan *plan, const char *root, struct err *e)
{
	struct err fault = { 0 };

	*d = (struct doctor){ .matrix = m, .profile = profile, .plan = plan, .root = root };
	d->host = calloc(m->host_count, sizeof(*d->host));
	if (d->host == NULL)
		return err_set(e, ENOMEM, "out of memory");
	for (size_t i = 0; i < m->host_count; i++)
		d->host[i].name = m->host[i].name;
	d->here.name = "(here)";
	d->here.asked = true;
	if (agent_file_open(&d->file, &fault) == 0)
		d->elf_known = agent_elf_read(d->file.data, d->file.len, &d->elf, &fault) == 0;
	snprintf(d->agent_fault, sizeof(d->agent_fault), "%s", fault.msg);
	return 0;
}

void doctor_end(struct doctor *d)
{
	for (size_t i = 0; d->host != NULL && i < d->matrix->host_count; i++)
		free(d->host[i].list);
	free(d->here.list);
	free(d->host);
	agent_file_close(&d->file);
	*d = (struct doctor){ 0 };
}

// --- findings

int doctor_add(struct doctor_host *h, const char *probe, const struct finding *f)
{
	struct diagnosis *list;

	if (f->health == HEALTH_NONE)
		return 0;
	list = realloc(h->list, (h->count + 1) * sizeof(*list));
	if (list == NULL)
		return -ENOMEM;
	h->list = list;
	list[h->count++] = (struct diagnosis){ .probe = probe, .finding = *f };
	return 0;
}

// Insertion: few of them, and those of one health stay in the table's order.
void doctor_sort(struct doctor_host *h)
{
	for (size_t i = 1; i < h->count; i++) {
		struct diagnosis one = h->list[i];
		size_t at = i;

		for (; at > 0 && h->list[at - 1].finding.health < one.finding.health; at--)
			h->list[at] = h->list[at - 1];
		h->list[at] = one;
	}
}

int doctor_judge(const struct exam *x, struct doctor_host *h, struct err *e)
{
	for (size_t i = 0; i < probe_count; i++) {
		struct finding f = { 0 };

		probe_table[i].run(x, &f);
		if (doctor_add(h, probe_table[i].name, &f) < 0)
			return err_set(e, ENOMEM, "out of memory");
	}
	doctor_sort(h);
	return 0;
}

// --- asking

// As sysfs writes it: 0000:3b:00.0; "" = none.
static void pci_of(const struct doctor *d, size_t host, char *buf, size_t size)
{
	prepare_pci(&d->matrix->host[host], buf, size);
	for (char *p = buf; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
}

// The kernel's interface that a host's device sits on; "" = none.
static void iface_of(const struct doctor *d, size_t host, char *buf, size_t size)
{
	const char *vdev = d->plan->host[host].port.vdev, *p = "";

	if (d->profile[host].bind == BIND_KERNEL) {
		p = strstr(vdev, "iface="); // of most
		p = p != NULL ? p : strstr(vdev, "iface_in=");
		p = p != NULL ? strchr(p, '=') + 1 : "";
	}
	snprintf(buf, size, "%.*s", (int)strcspn(p, ","), p);
}

static double wall_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct answer { // of one host
	struct output out;
	double before, after;
	char sudo[200]; // "ok", what sudo said instead, or ""
};

// Where sudo refuses, the log-in itself is asked: it may know enough to say why.
static int ask(struct remote *r, const struct matrix *m, struct script *s, struct answer *a,
	       struct err *e)
{
	bool by_sudo = m->transport == TRANSPORT_SSH && m->ssh.sudo;

	a->sudo[0] = '\0';
	a->before = wall_clock();
	int rc = remote_exec(r, s, &a->out, e);
	a->after = wall_clock();
	if (rc < 0 || !by_sudo || remote_is_dry(r))
		return rc;
	snprintf(a->sudo, sizeof(a->sudo), "ok");
	if (a->out.status == 0)
		return 0;
	last_line(a->out.err, a->sudo, sizeof(a->sudo));
	output_free(&a->out);
	s->as_login = true;
	a->before = wall_clock();
	rc = remote_exec(r, s, &a->out, e);
	a->after = wall_clock();
	return rc;
}

// What only this end knows goes in front of what the host said.
static int read_answer(const struct doctor *d, const struct answer *a, struct facts *facts,
		       struct err *e)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		return err_set(e, ENOMEM, "out of memory");
	if (d->root == NULL) {
		fprintf(f, "pmx/noise%c%zu\n", '\0', a->out.noise);
		fprintf(f, "pmx/before%c%.6f\npmx/after%c%.6f\n", '\0', a->before, '\0', a->after);
		if (a->sudo[0] != '\0')
			fprintf(f, "pmx/sudo%c%s\n", '\0', a->sudo);
	}
	fwrite(a->out.out, 1, a->out.out_len, f);
	int rc = fclose(f) == 0 ? facts_read(text, len, facts, e)
				: err_set(e, ENOMEM, "out of memory");
	free(text);
	return rc;
}

static int judge(struct doctor *d, size_t host, const char *dir, const struct facts *facts,
		 struct err *e)
{
	const struct hostcfg *cfg = &d->plan->host[host];
	struct exam x = {
		.facts = facts,
		.matrix = d->matrix,
		.host = host,
		.profile = &d->profile[host],
		.cfg = cfg,
		.agent = d->elf_known ? &d->elf : NULL,
		.agent_bytes = d->file.len,
		.dir = dir,
		.need_bytes = footprint_bytes(cfg),
	};

	for (size_t i = 0; i < d->plan->host_count; i++)
		if (matrix_same_machine(d->matrix, host, i))
			x.need_all_bytes += footprint_bytes(&d->plan->host[i]);
	return doctor_judge(&x, &d->host[host], e);
}

int doctor_ask(struct doctor *d, size_t host, struct remote *r, const char *dir, const char *agent,
	       struct err *e)
{
	char iface[64], pci[64], *script = doctor_script();
	struct script s = {
		.what = "ask the host",
		.text = script,
		.args = { d->root != NULL ? d->root : "/", d->matrix->remote_dir, dir, agent, iface,
			  pci, d->elf.libs },
		.timeout_ns = ASK_NS,
		.out_max = FACTS_BYTES_MAX,
	};
	struct answer a;
	struct facts facts;

	if (script == NULL)
		return err_set(e, ENOMEM, "out of memory");
	iface_of(d, host, iface, sizeof(iface));
	pci_of(d, host, pci, sizeof(pci));
	int rc = ask(r, d->matrix, &s, &a, e);
	if (rc == 0 && !remote_is_dry(r)) {
		char line[300];

		rc = read_answer(d, &a, &facts, e);
		if (rc < 0 && a.out.status != 0)
			err_set(e, EREMOTEIO, "%s: %s", s.what,
				last_line(a.out.err, line, sizeof(line)));
		if (rc == 0) {
			rc = judge(d, host, d->matrix->remote_dir, &facts, e);
			facts_free(&facts);
		}
	}
	output_free(&a.out);
	free(script);
	d->host[host].asked = rc == 0;
	return rc;
}
