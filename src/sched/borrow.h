/*
 * A child of vfork, until it has executed a program or ended: it runs in its
 * parent's memory and with its TLS, while the thread that made it waits in the
 * kernel. It is nobody's thread: to weft it is as if no threads had been made,
 * and what it asks the kernel for concerns its own process.
 */
#ifndef WEFT_SCHED_BORROW_H
#define WEFT_SCHED_BORROW_H

#include "sched/thread.h"

enum { WF_LOANS = 32 }; /* at a time; more get a copy of the memory */

struct wf_loan {
	struct wf_thread self;		    /* wf_self of the child */
	_Atomic(struct wf_thread *) lender; /* NULL: free */
	uint64_t mask;			    /* the kernel's, of the lender */
	void *memory; /* mapped by the child, for its program; or NULL */
	size_t bytes;
};

extern struct wf_loan wf_loans[WF_LOANS];

static inline bool wf_thread_is_borrower(const struct wf_thread *t)
{
	return (uintptr_t)t - (uintptr_t)wf_loans < sizeof(wf_loans);
}

/* Is the caller such a child? */
static inline bool wf_is_borrower(void)
{
	return wf_thread_is_borrower(wf_self);
}

/*
 * The caller is about to lend its memory: all signals are closed, and wf_self
 * is the child's. NULL, and nothing is done, if it has borrowed it itself or
 * there are too many.
 */
struct wf_loan *wf_borrow_begin(void);
/* The lender runs again. */
void wf_borrow_end(struct wf_loan *l);
/* The loan of a borrower. */
struct wf_loan *wf_loan_of(struct wf_thread *borrower);

/* The thread of the TCB, in which a borrower was found. */
struct wf_thread *wf_borrow_lender(uintptr_t tcb);

/* If the caller is a borrower and goes, this is unmapped. NULL: it is not. */
void wf_borrow_keep(void *memory, size_t bytes);

/* In a fork child, whose memory is its own. True if a borrower has made it; it
 * is the lender's copy then. */
bool wf_borrow_fork_child(void);

#endif
