#include "screen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define UP "\033[%uA"
#define CLEAR_LINE_END "\033[K"
#define CLEAR_BELOW "\033[J"

void screen_open(struct screen *s)
{
	*s = (struct screen){ .tty = isatty(STDOUT_FILENO) };
}

static void measure(struct screen *s)
{
	struct winsize w;

	if (!s->tty || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0)
		return;
	s->rows = w.ws_row;
	s->columns = w.ws_col;
}

static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (const char *p = text; *p != '\0'; p++)
		n += *p == '\n' || p[1] == '\0';
	return n;
}

static void put_line(FILE *f, const struct screen *s, const char *line, size_t len)
{
	// a line as wide as the terminal would take a row more in some
	size_t max = s->columns > 1 ? s->columns - 1 : len;

	fprintf(f, "%.*s" CLEAR_LINE_END "\n", (int)(len < max ? len : max), line);
}

char *screen_frame(struct screen *s, const char *text, size_t *len)
{
	unsigned all = count_lines(text), shown = all, n = 0;
	char more[40], *out = NULL;
	FILE *f = open_memstream(&out, len);

	if (f == NULL)
		return NULL;
	// the cursor's own row below, and one for what is left out
	if (s->rows > 2 && all > s->rows - 1)
		shown = s->rows - 2;
	if (s->lines > 0)
		fprintf(f, "\r" UP, s->lines);
	for (const char *p = text; *p != '\0' && n < shown; n++) {
		size_t line = strcspn(p, "\n");

		put_line(f, s, p, line);
		p += line + (p[line] == '\n');
	}
	if (shown < all) {
		put_line(f, s, more,
			 (size_t)snprintf(more, sizeof(more), "... and %u more", all - shown));
		n++;
	}
	fputs(CLEAR_BELOW, f);
	s->lines = n;
	return fclose(f) == 0 ? out : (free(out), NULL);
}

static int write_all(const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int screen_show(struct screen *s, const char *text)
{
	size_t len;

	fflush(stdout);
	if (!s->tty)
		return write_all(text, strlen(text));
	measure(s);
	char *frame = screen_frame(s, text, &len);
	if (frame == NULL)
		return -ENOMEM;
	int rc = write_all(frame, len);
	free(frame);
	return rc;
}
