/* Children that borrow the memory: vfork, and clone with CLONE_VFORK. */
#ifndef WEFT_BOOT_VFORK_H
#define WEFT_BOOT_VFORK_H

#include "sched/borrow.h"

/* As wf_borrow_begin; wf_borrow_end ends it. */
struct wf_loan *wf_vfork_begin(void);
/* First thing in the child. */
void wf_vfork_child(void);

#endif
