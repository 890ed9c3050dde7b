/* SPDX-License-Identifier: MIT */
/*
 * Signals to threads of other processes on weft, by the ids they show. The
 * kernel does not know them: it signals the receiver there, which asks here
 * which thread the signal is for.
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

/* An id that no kernel has. */
static inline bool wf_other_process_is_id(long tid)
{
	return tid > 1 << WF_TID_INDEX_BITS;
}

/*
 * As tgkill, of another process. When it returns the thread has the signal.
 * -ESRCH, too: the process is not on weft, or has no threads. May sleep;
 * in_runtime 0.
 */
long wf_other_process_send(long pid, long tid, long sig);

/* Receivers have this name, or one that begins so. */
#define WF_SIGNAL_RECEIVER_NAME "weft-signals"

/*
 * True if info comes from such a call, and is then what the thread gets, with
 * si_signo 0 if that is nothing; *ret_target is NULL if it has ended. The
 * receiver.
 */
bool wf_other_process_target(siginfo_t *info, struct wf_thread **ret_target);
/* Then, with the value that info had. */
void wf_other_process_answer(union sigval asked, bool is_found);

#endif
