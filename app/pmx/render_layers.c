#include "render.h"

#include "tables.h"
#include "text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LAYER_ROWS 10 // a rotation of up to so many is shown whole

static void put_coverage(FILE *f, const struct summary *s, bool colour)
{
	const struct sum_coverage *c = &s->coverage;
	double dwell_s = (double)s->rotation.dwell_ns / 1e9;

	text_label(f, "COVERAGE", colour);
	fprintf(f, "%zu/%zu pairs measured", c->measured, c->pairs);
	if (c->measured > 0 && c->most_s - c->least_s < 0.005)
		fprintf(f, ", each for %.2f s", c->most_s);
	else if (c->measured > 0)
		fprintf(f, ", for %.2f to %.2f s", c->least_s, c->most_s);
	fputc('\n', f);
	text_label(f, "ROTATION", colour);
	fprintf(f, "%u layer%s of %.2f s each, a cycle of %.2f s", s->rotation.layers,
		s->rotation.layers == 1 ? "" : "s", dwell_s, dwell_s * s->rotation.layers);
	if (s->window_s > 0)
		fprintf(f, "; the window is %.3g of it",
			s->window_s / (dwell_s * s->rotation.layers));
	fputc('\n', f);
}

int render_layers_text(FILE *f, const struct summary *s, const struct report_opts *o, struct err *e)
{
	size_t top = o->top > LAYER_ROWS ? o->top : LAYER_ROWS;
	uint32_t *order;

	if (s->windowed && s->matrix != NULL && matrix_rotation(s->matrix).layers > 0)
		fputs("\nlayers: not known of the last seconds alone; summarize without --window\n",
		      f);
	if (s->rotation.layers == 0)
		return 0;
	order = malloc(s->layer_count * sizeof(*order));
	if (order == NULL)
		return err_set(e, ENOMEM, "no memory for %zu layers", s->layer_count);
	order_layers(s, order);
	struct table t = table_layers(s, order);
	if (!o->verbose && t.rows > top)
		t.rows = top;
	fputc('\n', f);
	put_coverage(f, s, o->colour);
	fputc('\n', f);
	render_table_text(f, &t, o->colour);
	if (t.rows < s->layer_count)
		fprintf(f, "  ... and %zu more (--verbose, --report DIR)\n",
			s->layer_count - t.rows);
	free(order);
	return 0;
}
