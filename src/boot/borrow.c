/*
 * B1. Memory is lent before the runtime starts only. The lender's one thread
 *     stands still in the kernel until the child has gone, so that nobody but
 *     the child runs on the thread's state; and without a carrier masks,
 *     actions and alternate stacks are the kernel's, of which the child has its
 *     own.
 * B2. A child may go at any instruction, by a signal: the thread is not in the
 *     runtime when its parent returns.
 * B3. A child does not start the runtime (boot/start.c), says nothing of its
 *     end (boot/stats.c) and lends nothing.
 */
#include "boot/borrow.h"

#include "os/sys.h"
#include "sched/runtime.h"

static int lender; /* its process id; 0: nobody has lent anything */
static struct wf_children_env env;

bool wf_is_borrower(void)
{
	return lender != 0 && lender != wf_os_getpid();
}

bool wf_borrow_begin(void)
{
	/* Not left to the child: it would be taken for the parent. */
	wf_thread_self();
	if (wf_is_started() || wf_is_borrower())
		return false;
	lender = wf_os_getpid();
	return true;
}

void wf_borrow_end(long pid)
{
	wf_children_env_free(&env);
	env.memory = NULL;
	if (pid > 0)
		wf_store_relaxed(&wf_self->in_runtime, 0); /* B2 */
}

void wf_borrow_fork_child(void)
{
	lender = 0;
	env.memory = NULL;
}

void wf_borrow_keep_env(const struct wf_children_env *e)
{
	if (e->memory != NULL && wf_is_borrower())
		env = *e;
}

void wf_borrow_free_env(struct wf_children_env *e)
{
	if (e->memory == env.memory)
		env.memory = NULL;
	wf_children_env_free(e);
}
