// A host that every probe finds well: facts by path, and matrices that ask things of it.
#pragma once

struct known {
	const char *path, *text;
};

// [healthy_count] A host with an E810 on vfio-pci (0000:3b:00.0), an interface eth1 (0000:3b:00.1)
// and a ConnectX-5 (0000:5e:00.0, eth2); it is reached by eth0.
extern const struct known healthy[];
extern const unsigned healthy_count;

// Two hosts a and b each; "%s" stands for more of host a's keys.
extern const char healthy_packet[], healthy_xdp[], healthy_pci[], healthy_mlx[], healthy_local[];
