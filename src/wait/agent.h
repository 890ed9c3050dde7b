/*
 * The agent: what a carrier runs on its own stack when its VP has no thread
 * to run. It finds one, fires timers, polls for work, or sleeps until somebody
 * needs the VP.
 */
#ifndef WEFT_WAIT_AGENT_H
#define WEFT_WAIT_AGENT_H

#include "sched/vp.h"

WF_NORETURN void wf_agent_run(struct wf_carrier *c);

/* Before the first VP runs: may an idle VP poll at all for a while? */
void wf_agent_init(bool has_cpu_for_each_vp);

/* What a carrier blocks while it sleeps. */
extern uint64_t wf_agent_signal_mask;

/* A signal waits in c's slot; set by signal/. */
extern void (*wf_agent_signal_work)(struct wf_carrier *c);

#endif
