#include "libc/cleanup.h"

void wf_cleanup_by_libc(void *cleanup)
{
	struct wf_cleanup *c = cleanup;

	/* It has been run by the unwinder, or is being run. */
	if (!c->is_due)
		return;
	c->is_due = false;
	c->take_back(c->arg);
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
	       entry->__routine == wf_cleanup_by_libc) {
		struct wf_cleanup *c = entry->__arg;

		*first = entry->__prev;
		if (for_good && c->is_own)
			wf_cleanup_by_libc(c);
	}
}
