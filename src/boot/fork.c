/* SPDX-License-Identifier: MIT */
/*
 * In a fork child only the calling thread exists. It is the child's first
 * thread, and native until the child creates a thread; then the runtime starts
 * anew. The child handler resets all modules to the state before the start.
 *
 * Before it runs, glibc's child code has unlinked weft's TCB from ld.so's list,
 * emptied the list and linked the TCB again. It has also written the child's
 * pid into the TCB.
 *
 * weft's handler is registered first. So it runs before all other child
 * handlers, which may use locks and threads.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "boot/boot.h"
#include "boot/tracer.h"
#include "io/backend/ring.h"
#include "io/backend/watcher.h"
#include "io/backend/worker.h"
#include "io/call/many.h"
#include "io/call/poll_call.h"
#include "io/file/epoll_proxy.h"
#include "io/file/pin.h"
#include "io/file/private_fd.h"
#include "libc/loader.h"
#include "libc/real.h"
#include "monitor/monitor.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/vfork_child.h"
#include "sched/carrier.h"
#include "sched/cpu_time.h"
#include "sched/idle.h"
#include "sched/keys.h"
#include "sched/realtime.h"
#include "sched/reserved.h"
#include "sched/runtime.h"
#include "sched/service.h"
#include "sched/table.h"
#include "signal/ignored.h"
#include "signal/signal.h"
#include "sync/inherit.h"
#include "sync/boost.h"
#include "sync/once.h"
#include "sync/ceiling.h"
#include "sync/shared.h"
#include "thread/thread_count.h"
#include "thread/cpu_timer.h"
#include "thread/kernel_state.h"
#include "thread/main_exit.h"
#include "thread/name.h"
#include "thread/policy.h"
#include "thread/reap.h"
#include "trace/counters.h"
#include "wait/ufutex_internal.h"
#include "wait/word.h"

void wf_boot_become_first(struct wf_thread *t)
{
	t->kind = WF_THREAD_FOREIGN;
	t->is_first = true;
	t->vp = NULL;
	t->carrier = NULL;
	t->tid = wf_os_getpid();
	/* the joiner does not exist in this process */
	wf_store_relaxed(&t->joiner, 0);
	wf_store_relaxed(&t->in_runtime, 0);
	wf_store_relaxed(&t->retake, WF_RETAKE_NONE);
	wf_store_relaxed(&t->exit_work, 0);
	t->slot.link_epoch = wf_table_fork_epoch();
	/* If the thread forked in a handler that had interrupted a wait, the
	 * wait ends as interrupted. */
	if (t->wait_addr != NULL)
		t->wait_result = -EINTR;
	/* A waker may have ended the wait and not yet stored this. It does not
	 * exist in this process. */
	wf_store_relaxed(&t->kernel_word, 1);
	t->wait_addr = NULL;
	wf_store_relaxed(&t->wait_bucket, NULL);
}

void wf_boot_forget_kernel_threads(void)
{
	wf_reserved_fork_child();
	wf_idle_reset();
	wf_realtime_fork_child();
	wf_ufutex_fork_child();
	wf_words_fork_child();
	wf_ring_fork_child();
	wf_watcher_fork_child();
	wf_pin_fork_child();
	wf_epoll_proxy_fork_child();
	wf_many_fork_child();
	wf_poll_call_fork_child();
	wf_private_fd_fork_child();
	wf_worker_fork_child();
	wf_shared_fork_child();
	wf_monitor_fork_child();
	wf_setxid_fork_child();
}

void wf_boot_fork_child(void)
{
	bool by_vfork_child = wf_vfork_child_fork_child();
	struct wf_thread *t = wf_self;

	wf_ranks_carried(0); /* all locks are reset, so none is held */

	if (wf_is_started())
		wf_signal_fork_child(t, by_vfork_child);
	if (t != NULL && t->carrier != NULL) {
		if (!by_vfork_child)
			wf_signal_restore(t);
		wf_name_fork_child(t);
	}
	wf_loader_fork_child();
	wf_store_relaxed(&wf_sched.is_started, false);
	wf_table_fork_child(t);
	wf_carrier_fork_child();
	wf_boot_forget_kernel_threads();
	wf_cpu_time_fork_child();
	wf_keys_fork_child();
	wf_cpu_timer_fork_child();
	wf_kernel_state_fork_child();
	wf_once_fork_child();
	wf_inherit_fork_child();
	wf_boost_fork_child();
	wf_ceiling_fork_child();
	wf_ignored_fork_child();
	wf_start_fork_child();
	wf_service_fork_child();
	wf_main_exit_fork_child();
	wf_reap_fork_child();
	wf_tracer_fork_child();
	memset(&wf_counters, 0, sizeof(wf_counters));
	wf_boot_stats_fork_child();
	/* NULL: a kernel thread that never used weft may fork, too. */
	if (t == NULL)
		t = wf_runtime_attach();
	wf_policy_fork_child(t);
	wf_boot_become_first(t);
	wf_thread_count_reset();
}

void wf_boot_fork_prepare(void)
{
	wf_tracer_fork();
	wf_signal_fork_prepare();
}

extern void *__dso_handle __attribute__((visibility("hidden")));

void wf_boot_register_fork(void)
{
	static _Atomic bool is_registered;

	if (!atomic_exchange(&is_registered, true))
		wf_real.__register_atfork(wf_boot_fork_prepare,
					  wf_signal_fork_parent,
					  wf_boot_fork_child, &__dso_handle);
}
