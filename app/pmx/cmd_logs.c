#include "cmd.h"
#include "fleet_verb.h"

#include <stdlib.h>

static int log_one(struct fleet_host *h, void *arg, struct err *e)
{
	char ended[64], how[128], *log;

	(void)arg;
	int rc = deploy_log(h->remote, &h->site, (unsigned)h->fleet->opts->lines, &log, ended,
			    sizeof(ended), e);
	if (rc < 0 || h->fleet->dry) {
		free(log);
		return rc;
	}
	if (ended[0] != '\0')
		fleet_say(h, "%s(the agent %s)\n", log, ended_str(ended, how, sizeof(how)));
	else
		fleet_say(h, "%s", log[0] != '\0' ? log : "(no log)\n");
	free(log);
	return 0;
}

int cmd_logs(struct opts *o)
{
	return fleet_verb(o, log_one, NULL);
}
