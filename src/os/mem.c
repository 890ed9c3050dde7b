/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of mmap, mprotect and madvise. Limits are read from the kernel at
 * each call, since a program may change them.
 */
#include "os/mem.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "base/atomic.h"
#include "os/fallback.h"
#include "os/sys.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

static bool is_error(long r)
{
	return r < 0 && r > -4096;
}

static void *map(size_t bytes, int access)
{
	long r = wf_sys(SYS_mmap, NULL, bytes, access,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return is_error(r) ? NULL : (void *)r;
}

void *wf_os_reserve(size_t bytes)
{
	return map(bytes, PROT_READ | PROT_WRITE);
}

void *wf_os_reserve_closed(size_t bytes)
{
	return map(bytes, PROT_NONE);
}

int wf_os_open(void *addr, size_t bytes, bool has_code)
{
	return (int)wf_sys(SYS_mprotect, addr, bytes,
			   PROT_READ | PROT_WRITE | (has_code ? PROT_EXEC : 0));
}

bool wf_os_map_at(void *addr, size_t bytes)
{
	long r = wf_sys(SYS_mmap, addr, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				MAP_FIXED_NOREPLACE,
			-1, 0);

	/*
	 * Kernels before 4.17 do not know the flag and may choose another
	 * address.
	 */
	if (!is_error(r) && (void *)r != addr)
		wf_sys(SYS_munmap, r, bytes);
	return (void *)r == addr;
}

void wf_os_forget(void *addr, size_t bytes)
{
	wf_sys(SYS_madvise, addr, bytes, MADV_DONTNEED);
}

static size_t limit_of(int resource)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	wf_sys(SYS_prlimit64, 0, resource, NULL, &limit);
	return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX :
						 (size_t)limit.rlim_cur;
}

size_t wf_os_address_limit(void)
{
	return limit_of(RLIMIT_AS);
}

bool wf_os_locks_new_memory(void)
{
	void *page = wf_os_reserve_closed(WF_PAGE);
	bool locks;

	if (page == NULL)
		return false;
	/* The kernel does not drop locked pages. */
	locks = wf_sys(SYS_madvise, page, WF_PAGE, MADV_DONTNEED) == -EINVAL;
	wf_os_release(page, WF_PAGE);
	return locks;
}

/* Bytes for 1000 stacks of the default size; a smaller limit may be reached. */
#define AMPLE_BYTES (8UL << 30)

bool wf_os_memory_is_limited(void)
{
	return limit_of(RLIMIT_AS) < AMPLE_BYTES ||
	       limit_of(RLIMIT_DATA) < AMPLE_BYTES || wf_os_locks_new_memory();
}

void wf_os_release(void *addr, size_t bytes)
{
	wf_sys(SYS_munmap, addr, bytes);
}

/* Moves memory by a copy, where mremap is refused. */
static void *move(void *addr, size_t old_bytes, size_t new_bytes)
{
	void *moved = wf_os_reserve(new_bytes);

	if (moved == NULL)
		return NULL;
	memcpy(moved, addr, old_bytes);
	wf_os_release(addr, old_bytes);
	return moved;
}

void *wf_os_regrow(void *addr, size_t old_bytes, size_t new_bytes)
{
	long r;

	if (addr == NULL)
		return wf_os_reserve(new_bytes);
	r = wf_sys(SYS_mremap, addr, old_bytes, new_bytes, MREMAP_MAYMOVE);
	return is_error(r) ? move(addr, old_bytes, new_bytes) : (void *)r;
}

int wf_os_zero(void *addr, size_t bytes)
{
	return (int)wf_sys(SYS_madvise, addr, bytes, MADV_DONTNEED);
}

void wf_os_no_huge(void *addr, size_t bytes)
{
	wf_sys(SYS_madvise, addr, bytes, MADV_NOHUGEPAGE);
}

/*
 * The kernel marks each page of a guard. For a larger guard that would take
 * long and use many page tables, so mprotect closes it.
 */
#define MAX_INSTALL (16UL << 20)

int wf_os_guard(void *addr, size_t bytes)
{
	/*
	 * Set when the kernel does not know the request: it is not made again.
	 */
	static _Atomic bool is_unknown;
	long r;

	if (bytes <= MAX_INSTALL && !wf_load_relaxed(&is_unknown)) {
		r = wf_sys(SYS_madvise, addr, bytes, MADV_GUARD_INSTALL);
		if (r == 0)
			return 0;
		/*
		 * EINVAL also means locked memory; then mprotect does the work.
		 */
		if (!wf_os_has_guard_install()) {
			wf_store_relaxed(&is_unknown, true);
			wf_fallback_note(WF_FALLBACK_GUARDS);
		}
	}
	return (int)wf_sys(SYS_mprotect, addr, bytes, PROT_NONE);
}

bool wf_os_has_guard_install(void)
{
	void *page = wf_os_reserve(WF_PAGE);
	bool has;

	if (page == NULL)
		return false;
	has = wf_sys(SYS_madvise, page, WF_PAGE, MADV_GUARD_INSTALL) == 0;
	wf_os_release(page, WF_PAGE);
	return has;
}

long wf_os_peek(const struct iovec *from, size_t nr, void *to, size_t bytes)
{
	struct iovec into = { .iov_base = to, .iov_len = bytes };

	return wf_sys(SYS_process_vm_readv, wf_os_getpid(), &into, 1, from, nr,
		      0);
}
