/* SPDX-License-Identifier: MIT */
/* What thread attributes mean to weft. */
#ifndef WEFT_API_ATTR_H
#define WEFT_API_ATTR_H

#include <pthread.h>

#include "thread/lifecycle.h"

/*
 * attr NULL is libc's default. `start` is looked at for --bound. Returns 0 or
 * -EINVAL.
 */
int wf_attr_to_params(const pthread_attr_t *attr, void *(*start)(void *),
		      struct wf_thread_params *ret_params);

#endif
