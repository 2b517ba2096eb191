#include "cmd.h"
#include "fleet_verb.h"
#include "halt.h"

static int stop_one(struct fleet_host *h, void *arg, struct err *e)
{
	struct site_state state;
	enum stop_how how;

	(void)arg;
	int rc = halt_agent(h, &how, e);
	if (rc == 0)
		rc = deploy_state(h->remote, &h->site, &state, e);
	if (rc < 0 || h->fleet->dry)
		return rc;
	if (!state.deployed)
		fleet_say(h, "%s, not deployed", stop_how_name[how]);
	else
		fleet_say(h, "%s, %s in %s", stop_how_name[how],
			  state.result ? "its result is" : "no result is", h->site.dir);
	return 0;
}

int cmd_stop(struct opts *o)
{
	return fleet_end_verb(o, stop_one);
}
