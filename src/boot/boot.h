/* SPDX-License-Identifier: MIT */
/*
 * Starts and ends the runtime: on the first pthread_create, around fork and
 * exec, and at the end of the process.
 *
 *     int rc = wf_boot_start();
 *
 *     if (rc < 0)
 *             return -rc;	no thread can be made
 */
#ifndef WEFT_BOOT_BOOT_H
#define WEFT_BOOT_BOOT_H

#include "sched/thread.h"

/*
 * Starts VPs, carriers and the monitor if they do not exist. Before the first
 * pthread_create the process has none of them. The caller has in_runtime 0.
 *
 * Returns 0 if the runtime runs. Returns -EAGAIN if it cannot start now, and
 * always in a process that stays native. Returns -EINVAL if the kernel makes
 * no more kernel threads for the process, as after unshare(CLONE_NEWPID).
 */
int wf_boot_start(void);

/*
 * Fills weft's tables and attaches the process's first thread, if that has not
 * been done. Called by a constructor, or by an earlier call of the program's.
 */
void wf_boot_init(void);

/*
 * Notes that the program has installed a seccomp filter that kills, or sends
 * SIGSYS, for the system call `call`, which weft makes. If weft runs, prints a
 * warning once. If it does not run, it never starts in this process.
 */
void wf_boot_killed_for(const char *call);
/*
 * True if threads of the process have to be libc's, since the seccomp filter
 * would kill weft. Prints a warning once. weft's functions serve these threads
 * like all foreign threads.
 */
bool wf_boot_stays_native(void);

/*
 * Called just before the system call that ends the process. Safe in a signal
 * handler. In boot/end.c.
 */
void wf_boot_end(void);
/*
 * Registers the work of wf_boot_end to run at the end of exit. Call it before
 * any other exit handler is registered.
 */
void wf_boot_end_register(void);

/*
 * Prints the counters once, for --stats. Safe in a signal handler. In
 * boot/stats.c.
 */
void wf_boot_stats_print(void);
/* Registers wf_boot_stats_print for exit and quick_exit. May call malloc. */
void wf_boot_stats_register(void);
void wf_boot_stats_fork_child(void);
void wf_boot_stats_begin(void);

/*
 * Registers the fork handlers once. Call it before the program registers its
 * own.
 */
void wf_boot_register_fork(void);
/*
 * Called by fork.c and wind_down.c when no thread waits and no kernel thread of
 * weft's is left. forget_kernel_threads: resets weft's records of them.
 * become_first: makes t the first thread of the process, without the runtime.
 */
void wf_boot_forget_kernel_threads(void);
void wf_boot_become_first(struct wf_thread *t);
/* The fork handlers: in the parent before the fork, and in the child. */
void wf_boot_fork_prepare(void);
void wf_boot_fork_child(void);

/*
 * In a fork child: releases the start lock, which a thread of the parent may
 * have held.
 */
void wf_start_fork_child(void);

/*
 * Makes the credential system call nr on every kernel thread of the process.
 * Returns 0, or -errno with all credentials as before. In boot/setxid.c.
 */
int wf_setxid(long nr, long a, long b, long c);
/*
 * Called by each kernel thread that is asked to follow a change of credentials:
 * makes the last change on it.
 */
void wf_setxid_follow(void);
void wf_setxid_fork_child(void);

/*
 * Called before and after exec, by a thread of this process. The caller has
 * in_runtime 0. After wf_replacing_end, and inside handlers that run between
 * the two, signals and preemption work as if there were no exec. In
 * boot/replacing.c.
 */
void wf_replacing_begin(void);
void wf_replacing_end(void);
/* Called by signal/ before and after a handler that runs between the two. */
void wf_replacing_suspend(struct wf_thread *t);
void wf_replacing_resume(void);

#endif
