/* SPDX-License-Identifier: MIT */
/*
 * system() makes its caller ignore SIGINT and SIGQUIT. Several threads may call
 * it at a time, so the calls are counted. The first call saves the program's
 * actions and the last one restores them.
 */
#include "signal/ignored.h"

#include "arch/arch.h"
#include "sched/runtime.h"
#include "signal/action.h"
#include "signal/queue.h"
#include "sync/mutex.h"

static const int signals[] = { SIGINT, SIGQUIT };
enum { NR = WF_ARRAY_LEN(signals) };

static struct wf_mutex mutex;
/* calls that have begun and not ended; under the mutex */
static uint32_t nr_begun;
/* The program's actions while nr_begun is not 0; under the mutex. */
static struct wf_action before[NR];

static void change(int sig, const struct wf_action *new,
		   struct wf_action *ret_old)
{
	struct wf_thread *t = wf_runtime_enter();

	wf_action_change(sig, new, ret_old);
	wf_runtime_leave(t);
}

uint64_t wf_ignored_begin(void)
{
	const struct wf_action ignored = {
		.handler = (wf_signal_fn *)(uintptr_t)SIG_IGN,
		.flags = SA_RESTORER,
		.restorer = wf_arch_sigreturn,
	};
	uint64_t heeded = 0;

	wf_mutex_lock(&mutex);
	for (int i = 0; i < NR; i++) {
		if (nr_begun == 0)
			change(signals[i], &ignored, &before[i]);
		if (!wf_action_is_sig_ign(&before[i]))
			heeded |= WF_SIGNAL_BIT(signals[i]);
	}
	nr_begun++;
	wf_mutex_unlock(&mutex);
	return heeded;
}

void wf_ignored_end(void)
{
	wf_mutex_lock(&mutex);
	/* 0 if a parent of this process has begun the call. */
	if (nr_begun > 0)
		nr_begun--;
	for (int i = 0; i < NR && nr_begun == 0; i++)
		change(signals[i], &before[i], NULL);
	wf_mutex_unlock(&mutex);
}

/*
 * The child keeps both signals ignored, as with glibc: the thread that called
 * system() does not exist in it.
 */
void wf_ignored_fork_child(void)
{
	mutex = (struct wf_mutex){ 0 };
	nr_begun = 0;
}
