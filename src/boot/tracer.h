/* SPDX-License-Identifier: MIT */
/*
 * Binds threads that trace other processes to their carriers. The kernel knows
 * a tracer by its kernel thread: ptrace fails on any other. ptrace binds its
 * caller, but that is too late for a child that asks to be traced: its tracer
 * is the kernel thread that forked. So in a program that imports ptrace, each
 * thread that forks is bound before the fork.
 *
 *     wf_tracer_fork();
 *     pid = fork();
 */
#ifndef WEFT_BOOT_TRACER_H
#define WEFT_BOOT_TRACER_H

/*
 * Call when the process's first thread has just started the runtime. May make a
 * carrier. The caller has in_runtime 0.
 */
void wf_tracer_start(void);
/*
 * Call before the calling thread forks. May make a carrier. The caller has
 * in_runtime 0.
 */
void wf_tracer_fork(void);
void wf_tracer_fork_child(void);

#endif
