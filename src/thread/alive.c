/*
 * Counted per VP, without atomics.
 *
 * ALIVE-1. While the process's first thread lives, nobody is the last: the
 *     others only count.
 * ALIVE-2. A thread counts its end, then looks whether the first has ended; the
 *     first says so, passes a membarrier, then adds up. One sees the other.
 * ALIVE-3. Who adds up reads all ends before any creation, so that the sum is
 *     never less than the number alive in between: no false zero. Of several
 *     that end at once the last to pass its fence finds zero.
 */
#include "thread/alive.h"

#include <stdlib.h>
#include <sys/syscall.h>

#include "os/kthread.h"
#include "os/sys.h"

_Atomic bool wf_alive_first_has_ended;
static _Atomic bool last_is_known;
static _Atomic bool has_one_left; /* by a system call */

void wf_alive_reset(void)
{
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++) {
		wf_store_relaxed(&wf_sched.vps[i].alive.nr_created, 0);
		wf_store_relaxed(&wf_sched.vps[i].alive.nr_ended, 0);
	}
	wf_store_relaxed(&wf_sched.nr_threads, 1);
	wf_store_relaxed(&wf_sched.alive.nr_created, 1);
	wf_store_relaxed(&wf_sched.alive.nr_ended, 0);
	wf_store_relaxed(&wf_alive_first_has_ended, false);
	wf_store_relaxed(&last_is_known, false);
	wf_store_relaxed(&has_one_left, false);
}

static uint64_t count(void)
{
	uint64_t created, ended;

	/* ALIVE-3 */
	ended = wf_load_acquire(&wf_sched.alive.nr_ended);
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		ended += wf_load_acquire(&wf_sched.vps[i].alive.nr_ended);
	created = wf_load_acquire(&wf_sched.alive.nr_created);
	for (uint32_t i = 0; i < wf_sched.nr_vps; i++)
		created += wf_load_acquire(&wf_sched.vps[i].alive.nr_created);
	return created - ended;
}

uint32_t wf_alive_nr(void)
{
	return (uint32_t)count();
}

bool wf_alive_is_last(void)
{
	if (wf_self->is_first)
		wf_os_pass_barrier(); /* ALIVE-2 */
	wf_fence_seq_cst();	      /* ALIVE-3 */
	return count() == 0 && !atomic_exchange(&last_is_known, true);
}

void wf_alive_left(void)
{
	wf_store_relaxed(&has_one_left, true);
}

/* ALIVE-2: all that left have said so before. */
void wf_alive_end_process(int status)
{
	if (!wf_load_relaxed(&has_one_left))
		exit(status);
	for (;;)
		wf_sys(SYS_exit_group, status);
}
