// Pieces of shell that the scripts of deploy*.c share; for shell_command, so without newlines and
// single quotes.
#pragma once

// A directory with this file in it was made by pmx, and may be removed by it.
#define SH_MARK ".pmx"

#define SH_BAD "umask 077; bad() { echo \"$*\" >&2; exit 1; }; "

// pids DIR AGENT: the processes of the agent that runs in DIR, its relays not counted. By a whole
// word of the command line, the name of the binary, and the network namespace: hosts of a lab on
// one machine may see each other's processes.
#define SH_PIDS                                                                    \
	"pids() { n=$(readlink /proc/self/ns/net); "                               \
	"for f in $(grep -lzxF -e \"$1\" /proc/[0-9]*/cmdline 2>/dev/null); do "   \
	"p=${f#/proc/}; p=${p%/cmdline}; x=$(readlink /proc/$p/exe); x=${x##*/}; " \
	"[ \"${x%% *}\" = \"${2##*/}\" ] || continue; "                            \
	"[ \"$(readlink /proc/$p/ns/net)\" = \"$n\" ] || continue; "               \
	"grep -qzx relay /proc/$p/cmdline && continue; echo $p; done; }; "
