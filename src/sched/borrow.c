/*
 * BORROW-1. The lender waits in the kernel until the child has gone, with all
 *     signals closed, so that nobody but the child runs with its TLS. There
 *     wf_self is the loan's: of the lender's own struct, which others read and
 *     write, the child touches nothing.
 * BORROW-2. The loan has its lender from before wf_self is the loan's until
 *     after it is the lender's again. So who finds a loan in a thread's TCB
 *     finds the thread by it, unless the loan is another one's by then, or
 *     nobody's; then the TCB names its thread again.
 * BORROW-3. A child may go at any instruction, by a signal. What it was at in
 *     its loan goes with it.
 */
#include "sched/borrow.h"

#include <signal.h>

#include "libc/layout.h"
#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"
#include "sched/runtime.h"

struct wf_loan wf_loans[WF_LOANS];

static struct wf_loan *claim(struct wf_thread *lender)
{
	for (int i = 0; i < WF_LOANS; i++) {
		struct wf_thread *nobody = NULL;

		if (wf_cas_acq_rel(&wf_loans[i].lender, &nobody, lender))
			return &wf_loans[i];
	}
	return NULL;
}

/* As far as anybody can tell the child is the thread that made it. */
static void make_self(struct wf_thread *self, const struct wf_thread *lender)
{
	*self = (struct wf_thread){
		.kind = WF_THREAD_FOREIGN,
		.tid = lender->tid,
		.sigmask = lender->sigmask,
		.altstack.flags = SS_DISABLE,
		.is_first = lender->is_first,
		.kernel_word = 1,
	};
	self->ctx.tp = lender->slot.tcb;
	self->slot.tcb = lender->slot.tcb;
}

WF_NOINLINE struct wf_loan *wf_borrow_begin(void)
{
	struct wf_thread *t = wf_thread_self();
	struct wf_loan *l;

	if (wf_thread_is_borrower(t))
		return NULL;
	l = claim(t);
	if (l == NULL)
		return NULL;
	make_self(&l->self, t);
	l->memory = NULL;
	l->mask = wf_os_close_signals();
	wf_self = &l->self;
	return l;
}

WF_NOINLINE void wf_borrow_end(struct wf_loan *l)
{
	uint64_t mask = l->mask;

	if (l->memory != NULL)
		wf_os_release(l->memory, l->bytes);
	wf_self = wf_load_relaxed(&l->lender); /* BORROW-2 */
	wf_compiler_barrier();
	wf_store_release(&l->lender, NULL); /* pairs with the CAS in claim */
	wf_os_set_signal_mask(mask);
}

struct wf_loan *wf_loan_of(struct wf_thread *borrower)
{
	return (struct wf_loan *)borrower;
}

struct wf_thread *wf_borrow_lender(uintptr_t tcb)
{
	const size_t at = wf_libc.self_offset;

	for (;;) {
		struct wf_thread *t = *(struct wf_thread *volatile *)(tcb + at);

		if (!wf_thread_is_borrower(t))
			return t;
		/* acquire: pairs with the CAS in claim. */
		t = wf_load_acquire(&wf_loan_of(t)->lender);
		if (t != NULL && t->slot.tcb == tcb)
			return t; /* BORROW-2 */
	}
}

void wf_borrow_keep(void *memory, size_t bytes)
{
	if (!wf_is_borrower())
		return;
	wf_loan_of(wf_self)->memory = memory;
	wf_loan_of(wf_self)->bytes = bytes;
}

bool wf_borrow_fork_child(void)
{
	bool by_borrower = wf_is_borrower();

	if (by_borrower)
		wf_self = wf_load_relaxed(&wf_loan_of(wf_self)->lender);
	for (int i = 0; i < WF_LOANS; i++)
		wf_store_relaxed(&wf_loans[i].lender, NULL);
	return by_borrower;
}
