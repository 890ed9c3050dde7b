/*
 * Who closes a number counts a use (wf_descriptor_use_ends), then leaves
 * duplicates to those that hold it, waits until they have handed over what they
 * were about to, and then makes sure that this has reached the kernel
 * (wf_io_close_comes). Who begins to wait holds the number, then looks at the
 * count: one of the two sees the other.
 */
#include "io/held.h"

#include "io/descriptor.h"
#include "sched/runtime.h"
#include "signal/memory.h"

static struct wf_held *held_of(struct wf_request_scope *scope)
{
	return wf_container_of(scope, struct wf_held, scope);
}

static void begin(struct wf_request_scope *scope)
{
	struct wf_held *h = held_of(scope);

	if (!h->is_entered)
		wf_hold_begin(&h->hold);
	h->is_entered = false;
	wf_hold_call_begin(&h->hold);
	if (h->uses == WF_HELD_ANY_USE)
		h->uses = wf_descriptor_uses(h->hold.fd);
	h->r->fd = wf_held_fd(h);
}

static void handed_over(struct wf_request_scope *scope)
{
	wf_hold_call_end(&held_of(scope)->hold);
}

static void end(struct wf_request_scope *scope, bool is_done)
{
	wf_hold_end(&held_of(scope)->hold);
	if (!is_done)
		wf_hold_let_go(&held_of(scope)->hold);
}

static void leave(void *held)
{
	wf_hold_fini(&((struct wf_held *)held)->hold);
}

void wf_held_begin(struct wf_held *h, struct wf_request *r, uint32_t uses)
{
	h->scope = (struct wf_request_scope){ begin, end, handed_over };
	h->hold = (struct wf_hold){ .fd = r->fd, .kept_fd = -1 };
	h->r = r;
	h->is_entered = false;
	h->uses = uses;
	r->scope = &h->scope;
	wf_cleanup_begin_own(&h->cleanup, leave, h);
}

void wf_held_end(struct wf_held *h)
{
	if (wf_cleanup_is_due(&h->cleanup))
		wf_cleanup_end(&h->cleanup);
	wf_hold_fini(&h->hold);
}

void wf_held_bring(const void *buf, size_t bytes)
{
	/* No pipe takes more at once, if its user is not privileged, and hardly
	 * a socket. */
	const size_t most = 1 << 20;

	/* What is not there is the kernel's to refuse. */
	(void)wf_memory_is_readable(buf, bytes < most ? bytes : most);
}

int wf_held_enter(struct wf_held *h)
{
	wf_runtime_enter();
	wf_hold_begin(&h->hold);
	h->uses = wf_descriptor_uses(h->hold.fd);
	h->is_entered = true;
	return wf_hold_call_begin(&h->hold);
}

void wf_held_leave(struct wf_held *h)
{
	wf_hold_call_end(&h->hold);
	wf_hold_end(&h->hold);
	wf_hold_fini(&h->hold);
	h->is_entered = false;
	wf_runtime_leave(wf_self);
}

int wf_held_fd(const struct wf_held *h)
{
	int fd = wf_hold_fd(&h->hold);

	return fd != h->hold.fd || h->uses == WF_HELD_ANY_USE ||
			       wf_descriptor_uses(fd) == h->uses ?
		       fd :
		       -1;
}
