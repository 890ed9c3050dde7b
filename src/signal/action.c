/*
 * D1. table is constant before the runtime starts; after that it changes
 *     under the lock, and the kernel's disposition with it.
 * D2. The kernel's has SA_RESTART always: whether a system call ends with
 *     EINTR is decided at the delivery, for the thread that runs the handler,
 *     and not for the one that happened to be interrupted.
 * D3. SIGSEGV and SIGBUS have the trampoline even if the program has no
 *     handler, for the sake of the message about an overflow, and of wait words
 *     and pointers of the program's where there is no memory.
 * D4. wf_memory_uncaught has the bit of one of the two before the kernel has
 *     another disposition, and until after it has the trampoline again.
 */
#include "signal/action.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/spin.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/preempt.h"
#include "signal/arrive.h"
#include "signal/memory.h"
#include "signal/queue.h"

enum { NR_SIGNALS = 64 };

/* What the kernel does by default and the program does not notice. */
#define IGNORED_BY_DEFAULT                                 \
	(WF_SIGNAL_BIT(SIGCHLD) | WF_SIGNAL_BIT(SIGCONT) | \
	 WF_SIGNAL_BIT(SIGURG) | WF_SIGNAL_BIT(SIGWINCH))

/* What stops the process by default. */
#define STOPS                                              \
	(WF_SIGNAL_BIT(SIGTSTP) | WF_SIGNAL_BIT(SIGTTIN) | \
	 WF_SIGNAL_BIT(SIGTTOU))

/* The program cannot change them. */
#define FIXED                                                                  \
	(WF_SIGNAL_BIT(SIGKILL) | WF_SIGNAL_BIT(SIGSTOP) | WF_SIGNAL_BIT(32) | \
	 WF_PREEMPT_BIT)

bool (*wf_action_is_late)(void);
static struct wf_spin lock = WF_SPIN_INIT;
static struct wf_action table[NR_SIGNALS + 1]; /* D1 */

static int kernel_action(int sig, const struct wf_action *new,
			 struct wf_action *ret_old)
{
	return (int)wf_sys(SYS_rt_sigaction, sig, new, ret_old, 8);
}

struct wf_action wf_action_get(int sig)
{
	struct wf_action a;

	wf_spin_lock(&lock);
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

/* D3 */
static bool is_ours(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS;
}

/* D4 */
static int give_up(int sig, const struct wf_action *a)
{
	if (is_ours(sig))
		atomic_fetch_or(&wf_memory_uncaught, WF_SIGNAL_BIT(sig));
	return kernel_action(sig, a, NULL);
}

/* The kernel's disposition for what the program has set. D2, D3 */
static int install(int sig, const struct wf_action *a)
{
	struct wf_action k = {
		.handler = wf_signal_arrived,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_RESTORER,
		.restorer = wf_arch_sigreturn,
		.mask = UINT64_MAX,
	};
	bool is_default = wf_action_is_sig_dfl(a);
	int err;

	if (!wf_action_is_handler(a) && !(is_default && is_ours(sig)))
		return give_up(sig, a);
	k.flags |= a->flags & (SA_NOCLDSTOP | SA_NOCLDWAIT);
	err = kernel_action(sig, &k, NULL);
	if (err == 0 && is_ours(sig)) /* D4 */
		atomic_fetch_and(&wf_memory_uncaught, ~WF_SIGNAL_BIT(sig));
	return err;
}

static const struct wf_action default_action = { .flags = 0 };

struct wf_action wf_action_begin(int sig)
{
	struct wf_action a;

	wf_spin_lock(&lock);
	a = table[sig];
	if (wf_action_is_handler(&a) && (a.flags & SA_RESETHAND) != 0) {
		table[sig].handler = NULL; /* SIG_DFL */
		install(sig, &table[sig]);
	}
	wf_spin_unlock(&lock);
	return a;
}

int wf_action_change(int sig, const struct wf_action *new,
		     struct wf_action *ret_old)
{
	struct wf_action old, a;
	int err = 0;

	wf_spin_lock(&lock);
	old = table[sig];
	if (new != NULL) {
		a = *new;
		a.mask &= ~FIXED;
		err = install(sig, &a);
		if (err == 0)
			table[sig] = a;
	}
	wf_spin_unlock(&lock);
	if (err == 0 && ret_old != NULL)
		*ret_old = old;
	return err;
}

void wf_action_uninstall(int sig)
{
	give_up(sig, &default_action);
}

/* The process goes on since the signal was taken: it is forgotten. */
static bool is_forgotten(int sig)
{
	const struct timespec now = { 0, 0 };
	uint64_t set = WF_SIGNAL_BIT(sig);

	if ((set & STOPS) == 0 || wf_action_is_late == NULL ||
	    !wf_action_is_late())
		return false;
	wf_sys(SYS_rt_sigtimedwait, &set, NULL, &now, 8);
	return true;
}

void wf_action_do_default(int sig, const siginfo_t *info)
{
	uint64_t mask = wf_os_get_signal_mask();

	/* With only this one open, wait status, core and stop are native. */
	wf_os_set_signal_mask(UINT64_MAX);
	if (is_ours(sig))
		wf_action_uninstall(sig);
	wf_sys(SYS_rt_tgsigqueueinfo, wf_os_getpid(), wf_os_gettid(), sig,
	       info);
	if (!is_forgotten(sig))
		wf_os_set_signal_mask(~WF_SIGNAL_BIT(sig));
	/* It was one that stops, and the process goes on. */
	wf_os_set_signal_mask(mask);
}

void wf_actions_start(void)
{
	for (int sig = 1; sig <= NR_SIGNALS; sig++) {
		if ((FIXED & WF_SIGNAL_BIT(sig)) != 0)
			continue;
		kernel_action(sig, NULL, &table[sig]);
		if (wf_action_is_handler(&table[sig]) || is_ours(sig))
			install(sig, &table[sig]);
	}
}

void wf_actions_fork_child(void)
{
	lock = WF_SPIN_INIT;
	for (int sig = 1; sig <= NR_SIGNALS; sig++) {
		const struct wf_action *a = &table[sig];

		if ((FIXED & WF_SIGNAL_BIT(sig)) != 0)
			continue;
		if (wf_action_is_handler(a) || is_ours(sig))
			give_up(sig, a);
	}
}
