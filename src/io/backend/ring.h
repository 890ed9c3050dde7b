/* SPDX-License-Identifier: MIT */
/*
 * The io_uring of each VP: it carries out the requests of the VP's threads.
 *
 *     if (wf_ring_ensure(vp) == 0)
 *             wf_ring_push(vp, &r);           r is completed at a later pick
 */
#ifndef WEFT_IO_BACKEND_RING_H
#define WEFT_IO_BACKEND_RING_H

#include "io/backend/request.h"
#include "sched/vp.h"

/*
 * Call it at start and after fork. Returns 0; or -ENOMEM, and no VP gets a
 * ring.
 */
int wf_ring_start(void);
/*
 * Makes the ring of vp if there is none yet. The caller is the owner of vp.
 * Returns 0 if there is a ring with room for the requests of one call. Returns
 * -ENOSYS if the kernel refuses a ring now or always, or if there is no memory
 * for more requests in flight.
 */
int wf_ring_ensure(struct wf_vp *vp);
/*
 * Returns true if the kernel, its administrator or the option `io` has refused
 * rings.
 */
bool wf_ring_is_refused(void);
/*
 * Destroys all rings. No request is in flight, and none may be pushed before
 * wf_ring_fork_child, which the caller calls next.
 */
void wf_ring_dismiss(void);
void wf_ring_fork_child(void);

/*
 * IORING_OP_FUTEX_WAIT. wf_ring_lacks_futex returns true if a ring was made on
 * a kernel without it (before 6.7).
 */
enum { WF_RING_OP_FUTEX_WAIT = 51 };
bool wf_ring_lacks_futex(void);

/* Pushes r on the ring of vp. The caller is the owner of vp. */
void wf_ring_push(struct wf_vp *vp, struct wf_request *r);

/*
 * Asks the kernel to cancel r, which was pushed. t is the caller, any thread,
 * in the runtime.
 */
void wf_ring_cancel(const struct wf_thread *t, const struct wf_request *r);

/*
 * The numbers `first` to `last` are about to be closed: makes the kernel submit
 * all pushed requests on them, so that these keep their files.
 */
void wf_ring_flush(unsigned int first, unsigned int last);

/*
 * The calling thread's next system call ends the process: cancels all requests,
 * so that the kernel releases the files that they wait for. Any thread.
 */
void wf_ring_end(void);

/*
 * A system call is about to make the kernel refuse the calls that rings need.
 * From now on wf_ring_ensure refuses rings. wf_ring_give_up cancels the
 * requests in flight, and their threads run them again elsewhere. It returns
 * true as long as some are in flight. wf_ring_keep_on permits rings again, if
 * the kernel does not refuse them after all. Any thread with in_runtime 0 may
 * call these functions.
 */
bool wf_ring_give_up(void);
void wf_ring_keep_on(void);

/*
 * Returns the least descriptor of a ring from `first` on; ~0U if there is none.
 */
unsigned int wf_ring_first_private(unsigned int first);
/*
 * Frees the number fd for the program: moves the ring's descriptor to another
 * number. Returns false if no other number is free.
 */
bool wf_ring_make_way(int fd);

#endif
