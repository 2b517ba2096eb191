#include "remote.h"

#include "sha256.h"
#include "shell.h"
#include "carrier.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXEC_TIMEOUT_NS (30 * NS_PER_S)
#define NOISE_BYTES 65536 // what a login shell may say in front of a file

int remote_open(const struct matrix *m, size_t host, enum remote_mode mode,
		const atomic_int *cancel, struct remote **out, struct err *e)
{
	struct remote *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (r == NULL)
		return err_set(e, ENOMEM, "out of memory");
	r->matrix = m;
	r->host = host;
	r->cancel = cancel;
	r->carrier = mode == REMOTE_DRY		       ? &carrier_dry
		     : m->transport == TRANSPORT_LOCAL ? &carrier_local
						       : &carrier_ssh;
	int rc = r->carrier->open(r, e);
	if (rc < 0) {
		free(r);
		return rc;
	}
	*out = r;
	return 0;
}

void remote_close(struct remote *r)
{
	if (r == NULL)
		return;
	remote_detach(r);
	r->carrier->close(r);
	free(r);
}

void remote_set_cancel(struct remote *r, const atomic_int *cancel)
{
	r->cancel = cancel;
}

bool remote_is_dry(const struct remote *r)
{
	return r->carrier == &carrier_dry;
}

bool remote_is_suspect(const struct remote *r)
{
	return r->suspect;
}

int capture_add(struct capture *c, const void *data, size_t len)
{
	size_t room = c->max - c->len;

	if (len > room) {
		c->cut = true;
		len = room;
	}
	if (c->len + len + 1 > c->cap) {
		size_t cap = c->cap * 2 > c->len + len + 1 ? c->cap * 2 : c->len + len + 1;
		char *data_new = realloc(c->data, cap);

		if (data_new == NULL)
			return -ENOMEM;
		c->data = data_new;
		c->cap = cap;
	}
	memcpy(c->data + c->len, data, len);
	c->len += len;
	c->data[c->len] = '\0';
	return 0;
}

char *capture_take(struct capture *c, size_t *len)
{
	char *data = c->data != NULL ? c->data : strdup("");

	*len = c->len;
	*c = (struct capture){ 0 };
	return data;
}

// A login shell may have spoken before the script did.
static void cut_noise(struct output *o)
{
	const char *own = shell_output(o->out, o->out_len);

	o->noise = own != NULL ? shell_noise(o->out, o->out_len) : 0;
	if (own == NULL)
		own = o->out + o->out_len;
	o->out_len -= (size_t)(own - o->out);
	memmove(o->out, own, o->out_len + 1);
}

int remote_exec(struct remote *r, const struct script *script, struct output *o, struct err *e)
{
	struct script s = *script;
	bool sudo = r->matrix->transport == TRANSPORT_SSH && r->matrix->ssh.sudo && !s.as_login;

	*o = (struct output){ 0 };
	if (s.timeout_ns == 0)
		s.timeout_ns = EXEC_TIMEOUT_NS;
	s.timeout_ns = remote_patience(r, s.timeout_ns);
	if (s.out_max == 0)
		s.out_max = REMOTE_OUTPUT_MAX;
	char *command = shell_command(s.text, s.args, sudo);
	if (command == NULL)
		return err_set(e, ENOMEM, "out of memory");
	int rc = r->carrier->exec(r, command, &s, o, e);
	if (rc == 0 || rc == -ETIMEDOUT)
		r->suspect = rc < 0;
	if (rc < 0)
		err_wrap(e, "%s", s.what);
	free(command);
	if (o->out == NULL || o->err == NULL) {
		output_free(o);
		return rc < 0 ? rc : err_set(e, ENOMEM, "out of memory");
	}
	cut_noise(o);
	if (o->status > 128 && o->signal == 0)
		o->signal = o->status - 128;
	return rc;
}

int remote_check(struct remote *r, const struct script *s, struct output *o, struct err *e)
{
	char line[512], how[64];
	int rc = remote_exec(r, s, o, e);

	if (rc < 0 || o->status == 0)
		return rc;
	last_line(o->err, line, sizeof(line));
	status_str(o->status, how, sizeof(how));
	if (line[0] == '\0')
		return err_set(e, EREMOTEIO, "%s: %s without a word", s->what, how);
	if (o->status == 1)
		return err_set(e, EREMOTEIO, "%s: %s", s->what, line);
	return err_set(e, EREMOTEIO, "%s: %s (%s)", s->what, line, how);
}

void output_free(struct output *o)
{
	free(o->out);
	free(o->err);
	*o = (struct output){ 0 };
}

char *last_line(const char *text, char *buf, size_t size)
{
	const char *end = text + strlen(text);

	while (end > text && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
		end--;
	const char *start = end;
	while (start > text && start[-1] != '\n')
		start--;
	snprintf(buf, size, "%.*s", (int)(end - start), start);
	return buf;
}

char *status_str(int status, char *buf, size_t size)
{
	if (status > 128)
		snprintf(buf, size, "killed by signal %d (%s)", status - 128,
			 strsignal(status - 128));
	else
		snprintf(buf, size, "exit status %d", status);
	return buf;
}

// $1 path, $2 temporary path, $3 size, $4 SHA-256, $5 mode. A full disk shows in cat's own words.
static const char put_script[] =
	"umask 077; bad() { rm -f \"$2\"; exit 1; }; "
	"cat > \"$2\" || bad \"$@\"; "
	"n=$(wc -c < \"$2\"); [ \"$n\" -eq \"$3\" ] || "
	"{ echo \"$1: $n bytes arrived of $3\" >&2; bad \"$@\"; }; "
	"h=$(sha256sum < \"$2\"); [ \"${h%% *}\" = \"$4\" ] || "
	"{ echo \"$1: SHA-256 ${h%% *} arrived, $4 was sent\" >&2; bad \"$@\"; }; "
	"chmod \"$5\" \"$2\" && mv -fT \"$2\" \"$1\" || bad \"$@\"";

int remote_put(struct remote *r, const void *data, size_t len, const char *path, unsigned mode,
	       struct err *e)
{
	char what[4200], part[4200], size[24], hash[SHA256_HEX_BYTES], octal[8];
	struct output o;

	snprintf(part, sizeof(part), "%s.part", path);
	snprintf(size, sizeof(size), "%zu", len);
	snprintf(octal, sizeof(octal), "%o", mode);
	sha256_hex(data, len, hash);
	// 64 KiB/s is the slowest management network that is waited for
	snprintf(what, sizeof(what), "write %s", path);
	const struct script s = {
		.what = what,
		.text = put_script,
		.args = { path, part, size, hash, octal },
		.in = data,
		.in_len = len,
		.timeout_ns = EXEC_TIMEOUT_NS + (len >> 16) * NS_PER_S,
	};
	int rc = remote_check(r, &s, &o, e);
	output_free(&o);
	return rc;
}

int remote_get(struct remote *r, const char *path, size_t max, char **data, size_t *len,
	       struct err *e)
{
	static const char get_script[] = "[ -e \"$1\" ] || exit 44; cat \"$1\"";
	char what[4200];
	struct output o;
	const struct script s = {
		.what = what,
		.text = get_script,
		.args = { path },
		.out_max = max + NOISE_BYTES,
		.timeout_ns = EXEC_TIMEOUT_NS + (max >> 20) * NS_PER_S,
	};

	*data = NULL;
	*len = 0;
	snprintf(what, sizeof(what), "read %s", path);
	int rc = remote_exec(r, &s, &o, e);
	if (rc == 0 && o.status == 44)
		rc = err_set(e, ENOENT, "%s: no such file", what);
	else if (rc == 0 && o.status != 0)
		rc = err_set(e, EIO, "%s: %s", what, last_line(o.err, (char[512]){ 0 }, 512));
	else if (rc == 0 && (o.cut || o.out_len > max))
		rc = err_set(e, EFBIG, "%s: longer than %zu bytes", what, max);
	if (rc < 0) {
		output_free(&o);
		return rc;
	}
	*data = o.out;
	*len = o.out_len;
	o.out = NULL;
	output_free(&o);
	return 0;
}
