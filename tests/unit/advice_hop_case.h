// Situations of next hops and paths, for the table of advice_case.c.
#pragma once

#include "mesh_run.h"

void case_hop_silent(struct mesh_run *r);
void case_hop_was_silent(struct mesh_run *r);
void case_hop_moves(struct mesh_run *r);
void case_own_address(struct mesh_run *r);
void case_claimed(struct mesh_run *r);
void case_taken_over(struct mesh_run *r);
void case_ttl_same(struct mesh_run *r);
void case_ttl_two(struct mesh_run *r);
void case_ttl_by_way(struct mesh_run *r);
void case_expired(struct mesh_run *r);
