/*
 * The monitor's tick: who has computed for long, who goes next.
 */
#ifndef WEFT_BOOT_TICK_H
#define WEFT_BOOT_TICK_H

#include "sched/vp.h"

enum { WF_MONITOR_TICK_NS = 1000 * 1000 };

void wf_tick_all(int64_t now_ns);

/* Threads of vp's became runnable because their time has come. */
void wf_tick_timer_fired(struct wf_vp *vp, int64_t now_ns);

/* Has the carrier computed for most of the time since the last look? */
bool wf_tick_is_computing(struct wf_vp *vp, int64_t now_ns);

#endif
