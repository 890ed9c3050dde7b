/* SPDX-License-Identifier: MIT */
/* The functions of <pthread.h> that make, end and name threads. */
#include "thread.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "manager.h"
#include "memory.h"
#include "process.h"

int lt_thread_main(void *thread)
{
	struct lt_thread *self = thread;

	lt_current = self;
	/* The manager may not have written it yet. */
	self->pid = *lt_memory_tid(self);
	lt_process_bind(lt_manager_pid());
	lt_memory_begin_thread();
	lt_signals_mask(SIG_SETMASK, &self->mask, NULL);
	pthread_exit(self->start(self->arg));
}

/*
 * Returns whether a size is set that is neither libc's default nor possible
 * here.
 */
static bool has_large_stack(const pthread_attr_t *attr)
{
	pthread_attr_t usual;
	size_t wanted, size;

	if (pthread_attr_getstacksize(attr, &wanted) != 0 ||
	    wanted <= LT_STACK_BYTES || pthread_attr_init(&usual) != 0)
		return false;
	pthread_attr_getstacksize(&usual, &size);
	pthread_attr_destroy(&usual);
	return wanted != size;
}

static int read_attr(const pthread_attr_t *attr, struct lt_request *request)
{
	int state;

	if (attr == NULL)
		return 0;
	if (has_large_stack(attr))
		return ENOTSUP;
	if (pthread_attr_getdetachstate(attr, &state) != 0)
		return EINVAL;
	request->is_detached = state == PTHREAD_CREATE_DETACHED;
	return 0;
}

LT_EXPORT int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attr,
			     void *(*start)(void *), void *arg)
{
	struct lt_thread *self = lt_self();
	struct lt_request request = {
		.kind = LT_CREATE, .from = self, .start = start, .arg = arg
	};
	int error = read_attr(attr, &request);

	if (error == 0)
		error = lt_manager_start();
	if (error != 0)
		return error;
	lt_signals_mask(SIG_SETMASK, NULL, &request.mask);
	lt_signals_add(&request.mask, LT_RESTART);
	lt_manager_ask(&request);
	lt_suspend(self);
	if (self->error == 0)
		*ret_thread = self->created;
	return self->error;
}

/* Marks the thread as terminated, so that its joiner continues. */
static void terminate(struct lt_thread *self, void *result)
{
	struct lt_handle *handle = lt_handle_of(self->id);
	struct lt_thread *joiner;

	lt_lock(&handle->lock, self);
	self->result = result;
	self->is_terminated = true;
	joiner = self->joiner;
	lt_unlock(&handle->lock);
	if (joiner != NULL)
		lt_restart(joiner);
}

LT_EXPORT void pthread_exit(void *result)
{
	struct lt_thread *self = lt_self();
	struct lt_request request = { .kind = LT_MAIN_EXIT, .from = self };

	terminate(self, result);
	if (self != lt_main)
		lt_process_exit(0);
	if (lt_manager_pid() != 0) {
		lt_manager_ask(&request);
		lt_suspend(self);
	}
	exit(0);
}

LT_EXPORT pthread_t pthread_self(void)
{
	return lt_self()->id;
}

LT_EXPORT int pthread_equal(pthread_t a, pthread_t b)
{
	return a == b;
}

/* Locks the thread's handle. Returns NULL, with the handle unlocked, if there
 * is no such thread. */
static struct lt_thread *lock_thread(pthread_t id, struct lt_thread *self)
{
	struct lt_handle *handle = lt_handle_of(id);

	lt_lock(&handle->lock, self);
	if (handle->thread != NULL && handle->thread->id == id)
		return handle->thread;
	lt_unlock(&handle->lock);
	return NULL;
}

static int begin_join(struct lt_thread *thread, struct lt_thread *self,
		      bool *ret_must_wait)
{
	if (thread == self)
		return EDEADLK;
	if (thread->is_detached || thread->joiner != NULL)
		return EINVAL;
	thread->joiner = self;
	*ret_must_wait = !thread->is_terminated;
	return 0;
}

static void ask_free(pthread_t id, struct lt_thread *self)
{
	struct lt_request request = { .kind = LT_FREE,
				      .from = self,
				      .thread = id };

	/* The main thread's descriptor is never freed. */
	if (id != lt_main->id)
		lt_manager_ask(&request);
}

LT_EXPORT int pthread_join(pthread_t id, void **ret_result)
{
	struct lt_thread *self = lt_self();
	struct lt_thread *thread = lock_thread(id, self);
	bool must_wait;
	int error;

	if (thread == NULL)
		return ESRCH;
	error = begin_join(thread, self, &must_wait);
	lt_unlock(&lt_handle_of(id)->lock);
	if (error != 0)
		return error;
	if (must_wait)
		lt_suspend(self);
	if (ret_result != NULL)
		*ret_result = thread->result;
	ask_free(id, self);
	return 0;
}

LT_EXPORT int pthread_detach(pthread_t id)
{
	struct lt_thread *self = lt_self();
	struct lt_thread *thread = lock_thread(id, self);
	bool is_terminated;
	int error = 0;

	if (thread == NULL)
		return ESRCH;
	is_terminated = thread->is_terminated;
	if (thread->is_detached)
		error = EINVAL;
	else if (thread->joiner == NULL)
		thread->is_detached = true;
	else
		is_terminated = false; /* the joiner frees it */
	lt_unlock(&lt_handle_of(id)->lock);
	if (error == 0 && is_terminated)
		ask_free(id, self);
	return error;
}

LT_EXPORT int pthread_kill(pthread_t id, int sig)
{
	struct lt_thread *thread = lock_thread(id, lt_self());
	pid_t pid;

	if (thread == NULL)
		return ESRCH;
	pid = thread->is_terminated ? 0 : (pid_t)thread->pid;
	lt_unlock(&lt_handle_of(id)->lock);
	/* The lock is released before, because a handler may need it. */
	return pid == 0 || kill(pid, sig) == 0 ? 0 : errno;
}
