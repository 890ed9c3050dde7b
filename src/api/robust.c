/* SPDX-License-Identifier: MIT */
/*
 * The list of robust mutexes that a thread registers with the kernel. The
 * kernel has one for each kernel thread, and those of the carriers are empty.
 * The program expects the list that libc keeps in the thread's TCB. So the
 * functions here return that list.
 */
#include "api/robust.h"

#include <errno.h>
#include <linux/futex.h>

#include "api/ids.h"
#include "arch/arch.h"
#include "base/self.h"
#include "libc/tcb.h"
#include "os/sys.h"
#include "signal/memory.h"

/* The calling thread's list, or 0 if the kernel has the right one. */
static uintptr_t own_list(void)
{
	const struct wf_thread *t = wf_self;

	if (t == NULL || wf_ids_gettid() != t->tid)
		return 0;
	return wf_tcb_robust_list(wf_cpu_thread_register());
}

long wf_robust_get(long tid, uintptr_t *ret_head, size_t *ret_bytes)
{
	const size_t bytes = sizeof(struct robust_list_head);
	uintptr_t own = tid == 0 || tid == wf_ids_gettid() ? own_list() : 0;

	if (own == 0)
		return wf_sys(SYS_get_robust_list, tid, ret_head, ret_bytes);
	if (wf_memory_put(ret_bytes, &bytes, sizeof(bytes)) < 0)
		return -EFAULT;
	return wf_memory_put(ret_head, &own, sizeof(own));
}

/*
 * A list that the program has built itself fails with -ENOSYS. The kernel would
 * walk it when a kernel thread with the thread's id exits, and none has that
 * id.
 */
long wf_robust_set(uintptr_t head, size_t bytes)
{
	uintptr_t own = own_list();

	if (own == 0)
		return wf_sys(SYS_set_robust_list, head, bytes);
	if (bytes != sizeof(struct robust_list_head))
		return -EINVAL;
	return head == own ? 0 : -ENOSYS;
}
