#include "io/held.h"

#include "io/descriptor.h"

static struct wf_held *held_of(struct wf_request_scope *scope)
{
	return wf_container_of(scope, struct wf_held, scope);
}

static void begin(struct wf_request_scope *scope)
{
	struct wf_held *h = held_of(scope);

	wf_hold_begin(&h->hold);
	h->r->fd = wf_held_fd(h);
}

static void end(struct wf_request_scope *scope, bool is_done)
{
	wf_hold_end(&held_of(scope)->hold);
}

void wf_held_begin(struct wf_held *h, struct wf_request *r)
{
	h->scope = (struct wf_request_scope){ begin, end };
	h->hold = (struct wf_hold){ .fd = r->fd, .kept_fd = -1 };
	h->r = r;
	h->uses = wf_descriptor_uses(r->fd);
	r->scope = &h->scope;
}

void wf_held_end(struct wf_held *h)
{
	wf_hold_fini(&h->hold);
}

int wf_held_fd(const struct wf_held *h)
{
	int fd = wf_hold_fd(&h->hold);

	return fd != h->hold.fd || wf_descriptor_uses(fd) == h->uses ? fd : -1;
}
