/* SPDX-License-Identifier: MIT */
/*
 * System calls that may block and that the kernel offers no other way to wait
 * for: an I/O worker makes the call while the thread parks.
 *
 *     long n = wf_call_run(WF_CALL(SYS_flock, fd, LOCK_EX), WF_CALL_RESTARTS,
 *                          WF_FOREVER);
 */
#ifndef WEFT_IO_BACKEND_CALL_H
#define WEFT_IO_BACKEND_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "os/clock.h"
#include "os/sys.h"

struct wf_call {
	long nr;
	long args[6];
	int64_t ns;	  /* set by the call: how long it took */
	int64_t quick_ns; /* a quick call takes this at most */
	bool is_own;	  /* only this process may make the call */
};

/*
 * The handover of a call to a worker costs about this much. So a call that
 * takes longer is worth it.
 */
#define WF_CALL_QUICK_NS (50 * WF_NS_PER_US)

/* WF_CALL(SYS_name, up to six numbers): lives until its block ends. */
#define WF_CALL(nr, ...) \
	(&(struct wf_call){ (nr), { __VA_ARGS__ }, 0, WF_CALL_QUICK_NS, false })

enum wf_call_kind {
	WF_CALL_RESTARTS,      /* after a handler with SA_RESTART */
	WF_CALL_ENDS_BY_SIGNAL /* any handler ends it with EINTR */
};

/*
 * A worker makes the call while the thread parks, at most until the
 * CLOCK_MONOTONIC deadline. Returns as the functions of io/io.h do, or
 * -ETIMEDOUT. -ENOSYS: no worker is free, and nothing has been done. in_runtime
 * is 0.
 */
long wf_call_run(struct wf_call *c, enum wf_call_kind kind,
		 int64_t deadline_ns);

/* wf_call_run with WF_CALL_RESTARTS and without a deadline. */
long wf_call_wait(struct wf_call *c);

/*
 * Makes a call on fd that may wait for a disk, but hardly for another thread or
 * process. As long as such calls on fd are quick, the caller makes it, else a
 * worker. is_slow: the assumption for a descriptor about which nothing is
 * known.
 */
long wf_call_on(int fd, struct wf_call *c, bool is_slow);

static inline long wf_call_make_untimed(const struct wf_call *c)
{
	return wf_syscall6(c->nr, c->args[0], c->args[1], c->args[2],
			   c->args[3], c->args[4], c->args[5]);
}

/* Makes the call on the calling kernel thread, and measures it. */
static inline long wf_call_make(struct wf_call *c)
{
	int64_t begin = wf_os_now();
	long n = wf_call_make_untimed(c);

	c->ns = wf_os_now() - begin;
	return n;
}

#endif
