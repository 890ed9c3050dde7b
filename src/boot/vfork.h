/* SPDX-License-Identifier: MIT */
/*
 * Children that run in their parent's memory: vfork, and clone with
 * CLONE_VFORK.
 *
 *     struct wf_vfork_child *child = wf_vfork_begin();
 *
 *     ...	in the child: wf_vfork_enter_child()
 *     wf_vfork_child_end(child);
 */
#ifndef WEFT_BOOT_VFORK_H
#define WEFT_BOOT_VFORK_H

#include "sched/vfork_child.h"

/*
 * As wf_vfork_child_begin. Also copies the program's signal actions for the
 * child.
 */
struct wf_vfork_child *wf_vfork_begin(void);
/*
 * The child calls this first. It installs the program's mask, actions and
 * alternate stack.
 */
void wf_vfork_enter_child(void);

#endif
