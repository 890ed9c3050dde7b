/* <threads.h>: threads; thread-specific data is libc's own. */
#include <pthread.h>
#include <threads.h>

#include "api/api.h"
#include "api/attr.h"
#include "api/cancel.h"
#include "boot/boot.h"
#include "thread/lifecycle.h"

/*
 * A C11 start routine returns an int, in the register in which a POSIX one
 * returns a pointer; thrd_join takes the int's half of it.
 */
WF_API(int, thrd_create, thrd_t *ret_thread, thrd_start_t start, void *arg)
{
	void *(*posix_start)(void *) = (void *(*)(void *))(void *)start;
	struct wf_thread_params params;
	int err = wf_boot_start();

	if (err == 0)
		err = wf_attr_to_params(NULL, posix_start, &params);
	if (err == 0)
		err = wf_thread_create(&params, posix_start, arg, ret_thread);
	if (err == 0)
		return thrd_success;
	return err == -EAGAIN || err == -ENOMEM ? thrd_nomem : thrd_error;
}

WF_API(int, thrd_join, thrd_t thread, int *ret_result)
{
	struct wf_thread *t = wf_thread_of(thread);
	void *result;

	if (t == NULL ||
	    WF_CANCEL_POINT(wf_thread_join(t, &result, INT64_MAX)) < 0)
		return thrd_error;
	if (ret_result != NULL)
		*ret_result = (int)(intptr_t)result;
	return thrd_success;
}

WF_API(int, thrd_detach, thrd_t thread)
{
	struct wf_thread *t = wf_thread_of(thread);

	return t == NULL || wf_thread_detach(t) < 0 ? thrd_error : thrd_success;
}

WF_API(void, thrd_exit, int result)
{
	pthread_exit((void *)(intptr_t)result);
}
