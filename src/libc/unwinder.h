/* SPDX-License-Identifier: MIT */
/*
 * Finds the unwinder's functions by name.
 *
 *     resume = wf_unwinder_find("_Unwind_Resume");
 *
 * Never returns NULL: without an unwinder the process ends.
 * libc/x86_64/unwinder.S calls it when the stack is unwound. Loads libgcc_s if
 * that is not loaded, as libc does when a thread is cancelled.
 */
#ifndef WEFT_LIBC_UNWINDER_H
#define WEFT_LIBC_UNWINDER_H

void *wf_unwinder_find(const char *name);

#endif
