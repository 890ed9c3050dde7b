/*
 * The last steps of a thread, in the order in which libc takes them natively:
 * thread_local destructors, keys' destructors, lazily allocated TLS; then the
 * switch away, and on the incoming side the news that the thread is done.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include "base/log.h"
#include "libc/layout.h"
#include "libc/tls.h"
#include "sched/carrier.h"
#include "sched/queue.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "sched/table.h"
#include "signal/signal.h"
#include "thread/affinity.h"
#include "thread/lifecycle.h"
#include "wait/ufutex_internal.h"

extern void __pthread_register_cancel(__pthread_unwind_buf_t *);
extern void __pthread_unregister_cancel(__pthread_unwind_buf_t *);
void wf_thread_main(void);

/* Returns when the start routine does, or when libc has unwound to here. */
static void run_start_routine(struct wf_thread *t)
{
	__pthread_unwind_buf_t buf;

	if (__sigsetjmp_cancel(buf.__cancel_jmp_buf, 0) == 0) {
		__pthread_register_cancel(&buf);
		t->result = t->start_routine(t->start_arg);
		__pthread_unregister_cancel(&buf);
	}
}

/* A thread's first frame; called by wf_arch_thread_entry. */
void wf_thread_main(void)
{
	struct wf_thread *t = wf_self;

	wf_switch_finish(t);
	wf_runtime_leave(t);
	if (t->slot.is_used)
		wf_tls_renew(t->slot.tcb);
	t->slot.is_used = true;
	wf_signal_thread_begin(t);
	run_start_routine(t);
	wf_thread_finish(t);
}

static void announce_done(struct wf_carrier *c, void *arg)
{
	struct wf_thread *t = arg;
	uint32_t old;

	/* Its stack is free from here on. A joiner may free t at once. */
	old = atomic_fetch_or(&t->exit_state, WF_EXIT_DONE);
	if ((old & WF_EXIT_DETACHED) != 0)
		wf_table_put(t);
	else if ((old & WF_EXIT_JOINER) != 0)
		wf_ufutex_wake_from(wf_self, &t->exit_state, INT32_MAX,
				    UINT32_MAX);
}

void wf_thread_finish(struct wf_thread *t)
{
	uintptr_t tcb = t->slot.tcb;

	wf_libc.call_tls_dtors();
	wf_tsd_destroy(tcb);
	if (atomic_fetch_sub(&wf_sched.nr_threads, 1) == 1)
		exit(0);
	wf_signal_thread_end(t);
	if (t->slot.class != NULL)
		wf_tls_release(tcb);
	t = wf_runtime_enter();
	if (t->kind == WF_THREAD_BOUND) {
		wf_affinity_end(t);
		t->carrier->bound = NULL;
	}
	if (t->kind == WF_THREAD_MULTIPLEXED)
		wf_switch_abandon(t, wf_queue_pick(t->vp), announce_done, t);
	WF_CHECK(t->kind == WF_THREAD_BOUND,
		 "a foreign thread came to weft to end");
	wf_switch_abandon(t, NULL, announce_done, t);
}
