/* SPDX-License-Identifier: MIT */
/*
 * Kernel threads that glibc does not know, and the state of kernel threads in
 * /proc.
 *
 *     tid = wf_os_kthread_start(run, arg, stack_top, tp, NULL);
 */
#ifndef WEFT_OS_KTHREAD_H
#define WEFT_OS_KTHREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/rank.h"

struct wf_spin;

/*
 * How many threads are in exec, or about to be (signal/preempt.c, PREEMPT-4).
 * Meanwhile the kernel makes no kernel thread, so the start is tried again for
 * up to 2 s.
 */
extern _Atomic uint32_t wf_os_execs;

/*
 * Starts fn(arg) on a new kernel thread of this process, on the given stack and
 * with the given thread register. Signals are as in the caller. fn never
 * returns. When the kernel thread ends, the kernel clears *clear and wakes one
 * futex sleeper there, with a call that is not private; nothing if `clear` is
 * NULL. Returns the tid or -Exxx.
 */
int wf_os_kthread_start(void (*fn)(void *), void *arg, void *stack_top,
			uintptr_t tp, _Atomic uint32_t *clear);

/*
 * Waits until the kernel has removed the kernel thread `tid` of this process,
 * which is ending. Calls `wake` before each check unless it is NULL. Returns
 * false if the kernel thread still exists after about 5 s.
 */
bool wf_os_kthread_await_end(int tid, void (*wake)(void));

/*
 * Starts fn(arg) as wf_os_kthread_start, but in a new process. It shares
 * address space, descriptors, root, umask and semaphore undo values with this
 * one. Its end sends no signal: wait for it with __WCLONE.
 */
int wf_os_process_start(void (*fn)(void *), void *arg, void *stack_top,
			uintptr_t tp);

void wf_os_set_signal_mask(uint64_t mask);
uint64_t wf_os_get_signal_mask(void);
/* Blocks all signals; returns the mask before. */
WF_COLD uint64_t wf_os_close_signals(void);
int wf_os_tgkill(int tid, int sig);
/* Sends sig to the caller, with id tid. Works also if the kernel may queue no
 * further signal (RLIMIT_SIGPENDING). */
void wf_os_signal_self(int tid, int sig);

/*
 * wf_os_thread_state: the kernel's state letter of a thread of this process: R,
 * S, D, ...; 'X' if the thread has ended or /proc cannot be read. proc is a
 * descriptor of /proc/self/task, which stays valid after a chroot.
 */
int wf_os_proc_open(void);
/* The task directory of another process; it may be listed. */
int wf_os_proc_open_of(int pid);
char wf_os_thread_state(int proc, int tid);
/*
 * Read the state at half the price, through a descriptor that stays open. It is
 * for the thread that had the id when it was opened: 'X' when that thread has
 * ended.
 */
int wf_os_thread_stat_open(int proc, int tid);
char wf_os_thread_stat_state(int stat);
/* The signals that are pending for the calling kernel thread alone. */
uint64_t wf_os_pending_of_thread(void);
/*
 * The signals that are pending for a kernel thread alone, also of another
 * process; proc as above.
 */
uint64_t wf_os_pending_of(int proc, int tid);
/* True if the thread has children that live or were not waited for, or if that
 * is not known. */
bool wf_os_thread_has_children(int proc, int tid);
/* The id of the process that traces the thread, 0 if none does. */
int wf_os_tracer_of(int proc, int tid);
/* The thread's name as pthread_getname_np returns it; empty if unknown. */
enum { WF_OS_NAME_BYTES = 16 };
void wf_os_thread_name(int proc, int tid, char ret_name[WF_OS_NAME_BYTES]);
/*
 * Names the calling kernel thread. Does nothing after forbid: a seccomp filter
 * would kill the process for it.
 */
void wf_os_set_thread_name(const char *name);
void wf_os_forbid_thread_names(void);
/*
 * Stores the number of the system call that the thread is in, and the address
 * that it was made from. False if it is in none, or if that is unknown.
 */
bool wf_os_thread_call(int proc, int tid, long *ret_nr, uintptr_t *ret_pc);
/* How often the thread has gone to sleep; 0 if unknown. */
uint64_t wf_os_thread_sleeps(int proc, int tid);

/* How often the kernel has preempted the calling kernel thread. */
long wf_os_involuntary_switches(void);

/*
 * The ns by which the kernel may delay timed sleeps of the calling kernel
 * thread, at least 1. Kernel threads that it makes inherit the value.
 */
long wf_os_timer_slack(void);
void wf_os_set_timer_slack(long ns);

/*
 * An asymmetric fence: each running thread of the process executes a full
 * barrier.
 */
int wf_os_membarrier_register(void);
int wf_os_membarrier(void);
/*
 * Makes the same fence. Where the kernel refuses membarrier, it sleeps for 1 ms
 * instead.
 */
void wf_os_pass_barrier(void);

/* Takes s, which is not free: spins, then yields the CPU, then sleeps. */
WF_COLD void wf_os_spin_lock_slow(struct wf_spin *s, enum wf_rank rank);
/* Ends the process by SIGABRT, whatever the program's action for it. */
WF_COLD WF_NORETURN void wf_os_abort(void);

#endif
