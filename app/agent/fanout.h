// Fanout: net_af_packet makes the id of its packet(7) fan-out group of process and interface,
// modulo 65536, and the kernel refuses a group whose id another interface of the network namespace
// has. So an agent whose id is taken begins anew, as another process.
#pragma once

#include <stdbool.h>

#define FANOUT_TAKEN 75 // exit status of an agent that found its id taken

// Claims the id that the PMD will take in this process for this vdev, against other agents of the
// network namespace, until the process ends. False = it is taken, by one of them or by a group that
// is there (where the kernel tells). True for other PMDs.
bool fanout_claim(const char *vdev);
