/* SPDX-License-Identifier: MIT */
/*
 * The two signals of LinuxThreads: a thread sleeps in lt_suspend() until
 * another calls lt_restart(), and the end of a thread wakes the manager.
 *
 *     put this thread into a queue, under a lock
 *     lt_suspend(self);                       the other: take it out of the
 *                                             queue, lt_restart(thread);
 *
 * There is exactly one restart for each suspension, and it may come first.
 */
#ifndef LT_SIGNALS_H
#define LT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct lt_thread;

/* libc reserves these two signals for itself: 32 and 33. */
enum { LT_RESTART = 32, LT_END = 33 };

/* The kernel's set of signals; libc's functions leave out those two. */
struct lt_signals {
	unsigned long words[_NSIG / 8 / sizeof(unsigned long)];
};

void lt_signals_fill(struct lt_signals *ret_set);
void lt_signals_add(struct lt_signals *set, int sig);
void lt_signals_remove(struct lt_signals *set, int sig);
/* Like sigprocmask(); `set` and `ret_old` may be NULL. */
void lt_signals_mask(int how, const struct lt_signals *set,
		     struct lt_signals *ret_old);

/*
 * Installs both handlers; `on_end` runs for LT_END, with errno saved. Call it
 * after libc has made its first thread, which installs libc's handlers. Returns
 * 0 or -1.
 */
int lt_signals_start(void (*on_end)(void));

/* Blocks until the thread is restarted. `self` is the caller. */
void lt_suspend(struct lt_thread *self);

/* Ends one suspension of a thread that cannot have ended. */
void lt_restart(struct lt_thread *thread);

#endif
