/* SPDX-License-Identifier: MIT */
/*
 * The end of the process's first thread. libc unwinds it to its last frame and
 * runs the destructors of thread-specific data. Then libc would exit the
 * process or the kernel thread, by its own count of threads. To prevent that,
 * weft has a key that is set only here and on foreign threads. Its destructor
 * does not return: it ends the thread as weft ends any thread.
 */
#include "thread/main_exit.h"

#include <pthread.h>

#include "sched/runtime.h"
#include "sched/table.h"
#include "signal/cancel.h"
#include "thread/lifecycle.h"
#include "thread/name.h"

/*
 * libc keeps the values of the first 32 keys in the TCB. A key above 31 would
 * need malloc.
 */
enum { MAX_KEY = 31 };

static pthread_key_t key;
static struct wf_spin key_lock = WF_SPIN_INIT;
/* 0: no key yet, 1: key usable, 2: libc has no more keys */
static _Atomic int key_state;

static void leave(void *arg)
{
	struct wf_thread *t = arg;

	if (t->kind != WF_THREAD_FOREIGN)
		wf_thread_finish(t);
	/* A foreign thread ends. weft forgets its id, which the kernel may give
	 * to another thread. */
	if (!t->is_first) {
		wf_self = NULL;
		wf_table_put(NULL, t);
	}
}

static bool have_key(void)
{
	if (wf_load_acquire(&key_state) == 0) {
		wf_spin_lock(&key_lock, WF_RANK_EXIT_KEY);
		if (wf_load_relaxed(&key_state) == 0) {
			bool ok = pthread_key_create(&key, leave) == 0;

			/* release: publishes the key; pairs with the load
			 * above */
			wf_store_release(&key_state,
					 ok && key <= MAX_KEY ? 1 : 2);
		}
		wf_spin_unlock(&key_lock);
	}
	return wf_load_acquire(&key_state) == 1;
}

void wf_main_exit_prepare(struct wf_thread *t)
{
	/* Without a key, ends t at once: the frames are not unwound then. */
	if (!have_key() || pthread_setspecific(key, t) != 0)
		wf_thread_finish(t);
}

void wf_foreign_met(struct wf_thread *t)
{
	if (have_key())
		pthread_setspecific(key, t);
	wf_cancel_met(t);
	wf_name_met();
}

void wf_main_exit_fork_child(void)
{
	key_lock = WF_SPIN_INIT;
}
