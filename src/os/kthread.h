/* SPDX-License-Identifier: MIT */
/* Kernel threads that glibc does not know of. */
#ifndef WEFT_OS_KTHREAD_H
#define WEFT_OS_KTHREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

/*
 * How many threads are in exec, or about to be (signal/preempt.c, PREEMPT-4).
 * The kernel makes no kernel thread meanwhile: for a while that is tried again.
 */
extern _Atomic uint32_t wf_os_execs;

/*
 * Starts fn(arg) on a new kernel thread of this process, on the given stack
 * and with the given thread register; all signals are as in the caller. fn
 * never returns. When it ends the kernel clears *clear and wakes one who sleeps
 * there by a futex call that is not private; NULL: nothing is cleared. Returns
 * the tid or -Exxx.
 */
int wf_os_kthread_start(void (*fn)(void *), void *arg, void *stack_top,
			uintptr_t tp, _Atomic uint32_t *clear);

/*
 * Waits until the kernel has removed the kernel thread `tid` of this process,
 * which ends by itself or because of what `wake`, not NULL, does: that is
 * called before each check. False: it is still there after some seconds.
 */
bool wf_os_kthread_await_end(int tid, void (*wake)(void));

/*
 * The same in a process of its own that shares address space, descriptors,
 * root, umask and undone semaphores with this one. Nobody is told of its end:
 * it has to be waited for with __WCLONE.
 */
int wf_os_process_start(void (*fn)(void *), void *arg, void *stack_top,
			uintptr_t tp);

void wf_os_set_signal_mask(uint64_t mask);
uint64_t wf_os_get_signal_mask(void);
/* Blocks all; returns what the mask was. */
WF_COLD uint64_t wf_os_close_signals(void);
int wf_os_tgkill(int tid, int sig);
/* To the caller, whose id tid is; also where no signal may be queued any more
 * (RLIMIT_SIGPENDING). */
void wf_os_signal_self(int tid, int sig);

/*
 * Kernel state letter of a thread of this process: R, S, D, ...; 'X' if it is
 * gone or /proc cannot be read. proc is a descriptor of /proc/self/task, which
 * a later chroot does not take away.
 */
int wf_os_proc_open(void);
/* That of another process, which may be listed. */
int wf_os_proc_open_of(int pid);
char wf_os_thread_state(int proc, int tid);
/*
 * The same for half the price, through a descriptor that is kept: of the thread
 * that had the id when it was opened, 'X' when that has ended.
 */
int wf_os_thread_stat_open(int proc, int tid);
char wf_os_thread_stat_state(int stat);
/* Signals that wait for the calling kernel thread, not for the process. */
uint64_t wf_os_pending_of_thread(void);
/* The same of any one; proc as above, also that of another process. */
uint64_t wf_os_pending_of(int proc, int tid);
/* Has it made children that live, or are not waited for yet? True if that is
 * not known. */
bool wf_os_thread_has_children(int proc, int tid);
/* Of the process that traces it, 0 if none does. */
int wf_os_tracer_of(int proc, int tid);
/* As pthread_getname_np has it; empty if nobody knows. */
enum { WF_OS_NAME_BYTES = 16 };
void wf_os_thread_name(int proc, int tid, char ret_name[WF_OS_NAME_BYTES]);
/* Names the calling kernel thread, unless a seccomp filter kills for that. */
void wf_os_set_thread_name(const char *name);
void wf_os_forbid_thread_names(void);
/* What system call it is in, and from where; false if in none, or unknown. */
bool wf_os_thread_call(int proc, int tid, long *ret_nr, uintptr_t *ret_pc);
/* How often it has gone to sleep; 0 if nobody knows. */
uint64_t wf_os_thread_sleeps(int proc, int tid);

/* How often the kernel has taken the CPU from the calling kernel thread. */
long wf_os_involuntary_switches(void);

/*
 * By how many ns the kernel may delay the calling kernel thread's timed sleeps;
 * its new kernel threads inherit that. At least 1.
 */
long wf_os_timer_slack(void);
void wf_os_set_timer_slack(long ns);

/* Asymmetric fence: every running thread of the process passes a barrier. */
int wf_os_membarrier_register(void);
int wf_os_membarrier(void);
/* The same where it is refused, too: then it takes a millisecond. */
void wf_os_pass_barrier(void);

#endif
