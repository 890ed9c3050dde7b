/* SPDX-License-Identifier: MIT */
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

/*
 * Another policy (enum wf_wait_policy), and how many VPs may poll at a time: 0
 * is WF_WAIT_PARK. Returns 0 or -EINVAL. in_runtime 0, the runtime has started.
 */
int wf_agent_set(uint32_t policy, uint32_t agents);

/* Each agent that polls or sleeps goes through its loop again. in_runtime set.
 */
void wf_agent_rouse(void);

/* A signal waits in c's slot; set by signal/. */
extern void (*wf_agent_signal_work)(struct wf_carrier *c);

#endif
