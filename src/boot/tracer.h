/* SPDX-License-Identifier: MIT */
/*
 * Threads that trace other processes own their carriers, since the kernel
 * knows a tracer by its kernel thread: ptrace fails from any other. ptrace
 * itself binds its caller, which is too late for a child that asks to be
 * traced: that belongs to the kernel thread that forked. So if the program
 * itself calls ptrace, each thread of it that forks is taken for a tracer.
 */
#ifndef WEFT_BOOT_TRACER_H
#define WEFT_BOOT_TRACER_H

/*
 * The process's first thread has just started the runtime. in_runtime 0; may
 * make a carrier.
 */
void wf_tracer_start(void);
/* The caller is about to fork. The same. */
void wf_tracer_fork(void);
void wf_tracer_fork_child(void);

#endif
