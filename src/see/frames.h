/* SPDX-License-Identifier: MIT */
/*
 * Prints stacks by frame pointers, as files and offsets, without another
 * process.
 *
 *     wf_frames_print_all(2);
 *
 * A function that keeps no frame pointer, or uses the register for another
 * thing, makes the frames after it wrong or missing. So each has a '?', as a
 * guess of `weft stacks` has. Only system calls are made.
 */
#ifndef WEFT_SEE_FRAMES_H
#define WEFT_SEE_FRAMES_H

struct ucontext_t;

/* All threads. Called by the service of --dump-on. */
void wf_frames_print_all(int out);
/*
 * The one thread of a process in which the runtime has not started, in its
 * handler.
 */
void wf_frames_print_alone(const struct ucontext_t *uc);

#endif
