/*
 * Signal masks and alternate stacks of threads.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "api/api.h"
#include "libc/real.h"
#include "os/kthread.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/switch.h"
#include "signal/mask.h"
#include "thread/lifecycle.h"

WF_API(int, pthread_sigmask, int how, const sigset_t *set, sigset_t *ret_old)
{
	uint64_t bits = 0, old;
	int err;

	if (set != NULL)
		memcpy(&bits, set, sizeof(bits));
	err = wf_mask_change(how, set != NULL ? &bits : NULL, &old);
	if (err < 0)
		return -err;
	if (ret_old != NULL) {
		memset(ret_old, 0, sizeof(*ret_old));
		memcpy(ret_old, &old, sizeof(old));
	}
	return 0;
}

WF_API(int, sigprocmask, int how, const sigset_t *set, sigset_t *ret_old)
{
	return wf_api_errno(-pthread_sigmask(how, set, ret_old));
}

WF_API(int, sigaltstack, const stack_t *ss, stack_t *ret_old)
{
	return wf_api_errno(wf_altstack_change(ss, ret_old));
}

WF_API(int, pthread_kill, pthread_t thread, int sig)
{
	struct wf_thread *t = wf_thread_of(thread);
	int tid;

	if (t == NULL || !wf_is_started())
		return wf_real.pthread_kill(thread, sig);
	if (sig < 0 || sig > 64)
		return EINVAL;
	if (sig == 0)
		return 0;
	tid = t->carrier != NULL ? t->carrier->tid : wf_os_getpid();
	return -wf_os_tgkill(tid, sig);
}
