/* SPDX-License-Identifier: MIT */
/*
 * The agent: the loop that a carrier runs on its own stack while its VP has no
 * thread to run. It picks a thread, fires timers, polls for work, or sleeps
 * until a waker needs the VP.
 *
 *     wf_agent_init(has_cpu_for_each_vp);     once, at start
 *     ...
 *     wf_agent_run(c);                        on each carrier
 */
#ifndef WEFT_WAIT_AGENT_H
#define WEFT_WAIT_AGENT_H

#include "sched/vp.h"

WF_NORETURN void wf_agent_run(struct wf_carrier *c);

/*
 * Called before the first VP runs. Without a CPU for each VP, idle VPs poll
 * only under WF_WAIT_POLL.
 */
void wf_agent_init(bool has_cpu_for_each_vp);

/*
 * Sets the policy (enum wf_wait_policy) and how many VPs may poll at a time.
 * With 0 agents the policy becomes WF_WAIT_PARK. Returns 0, or -EINVAL for an
 * unknown policy or more agents than VPs. The caller has in_runtime 0; the
 * runtime must have started.
 */
int wf_agent_set(uint32_t policy, uint32_t agents);

/*
 * Makes each agent that polls or sleeps run through its loop again. The caller
 * has in_runtime set.
 */
void wf_agent_rouse(void);

#endif
