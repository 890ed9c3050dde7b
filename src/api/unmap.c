/* SPDX-License-Identifier: MIT */
/*
 * munmap(). weft's list of robust mutexes has its links in the program's
 * memory. So mutexes in the range leave the list before the range is unmapped.
 */
#include <sys/mman.h>

#include "api/api.h"
#include "os/sys.h"
#include "sync/shared.h"

WF_API(int, munmap, void *addr, size_t bytes)
{
	wf_shared_unmap((uintptr_t)addr, bytes);
	return wf_api_errno((int)wf_sys(SYS_munmap, addr, bytes));
}
