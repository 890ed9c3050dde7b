/* SPDX-License-Identifier: MIT */
/*
 * thrd_* of <threads.h>, by the functions of POSIX. Thread-specific data
 * (tss_*) is libc's own.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <threads.h>

#include "api/api.h"

/*
 * A C11 start routine returns an int in the register in which a POSIX one
 * returns a pointer. thrd_join takes the lower half of that register.
 */
WF_API(int, thrd_create, thrd_t *ret_thread, thrd_start_t start, void *arg)
{
	void *(*posix_start)(void *) = (void *(*)(void *))(void *)start;
	int err = pthread_create(ret_thread, NULL, posix_start, arg);

	if (err == 0)
		return thrd_success;
	return err == EAGAIN || err == ENOMEM ? thrd_nomem : thrd_error;
}

WF_API(int, thrd_join, thrd_t thread, int *ret_result)
{
	void *result;

	if (pthread_join(thread, &result) != 0)
		return thrd_error;
	if (ret_result != NULL)
		*ret_result = (int)(intptr_t)result;
	return thrd_success;
}

WF_API(int, thrd_detach, thrd_t thread)
{
	return pthread_detach(thread) == 0 ? thrd_success : thrd_error;
}

WF_API(void, thrd_exit, int result)
{
	pthread_exit((void *)(intptr_t)result);
}
