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
