/* SPDX-License-Identifier: MIT */
/*
 * The threads as JSON, with the field names of the JDK's thread dump where they
 * fit.
 *
 *     wf_see_json(see, &table, order, nr, NULL);
 */
#ifndef WEFT_CLI_SEE_JSON_H
#define WEFT_CLI_SEE_JSON_H

#include "see.h"

/* Prints more members of the dump, and of a thread; each with its comma. */
struct wf_see_json_more {
	void *arg;
	void (*head)(void *arg);
	void (*thread)(void *arg, const struct wf_see_thread *t);
};

/*
 * Prints the threads in the given order, and the cycles, on stdout. more may be
 * NULL.
 */
void wf_see_json(const struct wf_see *see, const struct wf_see_table *table,
		 const struct wf_see_thread *const *order, uint32_t nr,
		 const struct wf_see_json_more *more);
/* The members of parkBlocker that are the same for all waiters of an object. */
void wf_see_json_object(const struct wf_see_table *table,
			const struct wf_see_thread *waiter);
/* A string in quotes. A byte that belongs to no UTF-8 becomes '?'. */
void wf_see_json_string(const char *text);

#endif
