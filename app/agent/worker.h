// The loop of one lcore.
#pragma once

// rte_eal_remote_launch's function: arg is a struct queue; returns 0 when shared->quit is set.
int worker_run(void *arg);
