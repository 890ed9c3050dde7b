/* SPDX-License-Identifier: MIT */
/*
 * Each VP counts the threads that are created and that end on it, without
 * atomic instructions. The number of threads is the sum of all creations minus
 * the sum of all ends. Only threads that end after the process's first thread
 * compute these sums, so an end usually costs one addition.
 *
 * THREAD_COUNT-1. Until the process's first thread has exited, no other thread
 *     can be the last one, so their ends are counted and no sum is computed.
 * THREAD_COUNT-2. A thread counts its end, then reads whether the first thread
 *     has ended. The first thread stores that it has ended, passes a
 *     membarrier, then computes the sums. So at least one of the two notices
 *     the other.
 * THREAD_COUNT-3. The thread that computes the sums reads all ends before any
 *     creation. So the result is never less than the number of threads at some
 *     moment between, and never a false zero. If several threads end at once,
 *     the last to pass its fence finds zero.
 */
#include "thread/thread_count.h"

#include <stdlib.h>
#include <sys/syscall.h>

#include "os/kthread.h"
#include "os/sys.h"

_Atomic bool wf_thread_count_first_has_ended;
static _Atomic bool last_is_known;
/* at least one thread has ended by a system call */
static _Atomic bool has_one_left;

void wf_thread_count_reset(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		wf_store_relaxed(&wf_sched.vps[i].thread_count.nr_created, 0);
		wf_store_relaxed(&wf_sched.vps[i].thread_count.nr_ended, 0);
	}
	wf_store_relaxed(&wf_sched.nr_threads, 1);
	wf_store_relaxed(&wf_sched.thread_count.nr_created, 1);
	wf_store_relaxed(&wf_sched.thread_count.nr_ended, 0);
	wf_store_relaxed(&wf_thread_count_first_has_ended, false);
	wf_store_relaxed(&last_is_known, false);
	wf_store_relaxed(&has_one_left, false);
}

static uint64_t count(void)
{
	uint64_t created, ended;

	/* THREAD_COUNT-3: reads all ends before any creation. */
	ended = wf_load_acquire(&wf_sched.thread_count.nr_ended);
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		ended +=
			wf_load_acquire(&wf_sched.vps[i].thread_count.nr_ended);
	created = wf_load_acquire(&wf_sched.thread_count.nr_created);
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		created += wf_load_acquire(
			&wf_sched.vps[i].thread_count.nr_created);
	return created - ended;
}

uint32_t wf_thread_count_nr(void)
{
	return (uint32_t)count();
}

bool wf_thread_count_is_last(void)
{
	if (wf_self->is_first)
		wf_os_pass_barrier(); /* THREAD_COUNT-2: the first has ended */
	wf_fence_seq_cst();	      /* THREAD_COUNT-3: the last one finds 0 */
	return count() == 0 && !atomic_exchange(&last_is_known, true);
}

void wf_thread_count_left(void)
{
	wf_store_relaxed(&has_one_left, true);
}

/*
 * By THREAD_COUNT-2 each thread that ended by a system call has set
 * has_one_left before.
 */
void wf_thread_count_end_process(int status)
{
	if (!wf_load_relaxed(&has_one_left))
		exit(status);
	for (;;)
		wf_sys(SYS_exit_group, status);
}
