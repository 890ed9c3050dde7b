/* SPDX-License-Identifier: MIT */
/* Children in their parent's memory: vfork, and clone with CLONE_VFORK. */
#ifndef WEFT_BOOT_VFORK_H
#define WEFT_BOOT_VFORK_H

#include "sched/vfork_child.h"

/* As wf_vfork_child_begin; wf_vfork_child_end ends it. */
struct wf_vfork_child *wf_vfork_begin(void);
/* First thing in the child. */
void wf_vfork_enter_child(void);

#endif
