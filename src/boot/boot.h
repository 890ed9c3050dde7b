/* SPDX-License-Identifier: MIT */
/*
 * The runtime's beginnings and ends.
 */
#ifndef WEFT_BOOT_BOOT_H
#define WEFT_BOOT_BOOT_H

#include "sched/thread.h"

/*
 * Starts the runtime if it has not been: VPs, carriers, monitor. Nothing of
 * it exists before the first pthread_create. in_runtime 0. Returns 0 or
 * -EAGAIN, always if the process stays native; -EINVAL if the kernel makes no
 * kernel threads for it any more.
 */
int wf_boot_start(void);

/*
 * The program has a seccomp filter that kills, or sends SIGSYS, for this system
 * call, which weft makes. Says so once if weft runs; if not, it never will.
 */
void wf_boot_killed_for(const char *call);
/*
 * Are the process's threads to be libc's, since weft would be killed? Says so
 * once. weft's functions serve such threads as any that it has not made.
 */
bool wf_boot_stays_native(void);

/*
 * boot/end.c: the process ends by the caller's next system call. Anywhere, also
 * in a signal handler.
 */
void wf_boot_end(void);
/* The same at the end of exit. Before any handler of anybody's. */
void wf_boot_end_register(void);

/* boot/stats.c: --stats. Prints once; anywhere, also in a signal handler. */
void wf_boot_stats_print(void);
/* Prints before a signal ends the process; before wf_signal_convert. */
void wf_boot_stats_start(void);
/* Prints at the process's end. May call malloc. */
void wf_boot_stats_register(void);
void wf_boot_stats_fork_child(void);
void wf_boot_stats_begin(void);

/* Registers the fork handlers once, before any of the program's. */
void wf_boot_register_fork(void);
/* For fork.c and wind_down.c: nothing waits, and of weft's kernel threads none
 * is left. t goes on as the first thread, without the runtime. */
void wf_boot_forget_kernel_threads(void);
void wf_boot_become_first(struct wf_thread *t);
/* What they do before, and in the child. */
void wf_boot_fork_prepare(void);
void wf_boot_fork_child(void);

/* In a fork child: nobody is starting the runtime. */
void wf_start_fork_child(void);

/* boot/monitor.c: starts the monitor's kernel thread. 0 or -Exxx. */
int wf_monitor_start(void);
/* Ends it and what it has made, before a new start: as wf_service_dismiss. */
bool wf_monitor_dismiss(void);
void wf_monitor_fork_child(void);
int wf_monitor_tid(void);

/*
 * boot/setxid.c: performs a credential system call on every kernel thread of
 * the process. Returns 0 or -Exxx; on failure nothing has changed.
 */
int wf_setxid(long nr, long a, long b, long c);
/* Called by each kernel thread that is asked to follow. */
void wf_setxid_follow(void);
void wf_setxid_fork_child(void);

/*
 * boot/replacing.c: around exec, which the calling thread of this process is
 * about to make. in_runtime 0. After the end, and in handlers that run in
 * between, all is as if there were none.
 */
void wf_replacing_begin(void);
void wf_replacing_end(void);
/* For signal/, around a handler; set at the start. */
void wf_replacing_suspend(struct wf_thread *t);
void wf_replacing_resume(void);

#endif
