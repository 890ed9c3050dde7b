/* SPDX-License-Identifier: MIT */
/* Frames of code that is built without unwind tables. */
#ifndef WAYS_OUT_BARE_H
#define WAYS_OUT_BARE_H

#include <pthread.h>

void bare_call(void (*fn)(void));
/* Runs an initialisation routine that pauses for ever. */
void bare_once(pthread_once_t *once);

#endif
