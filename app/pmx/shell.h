// Shell commands for a host: scripts are constants, whatever varies travels as a quoted argument.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SHELL_ARGS_MAX 8

// 'it'\''s': one word for any POSIX shell (and fish, csh), whatever it holds. Owned; NULL on no
// memory.
char *shell_quote(const char *s);
// One line that runs a POSIX shell script with args (up to SHELL_ARGS_MAX, ended by NULL) as $1,
// $2,
// ..., by `sudo -n` if asked. It first prints a mark: what a noisy login shell said before stands
// in front of it. The script may hold neither newlines nor single quotes. Owned; NULL on no memory.
char *shell_command(const char *script, const char *const *args, bool sudo);
// Where the script's own output begins: behind the mark; NULL when there is no mark (yet).
const char *shell_output(const char *out, size_t len);
// Bytes in front of the mark; 0 when there is none.
size_t shell_noise(const char *out, size_t len);
