/* SPDX-License-Identifier: MIT */
/*
 * The calling thread, or NULL in a kernel thread that has not called weft yet.
 *
 *     if (wf_self == NULL)
 *             wf_runtime_attach();
 *
 * The variable lies in each thread's TLS block and never changes for that
 * thread. So the compiler may cache it across a switch.
 */
#ifndef WEFT_BASE_SELF_H
#define WEFT_BASE_SELF_H

struct wf_thread;

extern __thread struct wf_thread *wf_self
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

#endif
