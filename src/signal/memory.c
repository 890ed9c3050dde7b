/* SPDX-License-Identifier: MIT */
/*
 * MEMORY-1. While the signals of a fault are open and their handler is weft's,
 *     memory is just used, and the handler ends a copy that faults
 *     (arch/memory.h).
 * MEMORY-2. Else the kernel would end the process by the signal: the program
 *     blocks or ignores it, or the runtime has not started, or weft did not
 *     make the thread. The kernel is asked first then, by calls that look at
 *     the memory and after that refuse to know what to do with it.
 * MEMORY-3. What lies on the stack of the caller, above its frame, is there. So
 *     most of what is passed costs nothing then either.
 *
 * Rejected: always to ask, which costs as much as many a call that does so.
 * process_vm_readv, which costs three times that and is often forbidden. To
 * keep the two signals open in the kernel whatever the program blocks: one
 * from another process would have to be told from a fault and put back.
 */
#include "signal/memory.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>

#include "arch/memory.h"
#include "base/self.h"
#include "os/mem.h"
#include "os/sys.h"

_Atomic uint64_t wf_memory_uncaught = WF_MEMORY_SIGNALS;

/* MEMORY-1 */
static bool is_guarded(void)
{
	const struct wf_thread *t = wf_self;

	return t != NULL && t->carrier != NULL &&
	       ((t->sigmask | wf_load_relaxed(&wf_memory_uncaught)) &
		WF_MEMORY_SIGNALS) == 0;
}

static bool touch(uintptr_t at)
{
	char unused;

	return wf_arch_copy(&unused, (const void *)at, sizeof(unused)) == 0;
}

/* MEMORY-2. The kernel copies the set before it looks at what to do with it. */
static bool ask_read(uintptr_t at)
{
	enum { NO_SUCH_HOW = -1, SET_BYTES = 8 };

	/* Any word of the page will do, and one at 0 would be no set. */
	return wf_sys(SYS_rt_sigprocmask, NO_SUCH_HOW,
		      wf_align_down(at, WF_PAGE) + SET_BYTES, NULL,
		      SET_BYTES) != -EFAULT;
}

/* MEMORY-2. It adds 0 before it looks at how to compare the old value. */
static bool ask_write(uintptr_t at)
{
	const int no_such_comparison = 15;
	uintptr_t word = wf_align_down(at, WF_PAGE);

	return wf_sys(SYS_futex, word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
		      word, FUTEX_OP(FUTEX_OP_ADD, 0, no_such_comparison, 0)) !=
	       -EFAULT;
}

/* Each page of it. */
static bool all(const void *at, size_t bytes, bool (*find)(uintptr_t at))
{
	uintptr_t now = (uintptr_t)at, last = now + bytes - 1;

	if (bytes == 0)
		return true;
	if (last < now)
		return false;
	do {
		if (!find(now))
			return false;
		now = wf_align_down(now, WF_PAGE) + WF_PAGE;
	} while (now <= last && now != 0);
	return true;
}

/*
 * MEMORY-3. In a stack of weft's own: of the slot the guard alone is no memory.
 */
static bool is_on_stack(const void *at, size_t bytes)
{
	const struct wf_thread *t = wf_self;
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	uintptr_t first = (uintptr_t)at, low, end;

	if (t == NULL || t->slot.class == NULL || t->slot.has_user_stack)
		return false;
	low = (uintptr_t)t->slot.low;
	end = low + t->slot.class->stride;
	return low <= sp && sp <= first && first < end && bytes <= end - first;
}

static WF_COLD bool is_there(const void *at, size_t bytes,
			     bool (*ask)(uintptr_t at))
{
	return is_on_stack(at, bytes) || all(at, bytes, ask);
}

static WF_COLD int get_slow(void *to, const void *from, size_t bytes)
{
	return is_there(from, bytes, ask_read) ? wf_arch_copy(to, from, bytes) :
						 -EFAULT;
}

static WF_COLD int put_slow(void *to, const void *from, size_t bytes)
{
	return is_there(to, bytes, ask_write) ? wf_arch_copy(to, from, bytes) :
						-EFAULT;
}

int wf_memory_get(void *to, const void *from, size_t bytes)
{
	return WF_LIKELY(is_guarded()) ? wf_arch_copy(to, from, bytes) :
					 get_slow(to, from, bytes);
}

int wf_memory_put(void *to, const void *from, size_t bytes)
{
	return WF_LIKELY(is_guarded()) ? wf_arch_copy(to, from, bytes) :
					 put_slow(to, from, bytes);
}

bool wf_memory_is_readable(const void *at, size_t bytes)
{
	return is_guarded() ? all(at, bytes, touch) :
			      is_there(at, bytes, ask_read);
}

bool wf_memory_is_writable(void *at, size_t bytes)
{
	return all(at, bytes, ask_write);
}

bool wf_memory_is_string(const char *s, size_t most)
{
	while (most > 0) {
		size_t bytes = WF_PAGE - (uintptr_t)s % WF_PAGE;

		bytes = bytes < most ? bytes : most;
		if (!wf_memory_is_readable(s, 1))
			return false;
		if (strnlen(s, bytes) < bytes)
			return true;
		s += bytes;
		most -= bytes;
	}
	return true;
}
