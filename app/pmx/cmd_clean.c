#include "cmd.h"
#include "fleet_verb.h"
#include "halt.h"

static int clean_one(struct fleet_host *h, void *arg, struct err *e)
{
	enum stop_how how;
	bool was_there;

	(void)arg;
	int rc = halt_agent(h, &how, e);
	if (rc == 0)
		rc = deploy_clean(h->remote, &h->site, &was_there, e);
	if (rc < 0 || h->fleet->dry)
		return rc;
	fleet_say(h, "%s, %s %s", stop_how_name[how], h->site.dir,
		  was_there ? "removed" : "was not there");
	return 0;
}

int cmd_clean(struct opts *o)
{
	return fleet_end_verb(o, clean_one);
}
