/* SPDX-License-Identifier: MIT */
#ifndef LT_MUTEX_H
#define LT_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

/* The mutex knows its owner, which is not the caller. */
bool lt_mutex_is_not_mine(pthread_mutex_t *mutex);

#endif
