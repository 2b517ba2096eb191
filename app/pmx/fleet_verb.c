#include "fleet_verb.h"

#include "halt.h"

int fleet_with(struct opts *o, fleet_part part, void *arg)
{
	struct matrix m;
	struct fleet f;
	int code = cmd_load(o, &m);

	if (code != EXIT_GOOD)
		return code;
	code = fleet_init(&f, o, &m, false);
	if (code == EXIT_GOOD) {
		code = part(&f, arg);
		fleet_free(&f);
	}
	matrix_free(&m);
	return code;
}

struct one_step {
	void (*before)(struct fleet *f);
	fleet_step step;
	void *arg;
};

static int step_on_each(struct fleet *f, void *arg)
{
	const struct one_step *s = arg;

	fleet_connect(f);
	if (s->before != NULL)
		s->before(f);
	fleet_each(f, FLEET_LIVE, s->step, s->arg);
	fleet_print(f);
	return fleet_complain(f) > 0 ? EXIT_HOST : EXIT_GOOD;
}

int fleet_verb(struct opts *o, fleet_step step, void *arg)
{
	return fleet_with(o, step_on_each, &(struct one_step){ .step = step, .arg = arg });
}

int fleet_end_verb(struct opts *o, fleet_step step)
{
	return fleet_with(o, step_on_each,
			  &(struct one_step){ .before = halt_together, .step = step });
}
