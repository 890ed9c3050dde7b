/* SPDX-License-Identifier: MIT */
/*
 * Ends all I/O workers when the runtime ends (boot/wind_down.c). I/O servers
 * end together. The caller asks each kernel thread to end, and waits until the
 * kernel has removed that thread.
 *
 * IO_DISMISS-1. I/O servers end first: the supervisor, a kernel thread, cleans
 *     up after them.
 * IO_DISMISS-2. A kernel thread checks for WF_WORKER_GO at the top of its loop.
 *     The caller wakes it again and again until it has ended. A worker for
 *     requests wakes by its word, and the supervisor by wf_supervisor_wake. The
 *     watcher wakes by a signal, after which the kernel never restarts
 *     epoll_wait.
 * IO_DISMISS-3. A worker that has ended has tid 0, as a worker that was killed.
 *     Its row of the table is set up anew only when all workers have ended
 *     (wf_worker_fork_child).
 * IO_DISMISS-4. The watcher and the supervisor end last. If some worker does
 *     not end, the program goes on, and its waits need those two.
 */
#include "io/backend/worker.h"

#include "io/backend/worker_table.h"
#include "os/futex.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"

static struct wf_worker *asked;

/* IO_DISMISS-2 */
static void wake(void)
{
	wf_os_futex_wake(&asked->word, 1);
	wf_supervisor_wake();
	wf_os_tgkill(wf_load_relaxed(&asked->tid), WF_PREEMPT_SIGNAL);
}

static bool dismiss(struct wf_worker *s)
{
	int tid = wf_load_acquire(&s->tid);

	if (tid == 0 || s->is_process)
		return tid == 0;
	atomic_fetch_or(&s->word, WF_WORKER_GO);
	asked = s;
	if (!wf_os_kthread_await_end(tid, wake))
		return false;
	wf_store_relaxed(&s->tid, 0); /* IO_DISMISS-3 */
	return true;
}

static bool dismiss_all(bool are_for_jobs)
{
	for (uint32_t i = 0; i < wf_worker_count(); i++) {
		struct wf_worker *s = &wf_workers[i];

		if ((s->run == wf_worker_run_jobs) == are_for_jobs &&
		    !dismiss(s))
			return false;
	}
	return true;
}

bool wf_worker_dismiss(void)
{
	wf_worker_end_processes();			/* IO_DISMISS-1 */
	return dismiss_all(true) && dismiss_all(false); /* IO_DISMISS-4 */
}
