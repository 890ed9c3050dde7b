/* Which threads are bound from birth. */
#ifndef WEFT_THREAD_SCOPE_H
#define WEFT_THREAD_SCOPE_H

#include <pthread.h>
#include <stdbool.h>

/* Explicit PTHREAD_SCOPE_SYSTEM, which libc does not tell from the default. */
void wf_scope_mark_system(pthread_attr_t *attr);
bool wf_scope_is_system(const pthread_attr_t *attr);

/* --bound: does the object that holds `start` match the pattern? */
bool wf_scope_matches(const void *start);

#endif
