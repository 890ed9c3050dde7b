#include "sched/service.h"

#include <errno.h>

#include "libc/tcb.h"
#include "os/kthread.h"
#include "os/mem.h"

enum { STACK_BYTES = 64 * 1024 };

int wf_service_start(void (*run)(void *), struct wf_thread *self,
		     _Atomic int *tid)
{
	size_t tls = wf_align_up(wf_tcb_minimal_bytes(), WF_PAGE);
	char *block;
	uintptr_t tp;
	int id;

	if (wf_load_relaxed(tid) != 0)
		return 0;
	block = wf_os_reserve(tls + STACK_BYTES);
	if (block == NULL)
		return -ENOMEM;
	self->kind = WF_THREAD_FOREIGN;
	wf_store_relaxed(&self->in_runtime, 1);
	tp = wf_tcb_minimal_make(block, self);
	id = wf_os_kthread_start(run, NULL, block + tls + STACK_BYTES, tp,
				 NULL);
	if (id < 0)
		return id;
	wf_store_release(tid, id);
	return 0;
}
