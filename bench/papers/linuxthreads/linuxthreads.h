/* SPDX-License-Identifier: MIT */
/*
 * A model of LinuxThreads, the thread library of Linux before NPTL, as a
 * library to preload into an unmodified program:
 *
 *     LD_PRELOAD=build/bench/papers/linuxthreads/liblinuxthreads.so PROGRAM
 *
 * Modelled, with the names of glibc 2.3 where they help:
 *
 * - Each thread is a process that shares memory, files and signal handlers
 *   with the others: clone() without CLONE_THREAD. getpid() differs.
 * - A manager, a process as well, creates and reaps threads. Requests come
 *   through a pipe. A thread that ends sends the manager a signal.
 * - A thread waits in sigsuspend() until another sends it the restart signal,
 *   a real-time signal that is blocked at all other times.
 * - A lock is a word, changed by compare-and-swap, with a chain of waiters
 *   ("fastlock"). A mutex is such a lock; semaphores and condition variables
 *   are queues that such a lock protects.
 * - A thread finds its descriptor by a thread register or, with
 *   LINUXTHREADS_SELF=stack in the environment, by its stack pointer: stacks
 *   are aligned to their size and the descriptor lies at the top. The original
 *   chose when it was built; the model has a branch in each look-up.
 * - pthread_t is an index into a table of at most 1024 threads, plus a multiple
 *   of that number which makes the value unique.
 *
 * Different from the original:
 *
 * - All locks use compare-and-swap. CPUs without it had a spin lock instead,
 *   which called sched_yield() and then slept for 2 ms. Waiters have no
 *   priorities and do not spin on machines with several CPUs.
 * - The kernel kills the manager when the main process ends without exit(), and
 *   the threads when the manager ends (PR_SET_PDEATHSIG). The original's
 *   manager looked every 2 s. This costs two system calls in a new thread; the
 *   original made one there, which the model does not make.
 * - When a thread calls _exit(), the program ends. In the original only that
 *   thread did.
 *
 * Not modelled: cancellation, clean-up handlers, destructors of thread-specific
 * data and of C++'s thread_local, waits with a time limit, priorities, debugger
 * support, sem_post() in a signal handler that interrupts a semaphore's
 * functions, stacks of the caller's, stacks above 2 MiB. Calls that would need
 * these fail or end the program with a message (unmodelled.c).
 *
 * libc belongs to NPTL, and each thread has what libc needs: a thread register
 * with static TLS from _dl_allocate_tls() and its number for recursive locks
 * (memory.c). So errno, malloc, stdio, dlopen, locales, thread-specific data,
 * pthread_once, barriers and read-write locks work; they are libc's own and
 * block by futexes. A thread that calls malloc leaves its cache behind when it
 * ends. Unsafe: setuid() and its kin (they reach the caller only, as in the
 * original), exec in a thread, waiting for another thread's child, libc's locks
 * in exit handlers: exit() first kills the other threads wherever they are.
 */
#ifndef LINUXTHREADS_H
#define LINUXTHREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lock.h"
#include "signals.h"

#define LT_STACK_BYTES (2ul << 20)
#define LT_MAX_THREADS 1024
#define LT_EXPORT __attribute__((visibility("default")))

struct lt_thread {
	/* The chain of a lock's waiters: LOCK-2. */
	struct lt_thread *next_locker;
	/* A queue of waiters, protected by the lock of its object. */
	struct lt_thread *next_waiter;
	_Atomic pid_t pid;
	pthread_t id;
	/* Set by the handler of the restart signal, cleared by lt_suspend(). */
	_Atomic bool is_restarted;

	/* Protected by the lock of the thread's handle. */
	bool is_detached, is_terminated;
	struct lt_thread *joiner;
	void *result;

	/* Written before the thread starts. */
	void *(*start)(void *);
	void *arg;
	struct lt_signals mask;
	void *tcb;

	/* Used by the manager only. */
	bool has_exited;
	struct lt_thread *next_alive, *previous_alive;

	/* The manager's answer to this thread's request to create another. */
	int error;
	pthread_t created;
};

/*
 * The entry of a thread in the table; the index is its id modulo
 * LT_MAX_THREADS.
 */
struct lt_handle {
	struct lt_lock lock;
	struct lt_thread *thread; /* protected by the lock */
};

enum { LT_MAIN, LT_MANAGER, LT_FIRST_THREAD };

extern struct lt_handle lt_handles[LT_MAX_THREADS];
/* The initial thread of the process, also of a child of fork(). */
extern struct lt_thread *lt_main;
/* No stack of another thread reaches this address. 0 before the start. */
extern uintptr_t lt_main_stack;
extern bool lt_is_self_by_stack;
extern __thread struct lt_thread *lt_current;

static inline struct lt_thread *lt_descriptor_of_stack(uintptr_t sp)
{
	uintptr_t end = (sp | (LT_STACK_BYTES - 1)) + 1;
	uintptr_t align = _Alignof(max_align_t) - 1;

	return (struct lt_thread *)((end - sizeof(struct lt_thread)) & ~align);
}

/* The calling thread. May be called in a signal handler, but with look-up by
 * stack not on a stack of sigaltstack(). */
static inline struct lt_thread *lt_self(void)
{
	uintptr_t sp;

	if (!lt_is_self_by_stack)
		return lt_current;
	sp = (uintptr_t)__builtin_frame_address(0);
	return sp >= lt_main_stack ? lt_main : lt_descriptor_of_stack(sp);
}

static inline struct lt_handle *lt_handle_of(pthread_t id)
{
	return &lt_handles[id % LT_MAX_THREADS];
}

#endif
