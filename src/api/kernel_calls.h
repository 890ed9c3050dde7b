/* SPDX-License-Identifier: MIT */
/*
 * System calls about what the kernel keeps for each of its threads: which
 * effect a call has, and which of its arguments are thread ids.
 *
 *     call = wf_kernel_call_find(SYS_setfsuid);
 *     if (call != NULL && call->effect(args) != WF_EFFECT_NONE)
 *             the caller needs a kernel thread of its own
 *
 * docs/reference/syscalls.md has a row for each call of the kernel;
 * tools/make_syscalls.py compares that page with this table.
 */
#ifndef WEFT_API_KERNEL_CALLS_H
#define WEFT_API_KERNEL_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/* On one thread, or on none; and on the threads that it creates then. */
enum wf_effect {
	WF_EFFECT_NONE,
	WF_EFFECT_OWN,	     /* these do not have it */
	WF_EFFECT_INHERITED, /* these have it, too */
	WF_EFFECT_RENEWED,   /* each of these has a new one */
};

struct wf_kernel_call {
	/* Asks the kernel where that is cheaper than to change something. */
	enum wf_effect (*effect)(const long *args);
	/* Are the arguments `ids` thread ids? NULL: always. */
	bool (*names_thread)(const long *args);
	uint8_t ids;	    /* a bit for each */
	bool is_of_process; /* which the ids stand for; 0 is none of them */
	bool changes_on_failure;
};

/* NULL: the call does not concern threads. */
const struct wf_kernel_call *wf_kernel_call_find(long nr);

/* Which argument is the id of the thread that is changed; -1: the caller is. */
int wf_kernel_call_target(const struct wf_kernel_call *call, const long *args);

#endif
