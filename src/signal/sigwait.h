/* SPDX-License-Identifier: MIT */
/*
 * Waiting for signals: the thread parks. in_runtime 0.
 */
#ifndef WEFT_SIGNAL_SIGWAIT_H
#define WEFT_SIGNAL_SIGWAIT_H

#include <signal.h>
#include <stdint.h>

struct wf_thread;

/*
 * Takes a signal of set, waiting for it until the deadline. Returns its
 * number, -EAGAIN (deadline) or -EINTR (a handler ran).
 */
int wf_signal_wait(uint64_t set, siginfo_t *ret_info, int64_t deadline_ns);

/* A handler is about to run on t, which is in the runtime. */
void wf_signal_wait_ended(struct wf_thread *t);

/* With this mask until a handler has run; returns -EINTR. */
int wf_signal_suspend(uint64_t mask);
/* The same with the mask as it is. */
int wf_signal_pause(void);

/*
 * What has come over from another process, or from the kernel, may have been
 * preceded by a signal to the process, which the kernel or the receiver still
 * has: the caller, whom that has woken, takes it first.
 */
void wf_signal_take_preceding(void);

/*
 * Around a wait that has a mask of its own (ppoll and its relatives), called
 * by a thread that has a carrier; NULL is no mask. What the mask opens is
 * delivered; a handler restores the mask of before.
 */
void wf_signal_open_for_wait(const uint64_t *mask);
void wf_signal_close_after_wait(const uint64_t *mask);

#endif
