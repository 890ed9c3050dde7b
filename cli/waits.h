/* SPDX-License-Identifier: MIT */
/*
 * The waits-for graph, for weft threads --waits.
 *
 *     err = wf_waits_print(see, table);
 */
#ifndef WEFT_CLI_WAITS_H
#define WEFT_CLI_WAITS_H

#include "see/see.h"

/* For people. Returns 0 or -ENOMEM. */
int wf_waits_print(const struct wf_see *see, const struct wf_see_table *table);

/*
 * As wf_see_json, with the objects that most threads wait for, and with the
 * stacks of the threads that wf_waits_print prints stacks of.
 */
int wf_waits_json(const struct wf_see *see, const struct wf_see_table *table,
		  const struct wf_see_thread *const *order, uint32_t nr);

#endif
