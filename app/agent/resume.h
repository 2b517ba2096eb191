// Where the streams' sequences go on when another agent takes this one's place in the run: without
// it, its peers would take the new requests for duplicates, or for late ones. One file in the
// agent's directory, see seq_file.h.
#pragma once

#include "hostcfg.h"
#include "queue.h"

#include "err.h"

// After the last trial was closed. What cannot be written is said in the log.
void resume_write(const struct hostcfg *cfg, struct queue *const *queue);
// Before the queues are armed: no file, and one of another run, are no error. Streams that the file
// does not know begin at 0.
int resume_read(const struct hostcfg *cfg, struct queue *const *queue, struct err *e);
