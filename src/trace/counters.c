/* SPDX-License-Identifier: MIT */
/*
 * The counters of the process. When a VP ceases to exist, its counters are
 * added to these. Of a maximum, the larger value stays.
 */
#include "trace/counters.h"

struct wf_counters wf_counters;

void wf_counters_add(const struct wf_counters *more)
{
#define X(name, key, text)                                      \
	atomic_fetch_add_explicit(&wf_counters.name,            \
				  wf_load_relaxed(&more->name), \
				  memory_order_relaxed);
	WF_COUNTERS(X)
#undef X
#define X(name, key, text) wf_count_most(name, wf_load_relaxed(&more->name));
	WF_MAXIMA(X)
#undef X
}
