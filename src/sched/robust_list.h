/* SPDX-License-Identifier: MIT */
/*
 * The list of robust mutexes that a kernel thread of weft's has registered with
 * the kernel (sync/robust.h).
 */
#ifndef WEFT_SCHED_ROBUST_LIST_H
#define WEFT_SCHED_ROBUST_LIST_H

#include <linux/futex.h>
#include <stdint.h>

struct wf_robust_list {
	uintptr_t prev; /* the link that precedes the list's head */
	struct robust_list_head head;
};

#endif
