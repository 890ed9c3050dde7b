/* SPDX-License-Identifier: MIT */
/*
 * A pinned call ties a pinned file to the requests of one call. The scope
 * functions pin the file before a request is handed over, and put the file's
 * present number into it.
 *
 * Closing: the closing thread counts the number's generation up
 * (wf_descriptor_generation_ends). It leaves duplicates to the waits that have
 * pinned the file, and waits until these have handed over their requests. Then
 * it makes sure that the requests have reached the kernel (wf_io_before_close).
 * A thread that begins to wait pins the file, then reads the generation. One of
 * the two sees the other.
 */
#include "io/call/pinned_call.h"

#include "io/file/descriptor.h"
#include "sched/runtime.h"
#include "signal/memory.h"

static struct wf_pinned_call *call_of(struct wf_request_scope *scope)
{
	return wf_container_of(scope, struct wf_pinned_call, scope);
}

static void begin(struct wf_request_scope *scope)
{
	struct wf_pinned_call *h = call_of(scope);

	if (!h->is_entered)
		wf_pin_begin(&h->pin);
	h->is_entered = false;
	wf_pin_call_begin(&h->pin);
	if (h->generation == WF_ANY_GENERATION)
		h->generation = wf_descriptor_generation(h->pin.fd);
	h->r->fd = wf_pinned_call_fd(h);
}

static void handed_over(struct wf_request_scope *scope)
{
	wf_pin_call_end(&call_of(scope)->pin);
}

static void end(struct wf_request_scope *scope, bool is_done)
{
	wf_pin_end(&call_of(scope)->pin);
	if (!is_done)
		wf_pin_release_for_handler(&call_of(scope)->pin);
}

static void leave(void *call)
{
	wf_pin_fini(&((struct wf_pinned_call *)call)->pin);
}

void wf_pinned_call_begin(struct wf_pinned_call *h, struct wf_request *r,
			  uint32_t generation)
{
	h->scope = (struct wf_request_scope){ begin, end, handed_over };
	h->pin = (struct wf_pin){ .fd = r->fd, .pinned_fd = -1 };
	h->r = r;
	h->is_entered = false;
	h->generation = generation;
	r->scope = &h->scope;
	wf_cleanup_begin_own(&h->cleanup, leave, h);
}

void wf_pinned_call_end(struct wf_pinned_call *h)
{
	if (wf_cleanup_is_due(&h->cleanup))
		wf_cleanup_end(&h->cleanup);
	wf_pin_fini(&h->pin);
}

void wf_pinned_call_fault_in(const void *buf, size_t bytes)
{
	/*
	 * A pipe takes no more at once, unless its user is privileged, and
	 * hardly any socket does.
	 */
	const size_t most = 1 << 20;

	/* for a bad address the call returns EFAULT */
	(void)wf_memory_is_readable(buf, bytes < most ? bytes : most);
}

int wf_pinned_call_enter(struct wf_pinned_call *h)
{
	wf_runtime_enter();
	wf_pin_begin(&h->pin);
	h->generation = wf_descriptor_generation(h->pin.fd);
	h->is_entered = true;
	return wf_pin_call_begin(&h->pin);
}

void wf_pinned_call_leave(struct wf_pinned_call *h)
{
	wf_pin_call_end(&h->pin);
	wf_pin_end(&h->pin);
	wf_pin_fini(&h->pin);
	h->is_entered = false;
	wf_runtime_leave(wf_self);
}

int wf_pinned_call_fd(const struct wf_pinned_call *h)
{
	int fd = wf_pin_fd(&h->pin);

	return fd != h->pin.fd || h->generation == WF_ANY_GENERATION ||
			       wf_descriptor_generation(fd) == h->generation ?
		       fd :
		       -1;
}
