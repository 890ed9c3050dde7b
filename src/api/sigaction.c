/* SPDX-License-Identifier: MIT */
/*
 * Calls that set the action for a signal. Until the runtime starts they are
 * libc's. From then on signal/action.c keeps the program's actions, since the
 * kernel has weft's handler for them. The older calls are made of sigaction().
 */
#include <signal.h>
#include <string.h>

#include "api/api.h"
#include "arch/arch.h"
#include "libc/real.h"
#include "sched/runtime.h"
#include "signal/action.h"
#include "signal/dump_signal.h"
#include "signal/mask.h"
#include "signal/queue.h"

/* Signals for which siginterrupt() has cleared SA_RESTART; for signal(). */
static _Atomic uint64_t interrupting;

static void to_libc(const struct wf_action *from, struct sigaction *to)
{
	memset(to, 0, sizeof(*to));
	to->sa_sigaction = from->handler;
	to->sa_flags = (int)from->flags;
	to->sa_restorer = from->restorer;
	memcpy(&to->sa_mask, &from->mask, sizeof(from->mask));
}

static void from_libc(const struct sigaction *from, struct wf_action *to)
{
	to->handler = from->sa_sigaction;
	to->flags = (unsigned int)from->sa_flags | SA_RESTORER;
	to->restorer = wf_arch_sigreturn;
	memcpy(&to->mask, &from->sa_mask, sizeof(to->mask));
}

static int change(int sig, const struct sigaction *new,
		  struct sigaction *ret_old)
{
	struct wf_action k, old;
	struct wf_thread *t;
	int err;

	/* libc returns the errors, also for its own two signals. */
	if ((!wf_is_started() && !wf_dump_signal_is(sig)) || sig < 1 ||
	    sig > 64 || sig == 32 || sig == 33 || sig == SIGKILL ||
	    sig == SIGSTOP)
		return wf_real.sigaction(sig, new, ret_old);
	if (new != NULL)
		from_libc(new, &k);
	t = wf_runtime_enter();
	err = wf_action_change(sig, new != NULL ? &k : NULL, &old);
	wf_runtime_leave(t);
	if (err == 0 && ret_old != NULL)
		to_libc(&old, ret_old);
	return wf_api_errno(err);
}

WF_API(int, sigaction, int sig, const struct sigaction *new,
       struct sigaction *ret_old)
{
	return change(sig, new, ret_old);
}
WF_API_ALIAS(sigaction, __sigaction);

/* --- the simpler and older calls ------------------------------------------ */

static sighandler_t set_handler(int sig, sighandler_t handler, int flags,
				bool blocks_itself)
{
	struct sigaction new = { .sa_handler = handler, .sa_flags = flags };
	struct sigaction old;

	if (handler == SIG_ERR || sig < 1 || sig > 64) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (blocks_itself)
		sigaddset(&new.sa_mask, sig);
	if (change(sig, &new, &old) < 0)
		return SIG_ERR;
	return old.sa_handler;
}

WF_API(sighandler_t, signal, int sig, sighandler_t handler)
{
	bool interrupts =
		sig >= 1 && sig <= 64 &&
		(wf_load_relaxed(&interrupting) & WF_SIGNAL_BIT(sig)) != 0;

	return set_handler(sig, handler, interrupts ? 0 : SA_RESTART, true);
}
WF_API_ALIAS(signal, bsd_signal);
WF_API_ALIAS(signal, ssignal);

WF_API(sighandler_t, sysv_signal, int sig, sighandler_t handler)
{
	return set_handler(sig, handler,
			   SA_RESETHAND | SA_NODEFER | (int)0x20000000, false);
}
WF_API_ALIAS(sysv_signal, __sysv_signal);

WF_API(int, sigignore, int sig)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	return change(sig, &ignore, NULL);
}

WF_API(int, siginterrupt, int sig, int interrupts)
{
	struct sigaction action;

	if (change(sig, NULL, &action) < 0)
		return -1;
	if (interrupts) {
		atomic_fetch_or(&interrupting, WF_SIGNAL_BIT(sig));
		action.sa_flags &= ~SA_RESTART;
	} else {
		atomic_fetch_and(&interrupting, ~WF_SIGNAL_BIT(sig));
		action.sa_flags |= SA_RESTART;
	}
	return change(sig, &action, NULL);
}

/* SIG_HOLD blocks sig. Any other value becomes the handler; unblocks sig. */
WF_API(sighandler_t, sigset, int sig, sighandler_t handler)
{
	uint64_t bit, old_mask;
	struct sigaction old;

	if (handler == SIG_ERR || sig < 1 || sig > 64) {
		errno = EINVAL;
		return SIG_ERR;
	}
	bit = WF_SIGNAL_BIT(sig);
	if (handler == SIG_HOLD) {
		wf_mask_change(SIG_BLOCK, &bit, &old_mask);
		if (change(sig, NULL, &old) < 0)
			return SIG_ERR;
	} else {
		old.sa_handler = set_handler(sig, handler, 0, false);
		if (old.sa_handler == SIG_ERR)
			return SIG_ERR;
		wf_mask_change(SIG_UNBLOCK, &bit, &old_mask);
	}
	return (old_mask & bit) != 0 ? SIG_HOLD : old.sa_handler;
}
