/*
 * The kernel keeps mask and pending signals of such a thread. The trampoline
 * only does what the kernel would have done for the program's own handler.
 */
#include "signal/foreign.h"

#include <string.h>

#include "base/log.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "sched/runtime.h"
#include "signal/action.h"
#include "signal/frame.h"
#include "signal/queue.h"
#include "wait/ufutex_internal.h"

/* Signals put off: one for each thread that was caught in the runtime. */
enum { NR_PUT_OFF = 256 };

static struct put_off {
	_Atomic(struct wf_thread *) owner;
	uint64_t mask; /* to go back to */
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

void wf_foreign_at_exit(struct wf_thread *t)
{
	for (size_t i = 0; i < NR_PUT_OFF; i++) {
		struct put_off *p = &put_offs[i];
		uint64_t mask = p->mask;

		if (wf_load_relaxed(&p->owner) != t)
			continue;
		wf_sys(SYS_rt_tgsigqueueinfo, wf_os_getpid(), wf_os_gettid(),
		       p->info.si_signo, &p->info);
		wf_store_release(&p->owner, NULL);
		wf_store_release(&t->in_runtime, 0);
		wf_os_set_signal_mask(mask); /* delivers it */
		wf_runtime_enter();
	}
}

void wf_foreign_arrived(struct wf_thread *t, int sig, siginfo_t *info,
			ucontext_t *uc)
{
	struct wf_action a;
	uint64_t mask;

	if (t != NULL && wf_load_relaxed(&t->in_runtime) != 0 &&
	    info->si_code <= 0) {
		put_off(t, info, uc);
		return;
	}
	a = wf_action_begin(sig);
	if (!wf_action_is_handler(&a)) {
		if (wf_action_is_sig_dfl(&a))
			wf_action_uninstall(sig);
		if (info->si_code <= 0)
			wf_action_do_default(sig, info);
		return;
	}
	if (t != NULL)
		wf_ufutex_interrupt(t, t);
	mask = *wf_frame_mask(uc) | a.mask;
	if ((a.flags & SA_NODEFER) == 0)
		mask |= WF_SIGNAL_BIT(sig);
	if ((a.flags & SA_RESTART) == 0)
		wf_arch_uc_set_eintr(uc);
	wf_os_set_signal_mask(mask);
	a.handler(sig, info, uc);
}
