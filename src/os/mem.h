/* SPDX-License-Identifier: MIT */
/* Address space: reserve, guard, give back. Sizes are multiples of a page. */
#ifndef WEFT_OS_MEM_H
#define WEFT_OS_MEM_H

#include <stdbool.h>
#include <stddef.h>

#define WF_PAGE 4096UL

/* Zeroed, private, counted against no limit until touched; NULL if refused. */
void *wf_os_reserve(size_t bytes);
void wf_os_release(void *addr, size_t bytes);
/*
 * The same without access, and opened piece by piece: what is not open yet
 * counts against the limit on address space and no other, and mlockall does
 * not fill it. wf_os_open returns 0 or -Exxx; code may be executed there if
 * has_code.
 */
void *wf_os_reserve_closed(size_t bytes);
int wf_os_open(void *addr, size_t bytes, bool has_code);
/*
 * Usable memory just there; false if something else is. For what is to grow in
 * place without a reservation, which a limit on address space would count.
 */
bool wf_os_map_at(void *addr, size_t bytes);
/* Gives the pages back; they are zero when touched again. */
void wf_os_forget(void *addr, size_t bytes);
/* Bytes of address space that the process may have; SIZE_MAX: any. */
size_t wf_os_address_limit(void);
/*
 * Is the kernel to refuse memory soon? A limit on address space or on data that
 * a crowd of threads can reach, or new mappings that are locked at once
 * (mlockall with MCL_FUTURE), which count against RLIMIT_MEMLOCK.
 */
bool wf_os_memory_is_limited(void);
bool wf_os_locks_new_memory(void);
/* Grows a reservation, moving it if need be; NULL if refused. */
void *wf_os_regrow(void *addr, size_t old_bytes, size_t new_bytes);
/* Private memory reads as zeroes again and takes no room. 0 or -Exxx. */
int wf_os_zero(void *addr, size_t bytes);
/* No huge pages: a stack touches one page, not 512. */
void wf_os_no_huge(void *addr, size_t bytes);

/*
 * Copies memory of the process itself that may not be there: returns how many
 * bytes, up to the first that cannot be read, or -EFAULT if that is in the
 * first piece, -EPERM and the like where the kernel does not let it.
 */
struct iovec;
long wf_os_peek(const struct iovec *from, size_t nr, void *to, size_t bytes);

/*
 * Makes the pages fault. By MADV_GUARD_INSTALL, which splits no mapping
 * (Linux 6.13), else, and many of them, by mprotect. Returns 0 or -Exxx.
 */
int wf_os_guard(void *addr, size_t bytes);
bool wf_os_has_guard_install(void);

#endif
