/* SPDX-License-Identifier: MIT */
/*
 * A service is a kernel thread of weft's that runs no thread of the program's.
 * Each has a row in a table, with its stack and TLS block. The row stays when
 * the kernel thread has ended, so a restart in a fork child or after a
 * dismissal needs no memory.
 *
 * SERVICE-1. A row belongs to the service with the id *tid from its first start
 *     on. Its stack and TLS block are used again when the kernel thread has
 *     ended: after a dismissal, and in a fork child.
 * SERVICE-2. A dismissal lasts from wf_service_dismiss_begin until
 *     wf_service_dismiss returns true. One service may start another at that
 *     time, as the monitor does. A dismissed service is not started, or sees
 *     the dismissal at its first check.
 */
#include "sched/service.h"

#include <errno.h>

#include "base/log.h"
#include "base/spin.h"
#include "base/upcall.h"
#include "libc/tcb.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"

enum { STACK_BYTES = 64 * 1024, NR_SERVICES = 9 };

static struct row {
	const _Atomic int *tid; /* identifies the service: SERVICE-1 */
	char *block;
	void (*run)(void *);
	_Atomic bool is_dismissed;
} rows[NR_SERVICES];
static struct wf_spin lock = WF_SPIN_INIT;

static struct row *row_of(const _Atomic int *tid)
{
	struct row *row = rows;

	wf_spin_lock(&lock, WF_RANK_SERVICES);
	while (row < rows + NR_SERVICES && row->tid != NULL && row->tid != tid)
		row++;
	WF_CHECK(row < rows + NR_SERVICES, "too many services");
	row->tid = tid;
	wf_spin_unlock(&lock);
	return row;
}

/*
 * The first function on the service's kernel thread. Its TLS may be that of a
 * former kernel thread of the same row.
 */
static void begin(void *arg)
{
	const struct row *row = arg;

	wf_ranks_carried(0);
	row->run(NULL);
}

int wf_service_start(void (*run)(void *), struct wf_thread *self,
		     _Atomic int *tid)
{
	size_t tls = wf_align_up(wf_tcb_minimal_bytes(), WF_PAGE);
	struct row *row;
	uintptr_t tp;
	int id;

	if (wf_load_relaxed(tid) != 0)
		return 0;
	row = row_of(tid);
	/* SERVICE-2: dismissed before its start */
	if (wf_load_relaxed(&row->is_dismissed))
		return -ECANCELED;
	if (row->block == NULL)
		row->block = wf_os_reserve(tls + STACK_BYTES);
	if (row->block == NULL)
		return -ENOMEM;
	self->kind = WF_THREAD_FOREIGN;
	wf_store_relaxed(&self->in_runtime, 1);
	tp = wf_tcb_minimal_make(row->block, self);
	row->run = run;
	id = wf_os_kthread_start(begin, row, row->block + tls + STACK_BYTES, tp,
				 NULL);
	if (id < 0)
		return id;
	wf_store_release(tid, id);
	/* The starting thread reports the new kernel thread: while carriers
	 * compute, the service itself might get no CPU. */
	wf_upcall.service_made(id);
	return 0;
}

void wf_service_end(void)
{
	for (;;)
		wf_sys(SYS_exit, 0);
}

bool wf_service_is_dismissed(const _Atomic int *tid)
{
	for (const struct row *row = rows; row < rows + NR_SERVICES; row++) {
		if (row->tid == tid)
			return wf_load_acquire(&row->is_dismissed);
	}
	return false;
}

void wf_service_dismiss_begin(const _Atomic int *tid)
{
	wf_store_release(&row_of(tid)->is_dismissed, true);
}

bool wf_service_dismiss(_Atomic int *tid, void (*wake)(void))
{
	int id = wf_load_acquire(tid);

	wf_service_dismiss_begin(tid);
	if (id != 0 && !wf_os_kthread_await_end(id, wake))
		return false;
	wf_store_relaxed(tid, 0);
	wf_store_relaxed(&row_of(tid)->is_dismissed, false);
	return true;
}

void wf_service_fork_child(void)
{
	lock = WF_SPIN_INIT;
}
