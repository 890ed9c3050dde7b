/* Address space: reserve, guard, give back. Sizes are multiples of a page. */
#ifndef WEFT_OS_MEM_H
#define WEFT_OS_MEM_H

#include <stdbool.h>
#include <stddef.h>

#define WF_PAGE 4096UL

/* Zeroed, private, counted against no limit until touched; NULL if refused. */
void *wf_os_reserve(size_t bytes);
void wf_os_release(void *addr, size_t bytes);
/* Grows a reservation, moving it if need be; NULL if refused. */
void *wf_os_regrow(void *addr, size_t old_bytes, size_t new_bytes);
/* No huge pages: a stack touches one page, not 512. */
void wf_os_no_huge(void *addr, size_t bytes);

/*
 * Makes the pages fault. By MADV_GUARD_INSTALL, which splits no mapping
 * (Linux 6.13), else by mprotect. Returns 0 or -Exxx.
 */
int wf_os_guard(void *addr, size_t bytes);
bool wf_os_has_guard_install(void);

#endif
