/* SPDX-License-Identifier: MIT */
/*
 * A set is checked against the CPUs that the process had at start, and if it
 * has others, against those that the kernel would allow. A set that equals the
 * process's set needs no carrier of its own. For any other set the thread
 * becomes bound, and the kernel thread of its carrier gets the set. Queries go
 * to the kernel.
 */
#include "thread/affinity.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "os/sys.h"
#include "sched/reserved.h"
#include "sched/runtime.h"
#include "signal/memory.h"
#include "thread/kernel_state.h"

enum { MAX_BYTES = 1024 };

/*
 * the process's CPUs at start; also those of threads without a set of their own
 */
static unsigned char all_cpus[MAX_BYTES];

static long ask_for(size_t size, unsigned char *ret_set, int tid)
{
	memset(ret_set, 0, MAX_BYTES);
	return wf_sys(SYS_sched_getaffinity, tid,
		      size < MAX_BYTES ? size : MAX_BYTES, ret_set);
}

static long ask(unsigned char *ret_set, int tid)
{
	return ask_for(MAX_BYTES, ret_set, tid);
}

void wf_affinity_init(void)
{
	ask(all_cpus, 0);
}

void wf_affinity_end(struct wf_thread *t)
{
	if (t->has_affinity)
		wf_sys(SYS_sched_setaffinity, 0, MAX_BYTES, all_cpus);
}

/*
 * Stores the CPUs that the kernel would let a thread use. These may be more
 * than the process has when the runtime starts: a program that pins each thread
 * to a CPU often pins its first thread first.
 */
static void ask_possible(unsigned char *ret_set)
{
	unsigned char now[MAX_BYTES] = { 0 };
	struct wf_thread *t;

	memset(ret_set, 0xff, MAX_BYTES);
	t = wf_runtime_enter();
	ask(now, 0);
	if (wf_sys(SYS_sched_setaffinity, 0, MAX_BYTES, ret_set) == 0) {
		ask(ret_set, 0);
		wf_sys(SYS_sched_setaffinity, 0, MAX_BYTES, now);
	} else {
		memcpy(ret_set, all_cpus, MAX_BYTES);
	}
	wf_runtime_leave(t);
}

/*
 * Removes from set the CPUs that are not in with. Returns true if any were
 * removed.
 */
static bool intersect(unsigned char *set, const unsigned char *with)
{
	bool had_more = false;

	for (size_t i = 0; i < MAX_BYTES; i++) {
		had_more |= (set[i] & ~with[i]) != 0;
		set[i] &= with[i];
	}
	return had_more;
}

static int check(unsigned char *ret_wanted, size_t size, const cpu_set_t *set,
		 bool *ret_partial)
{
	static const unsigned char none[MAX_BYTES];
	unsigned char usual[MAX_BYTES];

	memset(ret_wanted, 0, MAX_BYTES);
	if (wf_memory_get(ret_wanted, set,
			  size < MAX_BYTES ? size : MAX_BYTES) < 0)
		return -EFAULT;
	memcpy(usual, ret_wanted, MAX_BYTES);
	if (intersect(usual, all_cpus)) {
		ask_possible(usual);
		intersect(ret_wanted, usual);
	}
	*ret_partial = memcmp(ret_wanted, all_cpus, MAX_BYTES) != 0;
	return memcmp(ret_wanted, none, MAX_BYTES) == 0 ? -EINVAL : 0;
}

int wf_affinity_check(size_t size, const cpu_set_t *set, bool *ret_partial)
{
	unsigned char wanted[MAX_BYTES];

	return check(wanted, size, set, ret_partial);
}

int wf_affinity_set(struct wf_thread *t, size_t size, const cpu_set_t *set)
{
	unsigned char wanted[MAX_BYTES];
	bool is_partial;
	int err = check(wanted, size, set, &is_partial);

	if (err < 0)
		return err;
	/* A multiplexed thread with the process's set needs no change: only
	 * carriers of bound threads have another set. */
	if (!is_partial && t->kind == WF_THREAD_MULTIPLEXED &&
	    wf_reserved_find(t) == NULL)
		return 0;
	err = wf_kernel_state_begin_for(t, WF_BOUND_AFFINITY);
	if (err < 0)
		return err;
	t->has_affinity = true;
	return (int)wf_sys(SYS_sched_setaffinity, wf_kernel_state_tid_of(t),
			   MAX_BYTES, wanted);
}

int wf_affinity_get(struct wf_thread *t, size_t size, cpu_set_t *ret_set)
{
	unsigned char set[MAX_BYTES];
	long bytes;

	/* The kernel's call refuses these sizes, too. */
	if (size > INT_MAX || size % sizeof(long) != 0)
		return -EINVAL;
	/*
	 * Asks the kernel, since another process may have changed the set of
	 * the carriers. The kernel refuses a size that is too small for the
	 * CPUs of the machine.
	 */
	bytes = ask_for(size, set, wf_kernel_state_tid_of(t));
	if (bytes < 0)
		return -EINVAL;
	if (wf_memory_put(ret_set, set, (size_t)bytes) < 0)
		return -EFAULT;
	memset((char *)ret_set + bytes, 0, size - (size_t)bytes);
	return 0;
}
