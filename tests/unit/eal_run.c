#include "eal_run.h"

#include <rte_eal.h>

#include <stdio.h>
#include <stdlib.h>

int eal_run(const char *name, int (*tests)(void))
{
	char program[64], dir[] = "/tmp/pmx-test-XXXXXX", command[64];
	char *argv[] = { program,	   "--no-huge",	  "-m",		 "256",	  "--no-pci",
			 "--no-telemetry", "--no-shconf", "--log-level", "error", NULL };
	snprintf(program, sizeof(program), "%s", name);
	if (mkdtemp(dir) == NULL || setenv("RUNTIME_DIRECTORY", dir, 1) != 0 ||
	    rte_eal_init((int)(sizeof(argv) / sizeof(argv[0])) - 1, argv) < 0)
		return 1;
	int failed = tests();
	rte_eal_cleanup();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0 || failed;
}
