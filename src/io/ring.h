/* SPDX-License-Identifier: MIT */
/* The io_uring of each VP. */
#ifndef WEFT_IO_RING_H
#define WEFT_IO_RING_H

#include "io/request.h"
#include "sched/vp.h"

/* At start and after fork. Returns 0 or -ENOMEM: there will be no rings. */
int wf_ring_start(void);
/*
 * Makes the ring of vp, whose owner the caller is, if there is none yet.
 * Returns 0, with room for a call's requests; or -ENOSYS if there cannot be
 * one, now or ever, or it has too many.
 */
int wf_ring_ensure(struct wf_vp *vp);
/* The kernel, its administrator or the option io has refused. */
bool wf_ring_is_refused(void);
/* No request is in flight, and none will be: gives back what the rings have of
 * the kernel. Then wf_ring_fork_child. */
void wf_ring_dismiss(void);
void wf_ring_fork_child(void);

/* IORING_OP_FUTEX_WAIT; a ring that has been made does not have it. */
enum { WF_RING_OP_FUTEX_WAIT = 51 };
bool wf_ring_lacks_futex(void);

/* Pushes r on the ring of vp, whose owner the caller is. */
void wf_ring_push(struct wf_vp *vp, struct wf_request *r);

/* Asks for the early end of a pushed request; any t, in the runtime. */
void wf_ring_cancel(const struct wf_thread *t, const struct wf_request *r);

/* Requests on descriptors that are about to be closed reach the kernel. */
void wf_ring_flush(unsigned int first, unsigned int last);

/*
 * The process is about to exit, by the calling thread's next system call: lets
 * go of the files that requests wait for. Anybody.
 */
void wf_ring_end(void);

/*
 * The kernel is about to refuse what rings need: there are none from now on,
 * and what waits in them is made again elsewhere. True as long as something
 * does; anybody, in_runtime 0. wf_ring_keep_on: it does not refuse.
 */
bool wf_ring_give_up(void);
void wf_ring_keep_on(void);

/* The least private descriptor from `first` on; ~0U if there is none. */
unsigned int wf_ring_first_private(unsigned int first);
/* Frees the number for the program. False: no other number is free for the
 * private descriptor there. */
bool wf_ring_make_way(int fd);

#endif
