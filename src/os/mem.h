/* SPDX-License-Identifier: MIT */
/*
 * Address space: reserves it, guards it and gives it back.
 *
 *     char *p = wf_os_reserve_closed(bytes);
 *     if (p != NULL && wf_os_open(p, WF_PAGE, false) == 0)
 *             p[0] = 1;
 *
 * Sizes are multiples of a page, in bytes.
 */
#ifndef WEFT_OS_MEM_H
#define WEFT_OS_MEM_H

#include <stdbool.h>
#include <stddef.h>

#define WF_PAGE 4096UL

/*
 * Reserves private memory that reads as zeroes. Until it is touched, only the
 * limit on address space counts it. NULL: the kernel refuses.
 */
void *wf_os_reserve(size_t bytes);
void wf_os_release(void *addr, size_t bytes);
/*
 * Reserves memory without access, which wf_os_open opens piece by piece. Memory
 * that is not open counts only against the limit on address space, and mlockall
 * does not fill it. wf_os_open returns 0 or -Exxx; with has_code, code may be
 * executed there.
 */
void *wf_os_reserve_closed(size_t bytes);
int wf_os_open(void *addr, size_t bytes, bool has_code);
/*
 * Maps usable memory at addr; false if other memory is there. For memory that
 * grows in place without a reservation, which a limit on address space would
 * count.
 */
bool wf_os_map_at(void *addr, size_t bytes);
/* Gives the pages back to the kernel; they read as zeroes afterwards. */
void wf_os_forget(void *addr, size_t bytes);
/* The limit on the process's address space in bytes; SIZE_MAX: none. */
size_t wf_os_address_limit(void);
/*
 * True if the kernel may refuse memory soon: a limit on address space or data
 * is below 8 GiB, or new mappings are locked at once. The latter is mlockall
 * with MCL_FUTURE, and counts against RLIMIT_MEMLOCK.
 */
bool wf_os_memory_is_limited(void);
bool wf_os_locks_new_memory(void);
/* Grows a reservation and moves it if necessary; NULL if refused. */
void *wf_os_regrow(void *addr, size_t old_bytes, size_t new_bytes);
/*
 * Makes private memory read as zeroes and frees its pages. Returns 0 or -Exxx.
 */
int wf_os_zero(void *addr, size_t bytes);
/*
 * Forbids huge pages there: a stack then takes one page at first, and not 512.
 */
void wf_os_no_huge(void *addr, size_t bytes);

/*
 * Copies memory of this process that may not be mapped. Returns the number of
 * bytes up to the first that cannot be read. Returns -EFAULT if that is in the
 * first piece, or an error such as -EPERM if the kernel refuses the call.
 */
struct iovec;
long wf_os_peek(const struct iovec *from, size_t nr, void *to, size_t bytes);

/*
 * Makes accesses to the pages fault. Uses MADV_GUARD_INSTALL, which splits no
 * mapping (Linux 6.13); mprotect on older kernels and for large ranges. Returns
 * 0 or -Exxx.
 */
int wf_os_guard(void *addr, size_t bytes);
bool wf_os_has_guard_install(void);

#endif
