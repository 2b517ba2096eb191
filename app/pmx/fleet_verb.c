#include "fleet_verb.h"

int fleet_verb(struct opts *o, fleet_step step, void *arg)
{
	struct matrix m;
	struct fleet f;
	int code = cmd_load(o, &m);

	if (code != EXIT_GOOD)
		return code;
	code = fleet_init(&f, o, &m, false);
	if (code == EXIT_GOOD) {
		fleet_connect(&f);
		fleet_each(&f, FLEET_LIVE, step, arg);
		fleet_print(&f);
		if (fleet_complain(&f) > 0)
			code = EXIT_HOST;
		fleet_free(&f);
	}
	matrix_free(&m);
	return code;
}
