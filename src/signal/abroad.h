/*
 * Signals to threads of other processes on weft, by the ids they show. The
 * kernel does not know them: it signals the receiver there, which asks here
 * whom the signal is for.
 *
 *     rc = wf_abroad_send(pid, tid, sig);
 *     ...
 *     if (wf_abroad_target(&info, &t)) ...
 */
#ifndef WEFT_SIGNAL_ABROAD_H
#define WEFT_SIGNAL_ABROAD_H

#include <signal.h>
#include <stdbool.h>

#include "sched/table.h"

/* An id that no kernel has. */
static inline bool wf_abroad_is_id(long tid)
{
	return tid > 1 << WF_TID_INDEX_BITS;
}

/*
 * As tgkill, of another process. When it returns the thread has the signal, or
 * has ended: which of the two nobody knows here. -ESRCH: the process is not on
 * weft, or has no threads. May sleep; in_runtime 0.
 */
long wf_abroad_send(long pid, long tid, long sig);

/* Receivers have this name. */
#define WF_ABROAD_RECEIVER "weft-signals"

/*
 * True if info comes from such a call, and is then what the thread gets;
 * *ret_target is NULL if that has ended. The receiver.
 */
bool wf_abroad_target(siginfo_t *info, struct wf_thread **ret_target);

#endif
