// Xdp: the program that an af_xdp port puts on its kernel interface, and the record of it in the
// agent's directory (SESSION_XDP), by which what a killed agent left is told from anybody else's.
#pragma once

// Writes down which program the interface has. To be called only when it had none before the port
// started.
void xdp_note(const char *iface);
// Takes off the program that the record in the current directory names, if its interface still has
// that very one, and removes the record. 1 = taken off, 0 = it was not there any more, -ENOENT =
// nothing is written down, other -errno: it stays, and so does the record. Says on stderr what it
// did.
int xdp_take_off(void);
