/* SPDX-License-Identifier: MIT */
/*
 * Runs clean-ups from libc's list, and removes entries of weft for setcontext
 * and swapcontext, which libc leaves in the list.
 */
#include "libc/cleanup.h"

void wf_cleanup_by_libc(void *cleanup)
{
	struct wf_cleanup *c = cleanup;
	void (*take_back)(void *arg) = c->take_back;

	/* The unwinder has run take_back(), or is running it. */
	if (take_back == NULL)
		return;
	c->take_back = NULL;
	take_back(c->arg);
}

void wf_cleanup_own_by_libc(void *cleanup)
{
	wf_cleanup_by_libc(cleanup);
}

static bool is_weft(const struct _pthread_cleanup_buffer *entry)
{
	return entry->__routine == wf_cleanup_by_libc ||
	       entry->__routine == wf_cleanup_own_by_libc;
}

void wf_cleanup_leave(bool (*is_left)(uintptr_t addr, uintptr_t sp),
		      uintptr_t sp, bool for_good)
{
	struct _pthread_cleanup_buffer **first, *entry;

	if (wf_libc.cleanup_offset == 0)
		return;
	first = (struct _pthread_cleanup_buffer **)(wf_cpu_thread_register() +
						    wf_libc.cleanup_offset);
	while ((entry = *first) != NULL && is_left((uintptr_t)entry, sp) &&
	       is_weft(entry)) {
		*first = entry->__prev;
		if (for_good && entry->__routine == wf_cleanup_own_by_libc)
			wf_cleanup_by_libc(entry->__arg);
	}
}
