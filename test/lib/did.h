/* SPDX-License-Identifier: MIT */
/*
 * Compares weft's counters before and after a test. CHECK_DID checks nothing in
 * native runs, where there are no counters. Nor does it with --bound, where
 * each thread has a kernel thread, so that parks and handoffs do not occur.
 *
 *     struct did before = did_begin();
 *     ...
 *     CHECK_DID(before, parks, >=, 1);
 *     CHECK_DID(before, handoffs, ==, 0);
 */
#ifndef DID_H
#define DID_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/weft.h>

#include "check.h"
#include "threading.h"

struct did {
	struct weft_stats stats;
	bool counts; /* do the threads of this process share kernel threads? */
};

static inline struct did did_begin(void)
{
	struct did d = { .counts = is_on_weft() &&
				   getenv("WEFT_BOUND") == NULL };

	weft_stats(&d.stats, sizeof(d.stats));
	return d;
}

static inline struct weft_stats did_now(void)
{
	struct weft_stats now;

	weft_stats(&now, sizeof(now));
	return now;
}

/*
 * Returns when `nr` waits have parked, or when it is clear that they will not.
 * The threads must have at most a few steps to go to their waits. The caller
 * does not park.
 */
static inline void did_await_parks(struct did before, uint64_t nr)
{
	const int most_yields = 100000;

	for (int i = 0; i < most_yields; i++) {
		if (!before.counts ||
		    did_now().parks - before.stats.parks >= nr)
			return;
		sched_yield();
	}
}

/* Returns a value that the runner has set, for example the backend, or "". */
static inline const char *did_option(const char *name)
{
	const char *value = getenv(name);

	return value != NULL ? value : "";
}

static inline bool did_use_ring(void)
{
	const char *io = did_option("WEFT_IO");

	return io[0] == '\0' || strcmp(io, "uring") == 0;
}

static inline long did_vps(void)
{
	return strtol(did_option("WEFT_VPS"), NULL, 10);
}

#define CHECK_DID(before, field, relation, number)                            \
	do {                                                                  \
		long did_ = (long)(did_now().field - (before).stats.field);   \
		if ((before).counts && !(did_ relation(long)(number)))        \
			check_not_equal(__FILE__, __LINE__,                   \
					"weft's " #field " " #relation, did_, \
					(long)(number));                      \
	} while (0)

#endif
