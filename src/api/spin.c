/* SPDX-License-Identifier: MIT */
/* pthread_spin_*, private or process-shared, by sync/spin.h. */
#include "api/api.h"

#include "sync/spin.h"

static struct wf_spinlock *spinlock_of(pthread_spinlock_t *lock)
{
	return (struct wf_spinlock *)lock;
}

WF_API(int, pthread_spin_init, pthread_spinlock_t *lock, int pshared)
{
	return -wf_spinlock_init(spinlock_of(lock));
}

WF_API(int, pthread_spin_destroy, pthread_spinlock_t *lock)
{
	return 0;
}

WF_API_FAST(int, pthread_spin_lock, pthread_spinlock_t *lock)
{
	return -wf_spinlock_lock(spinlock_of(lock));
}

WF_API_FAST(int, pthread_spin_trylock, pthread_spinlock_t *lock)
{
	return -wf_spinlock_trylock(spinlock_of(lock));
}

WF_API_FAST(int, pthread_spin_unlock, pthread_spinlock_t *lock)
{
	return -wf_spinlock_unlock(spinlock_of(lock));
}
