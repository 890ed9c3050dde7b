/* SPDX-License-Identifier: MIT */
#ifndef LT_MUTEX_H
#define LT_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

/* Returns whether the mutex records its owner, and that is not the caller. */
bool lt_mutex_is_not_mine(pthread_mutex_t *mutex);

#endif
