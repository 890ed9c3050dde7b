/* SPDX-License-Identifier: MIT */
/*
 * The calling thread; NULL in a kernel thread that has not met weft yet. It
 * lives in each thread's own TLS block and never changes for that thread, so
 * the compiler may cache it across a switch.
 */
#ifndef WEFT_BASE_SELF_H
#define WEFT_BASE_SELF_H

struct wf_thread;

extern __thread struct wf_thread *wf_self
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

#endif
