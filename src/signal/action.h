/* SPDX-License-Identifier: MIT */
/*
 * What the program has set for each signal. Once the runtime has started the
 * kernel has weft's trampoline wherever the program has a handler, and the
 * program's own word is here; queries are answered from here.
 *
 *     struct wf_action a = wf_action_begin(sig);
 *
 * in_runtime set, or all signals blocked.
 */
#ifndef WEFT_SIGNAL_ACTION_H
#define WEFT_SIGNAL_ACTION_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef SA_RESTORER /* the kernel's, which libc tells nobody */
#define SA_RESTORER 0x04000000
#endif

typedef void wf_signal_fn(int sig, siginfo_t *info, void *ucontext);

/* As the kernel has it. */
struct wf_action {
	wf_signal_fn *handler; /* or SIG_DFL, SIG_IGN */
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* Has a handler, not SIG_DFL or SIG_IGN. */
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
/* The same for a delivery: SA_RESETHAND takes effect. */
struct wf_action wf_action_begin(int sig);

/* A signal whose arrival does nothing unless somebody waits for it. */
bool wf_action_ignores(int sig);
/* Its default action ends or stops the process, and it is the default's. */
bool wf_action_is_default(int sig);

/*
 * What stops or ends the process now, as neither the program has changed that
 * nor is about to, and the kernel is to do by itself (action.c, ACTION-5,
 * ACTION-6).
 */
extern _Atomic uint64_t wf_action_halts;

/* A thread is about to wait for these. in_runtime set; may sleep shortly. */
void wf_action_keep(uint64_t set);

/* The program has set a handler; never taken back. */
extern _Atomic bool wf_action_had_handlers;

/*
 * As sigaction, with the kernel's struct; new NULL only asks. sig is one that
 * the program may change. May sleep shortly. Returns 0 or -Exxx.
 */
int wf_action_change(int sig, const struct wf_action *new,
		     struct wf_action *ret_old);

/* The default action, here and now; may not return. Any kernel thread. */
void wf_action_do_default(int sig, const siginfo_t *info);
/* The kernel shall do what it does by default when sig comes next: it ends the
 * process. */
void wf_action_uninstall(int sig);

/*
 * Called before a signal that the program does not handle ends the process; set
 * before wf_actions_start, or NULL. On any stack, in a signal handler.
 */
extern void (*wf_action_before_end)(void);

/* Takes over what the program has set so far / gives it back in a child, unless
 * that is a vfork child's, which has set its own. */
void wf_actions_start(void);
void wf_actions_fork_child(bool has_own);
/* In a child whose handlers the kernel has taken away; before the former. */
void wf_actions_forget_handlers(void);

/*
 * For a vfork child: what the program has set, which the kernel's actions
 * become in the child. Those by which weft finds memory that is not there stay
 * weft's.
 */
struct wf_actions {
	struct wf_action of[65];
};
void wf_actions_copy(struct wf_actions *ret);
void wf_actions_give_up(const struct wf_actions *actions);

#endif
