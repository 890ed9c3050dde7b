/* SPDX-License-Identifier: MIT */
/*
 * A system call that weft carries out itself may get a bad pointer from the
 * program. It has to fail with EFAULT then. The functions here copy with a
 * handler for the fault, or ask the kernel first.
 *
 * MEMORY-1. While the signals of a fault are open and have weft's handler, the
 *     copy simply uses the memory. The handler ends a copy that faults
 *     (arch/memory.h).
 * MEMORY-2. In all other cases the kernel would end the process by the signal:
 *     the program blocks or ignores it, the runtime has not started, or the
 *     thread is foreign. Then weft first asks the kernel, by calls that access
 *     the memory and after that fail for an invalid argument.
 * MEMORY-3. Memory on the caller's stack, above its frame, exists. So most
 *     arguments cost no system call even then.
 *
 * Rejected: always to ask, which costs as much as many of the calls themselves.
 * Rejected: process_vm_readv, which costs three times that and is often
 * forbidden. Rejected: to keep the two signals open in the kernel while the
 * program blocks them. weft would have to tell a signal from another process
 * from a fault and put it back.
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

/* True if weft's handler would catch a fault now. MEMORY-1 */
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

/*
 * Asks the kernel whether the word at `at` can be read (MEMORY-2). The call
 * reads the set before it fails for its first argument.
 */
static bool ask_read(uintptr_t at)
{
	enum { NO_SUCH_HOW = -1, SET_BYTES = 8 };

	/* Any word of the page will do. Not its first: in the page at 0 that is
	 * NULL, and the kernel does not read a NULL set. So the second word is
	 * read. */
	return wf_sys(SYS_rt_sigprocmask, NO_SUCH_HOW,
		      wf_align_down(at, WF_PAGE) + SET_BYTES, NULL,
		      SET_BYTES) != -EFAULT;
}

/*
 * Asks the kernel whether the word at `at` can be written (MEMORY-2). The call
 * adds 0 to the word before it fails for its comparison.
 */
static bool ask_write(uintptr_t at)
{
	const int no_such_comparison = 15;
	uintptr_t word = wf_align_down(at, WF_PAGE);

	return wf_sys(SYS_futex, word, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
		      word, FUTEX_OP(FUTEX_OP_ADD, 0, no_such_comparison, 0)) !=
	       -EFAULT;
}

/* True if find() is true for each page of the memory. */
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
 * True if the memory is on the caller's stack, above its frame, and so exists
 * (MEMORY-3). For stacks that weft made: only the guard of a slot is no memory.
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
