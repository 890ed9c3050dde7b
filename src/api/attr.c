/*
 * Attribute objects are libc's own; weft reads them through libc's getters.
 *
 * Rejected: binding threads whose attributes ask for PTHREAD_SCOPE_SYSTEM.
 * It is libc's only scope and its default, and portable programs (CPython,
 * MySQL) ask for it explicitly without needing it.
 */
#include "api/attr.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "api/api.h"
#include "base/options.h"
#include "libc/real.h"
#include "mem/slot.h"
#include "os/mem.h"
#include "sched/runtime.h"
#include "thread/scope.h"

/* libc's default stack size, by which an explicit size is told apart. */
static size_t libc_default_stack(void)
{
	pthread_attr_t fresh;
	size_t bytes = 0;

	pthread_attr_init(&fresh);
	pthread_attr_getstacksize(&fresh, &bytes);
	pthread_attr_destroy(&fresh);
	return bytes;
}

static size_t stack_bytes(const pthread_attr_t *attr)
{
	static _Atomic size_t libc_default;
	size_t bytes = 0;

	pthread_attr_getstacksize(attr, &bytes);
	if (wf_options.stack_size == 0)
		return bytes;
	if (wf_load_relaxed(&libc_default) == 0)
		wf_store_relaxed(&libc_default, libc_default_stack());
	return bytes == wf_load_relaxed(&libc_default) ?
		       wf_slot_default_stack_bytes() :
		       bytes;
}

static int read_attr(const pthread_attr_t *attr, struct wf_thread_params *p)
{
	void *stack_end = NULL;
	int detach = 0;

	pthread_attr_getdetachstate(attr, &detach);
	pthread_attr_getguardsize(attr, &p->guard_bytes);
	/* Deprecated, and the only one that tells whether one is set. */
	wf_real.pthread_attr_getstackaddr(attr, &stack_end);
	p->stack_bytes = stack_bytes(attr);
	p->is_detached = detach == PTHREAD_CREATE_DETACHED;
	if (stack_end != NULL) {
		pthread_attr_getstack(attr, &p->user_stack, &p->stack_bytes);
		if (p->stack_bytes < (size_t)PTHREAD_STACK_MIN)
			return -EINVAL;
	}
	return 0;
}

/* pthread_setattr_default_np may change it, so it is read each time. */
static int read_default(struct wf_thread_params *p)
{
	pthread_attr_t attr;
	int err = wf_real.pthread_getattr_default_np(&attr);

	if (err != 0)
		return -err;
	err = read_attr(&attr, p);
	pthread_attr_destroy(&attr);
	return err;
}

int wf_attr_to_params(const pthread_attr_t *attr, void *(*start)(void *),
		      struct wf_thread_params *ret_params)
{
	struct wf_thread_params p = { 0 };
	int err = attr != NULL ? read_attr(attr, &p) : read_default(&p);

	if (err < 0)
		return err;
	p.is_bound = wf_scope_matches((void *)start);
	*ret_params = p;
	return 0;
}

WF_API(int, pthread_getattr_np, pthread_t thread, pthread_attr_t *attr)
{
	const struct wf_thread *t = wf_thread_of(thread);
	const struct wf_slot *s = t != NULL ? &t->slot : NULL;
	size_t bytes;

	if (s == NULL || s->class == NULL)
		return wf_real.pthread_getattr_np(thread, attr);
	bytes = s->stack_bytes & ~(s->has_user_stack ? 0UL : WF_PAGE - 1);
	pthread_attr_init(attr);
	pthread_attr_setstack(attr, s->stack_low, bytes);
	pthread_attr_setguardsize(attr, s->guard_bytes);
	if ((wf_load_relaxed(&t->exit_state) & WF_EXIT_DETACHED) != 0)
		pthread_attr_setdetachstate(attr, PTHREAD_CREATE_DETACHED);
	return 0;
}
