#include "thread/affinity.h"

#include <errno.h>
#include <string.h>

#include "os/sys.h"
#include "sched/carrier.h"
#include "sched/runtime.h"

enum { MAX_BYTES = 1024 };

/* CPUs that the kernel lets weft use: those of the caller's carrier. */
static long allowed(unsigned char *ret_set, int tid)
{
	memset(ret_set, 0, MAX_BYTES);
	return wf_sys(SYS_sched_getaffinity, tid, MAX_BYTES, ret_set);
}

static bool leaves_out(const unsigned char *set, const unsigned char *of,
		       bool *ret_empty)
{
	bool some = false;

	*ret_empty = true;
	for (size_t i = 0; i < MAX_BYTES; i++) {
		some |= (of[i] & ~set[i]) != 0;
		if ((of[i] & set[i]) != 0)
			*ret_empty = false;
	}
	return some;
}

/* The caller gets a carrier of its own, with that affinity. */
static int bind_self(struct wf_thread *t, const unsigned char *set)
{
	bool bound;
	long err = 0;

	wf_runtime_enter();
	bound = wf_carrier_bind(t);
	if (bound)
		err = wf_sys(SYS_sched_setaffinity, 0, MAX_BYTES, set);
	wf_runtime_leave(t);
	return bound ? (int)err : -EAGAIN;
}

int wf_affinity_set(struct wf_thread *t, size_t size, const cpu_set_t *set)
{
	unsigned char wanted[MAX_BYTES] = { 0 }, all[MAX_BYTES];
	bool is_empty, is_partial;
	int tid = wf_os_getpid();

	memcpy(wanted, set, size < MAX_BYTES ? size : MAX_BYTES);
	if (allowed(all, tid) < 0)
		return -EINVAL;
	is_partial = leaves_out(wanted, all, &is_empty);
	if (is_empty)
		return -EINVAL;
	if (t->kind == WF_THREAD_BOUND)
		return (int)wf_sys(SYS_sched_setaffinity,
				   wf_load_relaxed(&t->carrier->tid), MAX_BYTES,
				   wanted);
	if (!is_partial)
		return 0;
	/* Others' threads stay where they are: affinity is a wish there. */
	return t == wf_self ? bind_self(t, wanted) : 0;
}

int wf_affinity_get(struct wf_thread *t, size_t size, cpu_set_t *ret_set)
{
	unsigned char all[MAX_BYTES];
	int tid = t->kind == WF_THREAD_BOUND ?
			  wf_load_relaxed(&t->carrier->tid) :
			  0;
	long bytes = allowed(all, tid);

	if (bytes < 0 || size < (size_t)bytes)
		return -EINVAL;
	memset(ret_set, 0, size);
	memcpy(ret_set, all, (size_t)bytes);
	return 0;
}
