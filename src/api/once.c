/* SPDX-License-Identifier: MIT */
/* pthread_once and call_once, by sync/once.h. */
#include "api/api.h"

#include <pthread.h>
#include <threads.h>

#include "sync/once.h"

WF_API_FAST(int, pthread_once, pthread_once_t *once, void (*routine)(void))
{
	wf_once_run((struct wf_once *)once, routine);
	return 0;
}
WF_API_ALIAS(pthread_once, __pthread_once);

WF_API_FAST(void, call_once, once_flag *flag, void (*func)(void))
{
	wf_once_run((struct wf_once *)flag, func);
}
