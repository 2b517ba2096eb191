// The traffic's sizes in JSON: request_bytes and reply_bytes (of a mix the mean), request_mix and
// reply_mix (null, or its sizes with their weights in a cycle).
#pragma once

#include "json_put.h"
#include "matrix.h"

void sizes_json(struct json_put *j, const struct matrix *m);
