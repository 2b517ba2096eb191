// Iface: a network interface of the kernel that the port sits on.
#pragma once

// Receive queues in use, as sysfs says; 0 = not known.
unsigned int iface_rx_queues(const char *name);
// Name (IF_NAMESIZE bytes) and MTU of the interface with this index; 0 = there is none.
unsigned int iface_mtu(unsigned int index, char *name);
// The id of the XDP program that is attached to it, 0 when none is, -errno (no such interface, "")
// otherwise.
int iface_xdp(const char *name);
// Takes the XDP program off, whoever put it there. 0 or -errno (-EPERM without CAP_NET_ADMIN).
int iface_xdp_off(const char *name);
