// The rules of advice_table, and what they are written with. Rules read a summary and fill both
// texts when they fire.
#pragma once

#include "advice.h"

#include "summary.h"

// Is there reason to trust the figures?
bool rule_invalid_trial(const struct summary *s, struct advice *a);
bool rule_identity_open(const struct summary *s, struct advice *a);
bool rule_dead_host(const struct summary *s, struct advice *a);
bool rule_ended_early(const struct summary *s, struct advice *a);
bool rule_schedule_off(const struct summary *s, struct advice *a);
bool rule_start_skew(const struct summary *s, struct advice *a);
bool rule_other_run(const struct summary *s, struct advice *a);
bool rule_foreign_traffic(const struct summary *s, struct advice *a);
// Is the tool the limit?
bool rule_tool_at_ceiling(const struct summary *s, struct advice *a);
bool rule_short_of_target(const struct summary *s, struct advice *a);
bool rule_box_busy(const struct summary *s, struct advice *a);
bool rule_running_late(const struct summary *s, struct advice *a);
bool rule_replies_unsent(const struct summary *s, struct advice *a);
bool rule_receiver_drops(const struct summary *s, struct advice *a);
bool rule_uneven_queues(const struct summary *s, struct advice *a);
bool rule_off_queue(const struct summary *s, struct advice *a);
// Is the network?
bool rule_forward_loss(const struct summary *s, struct advice *a);
bool rule_return_loss(const struct summary *s, struct advice *a);
bool rule_loss_unattributed(const struct summary *s, struct advice *a);
bool rule_pause_frames(const struct summary *s, struct advice *a);
bool rule_queues_filling(const struct summary *s, struct advice *a);

// Where?
bool rule_dead_column(const struct summary *s, struct advice *a);
bool rule_dead_row(const struct summary *s, struct advice *a);
bool rule_path_mtu(const struct summary *s, struct advice *a);
bool rule_silent_hop(const struct summary *s, struct advice *a);
bool rule_moving_hop(const struct summary *s, struct advice *a);
bool rule_ttl_expired(const struct summary *s, struct advice *a);
bool rule_address_twice(const struct summary *s, struct advice *a);
bool rule_paths_differ(const struct summary *s, struct advice *a);
bool rule_unreachable(const struct summary *s, struct advice *a);
bool rule_sick_grid(const struct summary *s, struct advice *a);

// Add to the evidence and to the fix; what does not fit is cut.
void because(struct advice *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void fix(struct advice *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

// Texts of the figures of one sentence.
struct figures {
	char text[6][32];
	unsigned used;
};
const char *count_of(struct figures *f, uint64_t v); // "unknown" when it is
const char *time_of(struct figures *f, double ns);

const char *name_of(const struct summary *s, size_t host);
bool known(uint64_t v);
// The measured host at which `of` is highest, and above `floor`; NULL when there is none. NAN is
// above nothing.
const struct sum_host *worst_host(const struct summary *s, double (*of)(const struct sum_host *),
				  double floor);
