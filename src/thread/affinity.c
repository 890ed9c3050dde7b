/* SPDX-License-Identifier: MIT */
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

/* The process's, when the runtime started: those of threads without a set. */
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
 * CPUs that the kernel would let a thread use. The process's own set may be
 * smaller by the time the runtime starts: a program that gives each thread a
 * CPU often begins with its first.
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

/* Leaves in the set what both have; did it have anything else? */
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
	/* All carriers but those of such threads have the process's. */
	if (!is_partial && t->kind == WF_THREAD_MULTIPLEXED &&
	    wf_reserved_find(t) == NULL)
		return 0;
	err = wf_kernel_state_begin_for(t);
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

	/* As the kernel has it of sizes that it is not asked about. */
	if (size > INT_MAX || size % sizeof(long) != 0)
		return -EINVAL;
	/* All carriers of VPs are alike; somebody may change them from
	 * outside, so the kernel is asked. It says which sizes are too small:
	 * less than there are CPUs, not less than it could have. */
	bytes = ask_for(size, set, wf_kernel_state_tid_of(t));
	if (bytes < 0)
		return -EINVAL;
	if (wf_memory_put(ret_set, set, (size_t)bytes) < 0)
		return -EFAULT;
	memset((char *)ret_set + bytes, 0, size - (size_t)bytes);
	return 0;
}
