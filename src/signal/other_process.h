/* SPDX-License-Identifier: MIT */
/*
 * Sends signals to threads of other processes on weft, by the ids that those
 * threads show. The kernel does not know these ids. So the kernel signals the
 * signal receiver of that process, which calls wf_other_process_target to find
 * the thread.
 *
 *     rc = wf_other_process_send(pid, tid, sig);
 *     ...
 *     if (wf_other_process_target(&info, &t)) {
 *             ...
 *             wf_other_process_answer(asked, t != NULL);
 *     }
 */
#ifndef WEFT_SIGNAL_OTHER_PROCESS_H
#define WEFT_SIGNAL_OTHER_PROCESS_H

#include <signal.h>
#include <stdbool.h>

#include "sched/table.h"

/* True if tid is an id that no kernel gives. */
static inline bool wf_other_process_is_id(long tid)
{
	return tid > 1 << WF_TID_INDEX_BITS;
}

/*
 * As tgkill, for a thread of another process: the thread has the signal when
 * this returns. Returns -ESRCH also if the process is not on weft or has no
 * threads. May sleep; the caller has in_runtime 0.
 */
long wf_other_process_send(long pid, long tid, long sig);

/* How the name of each receiver begins. */
#define WF_SIGNAL_RECEIVER_NAME "weft-signals"

/*
 * Called by the receiver only. Returns true if info comes from
 * wf_other_process_send. Then *ret_target is the thread, or NULL if it has
 * ended. info becomes the signal for it; si_signo is 0 if the sender only asks
 * whether it exists.
 */
bool wf_other_process_target(siginfo_t *info, struct wf_thread **ret_target);
/*
 * Answers the sender, after wf_other_process_target; asked is info's value
 * before it.
 */
void wf_other_process_answer(union sigval asked, bool is_found);

#endif
