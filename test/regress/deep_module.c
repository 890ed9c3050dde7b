/* SPDX-License-Identifier: MIT */
/* Loaded by deep_binding.c: it handles locks of the program's. */
#include <pthread.h>

void deep_unlock(pthread_rwlock_t *lock)
{
	pthread_rwlock_unlock(lock);
}

void deep_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	pthread_cond_wait(cond, mutex);
}
