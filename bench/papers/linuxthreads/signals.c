/* SPDX-License-Identifier: MIT */
/*
 * Suspension and restart by a real-time signal.
 *
 * SIGNALS-1. The restart signal is blocked when a thread looks at is_restarted,
 * and sigsuspend() lets it through in the same step in which it sleeps. So no
 * restart is lost between the check and the sleep.
 * SIGNALS-2. A thread goes on only after the signal has arrived. So its process
 * exists while lt_restart() sends the signal, even if it ends at once then.
 */
#include "signals.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linuxthreads.h"

/* At least as large as the kernel's struct sigaction on any CPU. */
struct raw_action {
	unsigned long words[32];
};

static void (*end_handler)(void);

static unsigned long *word_of(struct lt_signals *set, int sig)
{
	return &set->words[(sig - 1) / (8 * (int)sizeof(unsigned long))];
}

static unsigned long bit_of(int sig)
{
	return 1ul << (sig - 1) % (8 * (int)sizeof(unsigned long));
}

void lt_signals_fill(struct lt_signals *ret_set)
{
	memset(ret_set, 0xff, sizeof(*ret_set));
}

void lt_signals_add(struct lt_signals *set, int sig)
{
	*word_of(set, sig) |= bit_of(sig);
}

void lt_signals_remove(struct lt_signals *set, int sig)
{
	*word_of(set, sig) &= ~bit_of(sig);
}

void lt_signals_mask(int how, const struct lt_signals *set,
		     struct lt_signals *ret_old)
{
	syscall(SYS_rt_sigprocmask, how, set, ret_old, sizeof(*set));
}

static void on_restart(int sig)
{
	(void)sig;
	atomic_store_explicit(&lt_self()->is_restarted, true,
			      memory_order_relaxed);
}

static void on_end_signal(int sig)
{
	int saved = errno;

	(void)sig;
	end_handler();
	errno = saved;
}

static long raw_sigaction(int sig, const struct raw_action *new,
			  struct raw_action *ret_old)
{
	return syscall(SYS_rt_sigaction, sig, new, ret_old,
		       sizeof(struct lt_signals));
}

/*
 * libc refuses its own signals. So the handler is installed for another signal,
 * and the kernel's form of that action is copied.
 */
static int install(int sig, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_RESTART };
	struct sigaction before;
	struct raw_action raw;

	sigfillset(&action.sa_mask);
	if (sigaction(SIGRTMAX, &action, &before) != 0)
		return -1;
	if (raw_sigaction(SIGRTMAX, NULL, &raw) != 0 ||
	    raw_sigaction(sig, &raw, NULL) != 0)
		return -1;
	return sigaction(SIGRTMAX, &before, NULL);
}

int lt_signals_start(void (*on_end)(void))
{
	struct lt_signals set = { 0 };

	end_handler = on_end;
	lt_signals_add(&set, LT_RESTART);
	lt_signals_mask(SIG_BLOCK, &set, NULL);
	if (install(LT_RESTART, on_restart) != 0 ||
	    install(LT_END, on_end_signal) != 0)
		return -1;
	memset(&set, 0, sizeof(set));
	lt_signals_add(&set, LT_END);
	lt_signals_mask(SIG_UNBLOCK, &set, NULL);
	return 0;
}

void lt_suspend(struct lt_thread *self)
{
	struct lt_signals set = { 0 };
	struct lt_signals mask;
	int saved = errno;

	/*
	 * The signal is blocked already, unless the program has set a mask. The
	 * original asks for the mask here, by a system call as well.
	 */
	lt_signals_add(&set, LT_RESTART);
	lt_signals_mask(SIG_BLOCK, &set, &mask);
	lt_signals_remove(&mask, LT_RESTART);
	while (!atomic_load_explicit(&self->is_restarted,
				     memory_order_relaxed)) /* SIGNALS-1 */
		syscall(SYS_rt_sigsuspend, &mask, sizeof(mask));
	atomic_store_explicit(&self->is_restarted, false, memory_order_relaxed);
	/* acquire: what the restarting thread wrote before it sent the signal;
	 * pairs with the fence in lt_restart(). */
	atomic_thread_fence(memory_order_acquire);
	errno = saved;
}

void lt_restart(struct lt_thread *thread)
{
	int saved = errno;

	/* release: pairs with the fence in lt_suspend(). */
	atomic_thread_fence(memory_order_release);
	syscall(SYS_kill, thread->pid, LT_RESTART); /* SIGNALS-2 */
	errno = saved;
}
