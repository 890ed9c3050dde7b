/* SPDX-License-Identifier: MIT */
/*
 * Reads a program's thread attributes for the creation of a thread.
 *
 *     struct wf_thread_params params;
 *     int err = wf_attr_to_params(attr, start, &params);
 */
#ifndef WEFT_API_ATTR_H
#define WEFT_API_ATTR_H

#include <pthread.h>

#include "thread/lifecycle.h"

/*
 * attr NULL: libc's default attributes. `start` decides with --bound whether
 * the thread is bound. Returns 0, -EINVAL, or another -Exxx of libc's getters.
 */
int wf_attr_to_params(const pthread_attr_t *attr, void *(*start)(void *),
		      struct wf_thread_params *ret_params);

#endif
