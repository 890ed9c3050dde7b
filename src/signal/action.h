/* SPDX-License-Identifier: MIT */
/*
 * Keeps the action that the program has set for each signal. Once the runtime
 * has started, the kernel has weft's trampoline for each signal with a handler.
 * The program's action is kept here, and queries are answered from here.
 *
 *     struct wf_action a = wf_action_begin(sig);
 *
 *     if (wf_action_is_handler(&a))
 *             wf_deliver(t, sig, info, uc, &a);
 *
 * Call with in_runtime set, or with all signals blocked.
 */
#ifndef WEFT_SIGNAL_ACTION_H
#define WEFT_SIGNAL_ACTION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef SA_RESTORER /* the kernel's; libc declares it nowhere */
#define SA_RESTORER 0x04000000
#endif

typedef void wf_signal_fn(int sig, siginfo_t *info, void *ucontext);

/* The kernel's struct sigaction. */
struct wf_action {
	wf_signal_fn *handler; /* or SIG_DFL, SIG_IGN */
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* True if the action is a handler, not SIG_DFL or SIG_IGN. */
static inline bool wf_action_is_handler(const struct wf_action *a)
{
	return (uintptr_t)a->handler > (uintptr_t)SIG_IGN;
}

static inline bool wf_action_is_sig_dfl(const struct wf_action *a)
{
	return (uintptr_t)a->handler == (uintptr_t)SIG_DFL;
}

static inline bool wf_action_is_sig_ign(const struct wf_action *a)
{
	return (uintptr_t)a->handler == (uintptr_t)SIG_IGN;
}

struct wf_action wf_action_get(int sig);
/*
 * Returns the action for a delivery of sig. If the action has SA_RESETHAND,
 * resets it.
 */
struct wf_action wf_action_begin(int sig);

/* True if the action makes sig do nothing unless a thread waits for it. */
bool wf_action_ignores(int sig);
/* True if the action is SIG_DFL, and that ends or stops the process. */
bool wf_action_is_default(int sig);

/*
 * The signals that stop or end the process now by the kernel's default action.
 * The program has not changed their action, and is not about to (action.c,
 * ACTION-5, ACTION-6).
 */
extern _Atomic uint64_t wf_action_halts;

/*
 * Called when a thread is about to wait for the signals in set. The caller has
 * in_runtime set; may sleep shortly.
 */
void wf_action_keep(uint64_t set);

/* True once the program has set a handler; never cleared. */
extern _Atomic bool wf_action_had_handlers;

/*
 * As sigaction, with the kernel's struct. If new is NULL, only reads the
 * action. The program must be allowed to change sig. May sleep shortly. Returns
 * 0 or -errno.
 */
int wf_action_change(int sig, const struct wf_action *new,
		     struct wf_action *ret_old);

/*
 * Does the default action now; may not return. Any kernel thread may call it.
 */
void wf_action_do_default(int sig, const siginfo_t *info);
/*
 * Restores the kernel's default action for sig, so that the next one ends the
 * process.
 */
void wf_action_uninstall(int sig);

/*
 * Takes the signal of --dump-on from the program, when the library is loaded.
 */
void wf_actions_take_dump_signal(void);
/*
 * start: takes over the actions that the program has set so far. fork_child: in
 * a child, gives them back to the kernel. has_own: the child is a vfork child's
 * and has set its actions itself, so they stay.
 */
void wf_actions_start(void);
void wf_actions_fork_child(bool has_own);
/*
 * Called in a child in which the kernel has reset the handlers, before
 * wf_actions_fork_child.
 */
void wf_actions_forget_handlers(void);

/*
 * The program's actions, for a vfork child. copy: reads them. give_up: makes
 * them the kernel's in the child. SIGSEGV and SIGBUS keep weft's handler there,
 * by which weft finds addresses without memory.
 */
struct wf_actions {
	struct wf_action of[65];
};
void wf_actions_copy(struct wf_actions *ret);
void wf_actions_give_up(const struct wf_actions *actions);

#endif
