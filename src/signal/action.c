/* SPDX-License-Identifier: MIT */
/*
 * sigaction of the program changes a table here. The kernel gets weft's
 * trampoline for each signal with a handler, and the program's action
 * otherwise. weft handles some default actions itself. The kernel does the
 * default action of stopping and ending signals as long as the receiver lets
 * them through.
 *
 * ACTION-1. `table` is constant before the runtime starts. After that it
 *     changes under the lock, and the kernel's action with it.
 * ACTION-2. The kernel's action always has SA_RESTART. The delivery decides
 *     whether a system call ends with EINTR: for the thread that runs the
 *     handler, and not for the thread that the signal has interrupted.
 * ACTION-3. SIGSEGV and SIGBUS have the trampoline even if the program has no
 *     handler. It prints the message about a stack overflow, and handles wait
 *     words and pointers of the program's that point to no memory.
 * ACTION-4. wf_memory_uncaught has the bit of either of the two before the
 *     kernel has another action for it, until after the kernel has the
 *     trampoline again.
 * ACTION-5. wf_action_halts changes under the lock. The receiver lets the
 *     signals in it through (signal_receiver.c, SIGNAL_RECEIVER-5). Before such
 *     a signal gets the trampoline, its bit is cleared and the receiver has
 *     closed it; both are checked under the lock.
 * ACTION-6. A signal that would end the process, and that a thread has once
 *     waited for, is no longer left to the kernel: a thread that waits gets it
 *     before a thread that does not block it. A signal that would stop the
 *     process goes to the thread that does not block it, so the kernel keeps
 *     it.
 * ACTION-7. With --stats each signal that ends the process by default has the
 *     trampoline: weft prints the statistics and then makes the kernel end the
 *     process. Such a signal is not in wf_action_halts.
 * ACTION-8. The signal of --dump-on has the trampoline from the load of the
 *     library on, in fork children too. Its row in `table` is what the program
 *     has set, and nothing does it.
 */
#include "signal/action.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/spin.h"
#include "base/options.h"
#include "base/upcall.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "signal/signal_entry.h"
#include "signal/dump_signal.h"
#include "signal/memory.h"
#include "signal/queue.h"
#include "signal/signal_receiver.h"

enum { NR_SIGNALS = 64 };

/*
 * The signals of which the kernel's default action has no effect that the
 * program could notice.
 */
#define IGNORED_BY_DEFAULT                                 \
	(WF_SIGNAL_BIT(SIGCHLD) | WF_SIGNAL_BIT(SIGCONT) | \
	 WF_SIGNAL_BIT(SIGURG) | WF_SIGNAL_BIT(SIGWINCH))

/* The signals that stop the process by default. */
#define STOPS                                              \
	(WF_SIGNAL_BIT(SIGTSTP) | WF_SIGNAL_BIT(SIGTTIN) | \
	 WF_SIGNAL_BIT(SIGTTOU))

/*
 * The signals that end the process by default and that other processes send for
 * that purpose. Others that end the process are missing: programs often change
 * the action of some, as of SIGPIPE.
 */
#define ENDS \
	(WF_SIGNAL_BIT(SIGHUP) | WF_SIGNAL_BIT(SIGINT) | WF_SIGNAL_BIT(SIGTERM))

/* The program cannot change the actions of these signals. */
#define FIXED                                                                  \
	(WF_SIGNAL_BIT(SIGKILL) | WF_SIGNAL_BIT(SIGSTOP) | WF_SIGNAL_BIT(32) | \
	 WF_PREEMPT_BIT)

/*
 * The signals for which --stats prints nothing (ACTION-7). The kernel raises
 * SIGTRAP and SIGSYS once, after the instruction: a repeated instruction would
 * not end the process. The receiver uses SIGSTKFLT.
 */
#define NOT_REPORTED                                                   \
	(IGNORED_BY_DEFAULT | STOPS | FIXED | WF_SIGNAL_BIT(SIGTRAP) | \
	 WF_SIGNAL_BIT(SIGSYS) | WF_SIGNAL_BIT(SIGSTKFLT))

_Atomic uint64_t wf_action_halts;
_Atomic bool wf_action_had_handlers;
static struct wf_spin lock = WF_SPIN_INIT;
/* the program's actions: ACTION-1 */
static struct wf_action table[NR_SIGNALS + 1];
/*
 * The signals of ACTION-6, which a thread has once waited for; only grows,
 * under the lock.
 */
static _Atomic uint64_t kept;

static int kernel_action(int sig, const struct wf_action *new,
			 struct wf_action *ret_old)
{
	return (int)wf_sys(SYS_rt_sigaction, sig, new, ret_old, 8);
}

struct wf_action wf_action_get(int sig)
{
	struct wf_action a;

	wf_spin_lock(&lock, WF_RANK_ACTIONS);
	a = table[sig];
	wf_spin_unlock(&lock);
	return a;
}

bool wf_action_ignores(int sig)
{
	struct wf_action a = wf_action_get(sig);

	if (wf_action_is_sig_ign(&a))
		return true;
	return wf_action_is_sig_dfl(&a) &&
	       (IGNORED_BY_DEFAULT & WF_SIGNAL_BIT(sig)) != 0;
}

bool wf_action_is_default(int sig)
{
	struct wf_action a = wf_action_get(sig);

	return wf_action_is_sig_dfl(&a) &&
	       (IGNORED_BY_DEFAULT & WF_SIGNAL_BIT(sig)) == 0;
}

/* True for the signals of a fault in memory. ACTION-3 */
static bool is_of_memory(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS;
}

/* True if weft prints the statistics before sig ends the process. ACTION-7 */
static bool is_reported(int sig)
{
	return wf_options.stats && (NOT_REPORTED & WF_SIGNAL_BIT(sig)) == 0;
}

/* True if weft handles the default action of sig. */
static bool is_ours(int sig)
{
	return is_of_memory(sig) || is_reported(sig);
}

/* True if the kernel may have the trampoline for sig. */
static bool may_be_entered(int sig, const struct wf_action *a)
{
	return wf_action_is_handler(a) || is_ours(sig) ||
	       wf_dump_signal_is(sig);
}

/* Gives the kernel an action other than the trampoline. ACTION-4 */
static int give_up(int sig, const struct wf_action *a)
{
	if (is_of_memory(sig))
		atomic_fetch_or(&wf_memory_uncaught, WF_SIGNAL_BIT(sig));
	return kernel_action(sig, a, NULL);
}

/*
 * Gives the kernel the action that fits the program's action `a`. ACTION-2,
 * ACTION-3, ACTION-7
 */
static int install(int sig, const struct wf_action *a)
{
	struct wf_action k = {
		.handler = wf_arch_keeps_fs ? wf_arch_signal_landing :
					      wf_signal_entry,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_RESTORER,
		.restorer = wf_arch_sigreturn,
		.mask = UINT64_MAX,
	};
	bool is_default = wf_action_is_sig_dfl(a);
	int err;

	if (!wf_action_is_handler(a) && !(is_default && is_ours(sig)) &&
	    !wf_dump_signal_is(sig))
		return give_up(sig, a);
	if (!is_default)
		wf_store_relaxed(&wf_action_had_handlers, true);
	k.flags |= a->flags & (SA_NOCLDSTOP | SA_NOCLDWAIT);
	err = kernel_action(sig, &k, NULL);
	/* ACTION-4: after the trampoline is set */
	if (err == 0 && is_of_memory(sig))
		atomic_fetch_and(&wf_memory_uncaught, ~WF_SIGNAL_BIT(sig));
	return err;
}

static const struct wf_action default_action = { .flags = 0 };

/*
 * Updates sig in wf_action_halts (ACTION-5). The lock is held. Returns true if
 * the caller has to notify the receiver.
 */
static bool note_halt(int sig)
{
	uint64_t bit = (STOPS | ENDS) & ~wf_load_relaxed(&kept) &
		       WF_SIGNAL_BIT(sig);

	if (bit == 0 || is_reported(sig) || wf_dump_signal_is(sig))
		return false;
	if (wf_action_is_sig_dfl(&table[sig]))
		return (atomic_fetch_or(&wf_action_halts, bit) & bit) == 0;
	atomic_fetch_and(&wf_action_halts, ~bit);
	return false;
}

/* Takes the lock when the receiver has closed the signals of set. ACTION-5 */
static void lock_and_close(uint64_t set)
{
	wf_spin_lock(&lock, WF_RANK_ACTIONS);
	while (set != 0) {
		atomic_fetch_and(&wf_action_halts, ~set);
		if ((wf_signal_receiver_opens() & set) == 0)
			return;
		wf_spin_unlock(&lock);
		wf_signal_receiver_close(set);
		wf_spin_lock(&lock, WF_RANK_ACTIONS);
	}
}

void wf_action_keep(uint64_t set)
{
	/* wf_signal_receiver_opens: another thread may be about to make the
	 * receiver close a signal of set. */
	set &= ENDS & (~wf_load_acquire(&kept) | wf_signal_receiver_opens());
	if (WF_LIKELY(set == 0))
		return;
	wf_spin_lock(&lock, WF_RANK_ACTIONS);
	atomic_fetch_or(&kept, set);
	wf_spin_unlock(&lock);
	lock_and_close(set);
	wf_spin_unlock(&lock);
}

struct wf_action wf_action_begin(int sig)
{
	bool halts = false;
	struct wf_action a;

	wf_spin_lock(&lock, WF_RANK_ACTIONS);
	a = table[sig];
	if (wf_action_is_handler(&a) && (a.flags & SA_RESETHAND) != 0) {
		/* the action is SIG_DFL from now on */
		table[sig].handler = NULL;
		install(sig, &table[sig]);
		halts = note_halt(sig);
	}
	wf_spin_unlock(&lock);
	if (halts)
		wf_signal_receiver_rearm();
	return a;
}

int wf_action_change(int sig, const struct wf_action *new,
		     struct wf_action *ret_old)
{
	struct wf_action old, a;
	bool halts = false;
	int err = 0;

	if (new != NULL && wf_action_is_handler(new))
		lock_and_close((STOPS | ENDS) & WF_SIGNAL_BIT(sig));
	else
		wf_spin_lock(&lock, WF_RANK_ACTIONS);
	old = table[sig];
	if (new != NULL) {
		a = *new;
		a.mask &= ~FIXED;
		err = install(sig, &a);
		if (err == 0)
			table[sig] = a;
		halts = note_halt(sig);
	}
	wf_spin_unlock(&lock);
	if (halts)
		wf_signal_receiver_rearm();
	if (err == 0 && ret_old != NULL)
		*ret_old = old;
	return err;
}

void wf_action_uninstall(int sig)
{
	if (is_reported(sig))
		wf_upcall.before_end();
	give_up(sig, &default_action);
}

void wf_action_do_default(int sig, const siginfo_t *info)
{
	uint64_t mask = wf_os_get_signal_mask();

	/* Lets the kernel do the default action: only this signal is open. So
	 * the wait status, the core file and a stop are native. */
	wf_os_set_signal_mask(UINT64_MAX);
	if (is_ours(sig))
		wf_action_uninstall(sig);
	wf_sys(SYS_rt_tgsigqueueinfo, wf_os_getpid(), wf_os_gettid(), sig,
	       info);
	wf_os_set_signal_mask(~WF_SIGNAL_BIT(sig));
	/* Here the signal had stopped the process, which goes on now. */
	wf_os_set_signal_mask(mask);
}

/* ACTION-8. No fs base but libc's is in use before the runtime starts. */
void wf_actions_take_dump_signal(void)
{
	int sig = wf_dump_signal_number;

	if (sig == 0)
		return;
	kernel_action(sig, NULL, &table[sig]);
	install(sig, &table[sig]);
}

void wf_actions_start(void)
{
	for (int sig = 1; sig <= NR_SIGNALS; sig++) {
		if ((FIXED & WF_SIGNAL_BIT(sig)) != 0)
			continue;
		if (!wf_dump_signal_is(sig)) /* ACTION-8 */
			kernel_action(sig, NULL, &table[sig]);
		if (may_be_entered(sig, &table[sig]))
			install(sig, &table[sig]);
		note_halt(sig);
	}
}

void wf_actions_copy(struct wf_actions *ret)
{
	wf_spin_lock(&lock, WF_RANK_ACTIONS);
	memcpy(ret->of, table, sizeof(ret->of));
	wf_spin_unlock(&lock);
}

void wf_actions_give_up(const struct wf_actions *actions)
{
	for (int sig = 1; sig <= NR_SIGNALS; sig++) {
		const struct wf_action *a = &actions->of[sig];

		if ((FIXED & WF_SIGNAL_BIT(sig)) == 0 && !is_of_memory(sig) &&
		    may_be_entered(sig, a))
			kernel_action(sig, a, NULL);
	}
}

void wf_actions_forget_handlers(void)
{
	for (int sig = 1; sig <= NR_SIGNALS; sig++) {
		if (wf_action_is_handler(&table[sig]))
			table[sig] = default_action;
	}
}

void wf_actions_fork_child(bool has_own)
{
	lock = WF_SPIN_INIT;
	wf_store_relaxed(&kept, 0);
	wf_store_relaxed(&wf_action_halts, 0);
	for (int sig = 1; sig <= NR_SIGNALS; sig++) {
		const struct wf_action *a = &table[sig];

		if ((FIXED & WF_SIGNAL_BIT(sig)) != 0)
			continue;
		if (wf_dump_signal_is(sig)) /* ACTION-8 */
			install(sig, a);
		else if (may_be_entered(sig, a) &&
			 (!has_own || is_of_memory(sig)))
			give_up(sig, a);
	}
}
