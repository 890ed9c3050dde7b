/* SPDX-License-Identifier: MIT */
/*
 * The kernel keeps the mask and the pending signals of a foreign thread, and of
 * a thread with native signals. The trampoline does only what the kernel would
 * have done for the program's handler. A signal that arrives while the thread
 * is in the runtime is put off: the handler stores it and blocks all signals,
 * and the runtime's exit sends it again.
 */
#include "signal/foreign.h"

#include <string.h>

#include "base/log.h"
#include "base/upcall.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "signal/action.h"
#include "signal/signal_entry.h"
#include "signal/deliver.h"
#include "signal/frame.h"
#include "signal/queue.h"
#include "wait/ufutex_internal.h"

/*
 * How many signals can be put off: one for each thread that was interrupted in
 * the runtime.
 */
enum { NR_PUT_OFF = 256 };

static struct put_off {
	_Atomic(struct wf_thread *) owner;
	uint64_t mask; /* the kernel's mask, to restore it */
	siginfo_t info;
} put_offs[NR_PUT_OFF];

static void put_off(struct wf_thread *t, const siginfo_t *info, ucontext_t *uc)
{
	for (size_t i = 0; i < NR_PUT_OFF; i++) {
		struct put_off *p = &put_offs[i];
		struct wf_thread *nobody = NULL;

		if (!wf_cas_acq_rel(&p->owner, &nobody, t))
			continue;
		p->mask = *wf_frame_mask(uc);
		p->info = *info;
		*wf_frame_mask(uc) = UINT64_MAX;
		atomic_fetch_or(&t->exit_work, WF_WORK_SIGNAL);
		return;
	}
	WF_CHECK(false, "too many signals to threads that weft did not make");
}

bool wf_foreign_is_due(const struct wf_thread *t)
{
	for (size_t i = 0; i < NR_PUT_OFF; i++) {
		if (wf_load_relaxed(&put_offs[i].owner) == t)
			return true;
	}
	return false;
}

void wf_foreign_at_exit(struct wf_thread *t)
{
	for (size_t i = 0; i < NR_PUT_OFF; i++) {
		struct put_off *p = &put_offs[i];
		uint64_t mask = p->mask;

		if (wf_load_relaxed(&p->owner) != t)
			continue;
		/* By now the runtime has restored the mask, which it may have
		 * closed for a bucket. */
		wf_os_set_signal_mask(UINT64_MAX);
		wf_sys(SYS_rt_tgsigqueueinfo, wf_os_getpid(), wf_os_gettid(),
		       p->info.si_signo, &p->info);
		wf_store_release(&p->owner, NULL);
		wf_store_release(&t->in_runtime, 0);
		/* opens the mask: the kernel delivers the signal */
		wf_os_set_signal_mask(mask);
		wf_runtime_enter();
	}
}

/*
 * Runs a handler, as wf_deliver and wf_signal_return do on carriers. t may be
 * NULL.
 */
static void run_handler(struct wf_thread *t, const struct wf_action *a, int sig,
			siginfo_t *info, ucontext_t *uc)
{
	uint64_t mask = *wf_frame_mask(uc) | a->mask;
	bool may_restart = (a->flags & SA_RESTART) != 0;
	bool was_interrupted = t != NULL && t->interrupted;
	bool was_at_cancel_point = t != NULL && t->at_cancel_point;
	bool was_replacing = t != NULL && t->is_replacing;

	if ((a->flags & SA_NODEFER) == 0)
		mask |= WF_SIGNAL_BIT(sig);
	if (!may_restart)
		wf_arch_uc_set_eintr(uc);
	if (t != NULL) {
		wf_ufutex_interrupt(t, t);
		t->nr_handlers++;
		t->at_cancel_point = false;
		/* a wait in the handler does not starve */
		t->is_starving = false;
		if (was_replacing)
			wf_upcall.exec_suspend(t);
	}
	wf_os_set_signal_mask(mask);
	a->handler(sig, info, uc);
	if (was_replacing)
		wf_upcall.exec_resume();
	/* The handler may have waited and changed the flags. */
	if (t != NULL) {
		t->interrupted = was_interrupted || !may_restart;
		t->at_cancel_point = was_at_cancel_point;
	}
}

void wf_foreign_entry(struct wf_thread *t, int sig, siginfo_t *info,
		      ucontext_t *uc)
{
	bool is_fault = wf_signal_entry_is_fault(sig, info);
	struct wf_action a;

	if (t != NULL && wf_load_relaxed(&t->in_runtime) != 0 && !is_fault) {
		put_off(t, info, uc);
		return;
	}
	a = wf_action_begin(sig);
	if (wf_action_is_handler(&a)) {
		run_handler(t, &a, sig, info, uc);
		return;
	}
	if (wf_action_is_sig_dfl(&a))
		wf_action_uninstall(sig);
	if (!is_fault)
		wf_action_do_default(sig, info);
}

void wf_foreign_fork_child(void)
{
	/* The owners do not exist here: they are threads of the parent. */
	for (size_t i = 0; i < NR_PUT_OFF; i++)
		wf_store_relaxed(&put_offs[i].owner, NULL);
}
