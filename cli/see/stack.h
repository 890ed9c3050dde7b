/* SPDX-License-Identifier: MIT */
/*
 * The stack of one thread, while the process runs.
 *
 *     err = wf_see_stack_read(see, unwinder, thread, &stack);
 */
#ifndef WEFT_CLI_SEE_STACK_H
#define WEFT_CLI_SEE_STACK_H

#include "unwind.h"

enum { WF_SEE_MAX_FRAMES = 256 };

struct wf_see_stack {
	struct wf_see_frame frames[WF_SEE_MAX_FRAMES]; /* innermost first */
	uint32_t nr;
	enum wf_see_end end;
};

/*
 * Returns 0, 1 if the thread has ended meanwhile, or -ENOMEM. A thread that has
 * no stack has 0 frames. may_stop: the kernel thread of a running thread may be
 * stopped for a moment.
 */
int wf_see_stack_read(const struct wf_see *see,
		      struct wf_see_unwinder *unwinder,
		      const struct wf_see_thread *thread, bool may_stop,
		      struct wf_see_stack *ret_stack);

#endif
