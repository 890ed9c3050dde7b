/* SPDX-License-Identifier: MIT */
/*
 * A table of the system calls that read or change the kernel state of a thread.
 * It has a call's effect, and its arguments with thread ids.
 *
 *     call = wf_kernel_call_find(SYS_setfsuid);
 *     if (call != NULL && call->effect(args) != WF_EFFECT_NONE)
 *             the caller needs a kernel thread of its own
 *
 * docs/reference/syscalls.md has a row for each call of the kernel;
 * tools/make_syscalls.py compares that page with this table.
 */
#ifndef WEFT_API_STATE_KERNEL_CALLS_H
#define WEFT_API_STATE_KERNEL_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* Which threads a call changes; "new threads" are those made afterwards. */
enum wf_effect {
	WF_EFFECT_NONE,
	WF_EFFECT_OWN,	     /* one thread; its new threads are unchanged */
	WF_EFFECT_INHERITED, /* one thread, and its new threads */
	WF_EFFECT_RENEWED,   /* one; each new thread gets new, empty state */
};

struct wf_kernel_call {
	/* The effect of a call. May ask the kernel whether it has one. */
	enum wf_effect (*effect)(const long *args);
	/* Are the arguments in `ids` thread ids? NULL: always. */
	bool (*names_thread)(const long *args);
	uint8_t ids;	    /* bit i: argument i may be a thread id */
	bool is_of_process; /* an id means its process; 0 is no thread id */
	bool changes_on_failure;
};

/* NULL: the call neither reads nor changes the kernel state of a thread. */
const struct wf_kernel_call *wf_kernel_call_find(long nr);

/* The argument with the id of the thread that is changed; -1: the caller. */
int wf_kernel_call_target(const struct wf_kernel_call *call, const long *args);

#endif
