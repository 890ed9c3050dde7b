/* SPDX-License-Identifier: MIT */
/*
 * Starts the manager at the first pthread_create().
 *
 * libc takes its locks only after it has made a thread itself. So it makes one
 * first, an NPTL thread, which ends before the manager begins.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "end.h"
#include "fail.h"
#include "manager.h"
#include "memory.h"
#include "process.h"
#include "signals.h"

enum { MAIN_STACK_BYTES = 128 << 20 };

static struct lt_thread initial = { .id = LT_MAX_THREADS };

struct lt_handle lt_handles[LT_MAX_THREADS] = {
	[LT_MAIN] = { .thread = &initial },
};
struct lt_thread *lt_main = &initial;
uintptr_t lt_main_stack;
bool lt_is_self_by_stack;
__thread struct lt_thread *lt_current = &initial;

static bool is_prepared; /* also in children of fork() */
static bool is_over;
static _Atomic pid_t manager;
static int requests[2] = { -1, -1 };

static void *nothing(void *arg)
{
	return arg;
}

static int run_nptl_thread(void)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
		      void *);
	int (*join)(pthread_t, void **);
	void *found[2] = { dlsym(RTLD_NEXT, "pthread_create"),
			   dlsym(RTLD_NEXT, "pthread_join") };
	pthread_t thread;
	int error;

	if (found[0] == NULL || found[1] == NULL)
		return ENOSYS;
	memcpy(&create, &found[0], sizeof(create));
	memcpy(&join, &found[1], sizeof(join));
	error = create(&thread, NULL, nothing, NULL);
	return error != 0 ? error : join(thread, NULL);
}

static void on_end(void)
{
	if (lt_self() == lt_main)
		lt_end_main();
	else
		lt_manager_thread_ended();
}

/* The kernel leaves at least this much room below the main stack. */
static void find_main_stack(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct rlimit limit;
	uintptr_t size = MAIN_STACK_BYTES;

	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < size)
		size = limit.rlim_cur;
	lt_main_stack = here - size;
}

static void forget(void)
{
	struct lt_thread *self = lt_self();

	for (int i = 0; i < LT_MAX_THREADS; i++) {
		lt_handles[i].lock.status = 0;
		if (lt_handles[i].thread != self)
			lt_handles[i].thread = NULL;
	}
	if (manager != 0) {
		close(requests[0]);
		close(requests[1]);
	}
	lt_main = self;
	self->pid = getpid();
	self->is_detached = false;
	self->joiner = NULL;
	manager = 0;
	is_over = false;
	lt_manager_forget();
}

static int prepare(void)
{
	int error;

	if (is_prepared)
		return 0;
	error = run_nptl_thread();
	if (error == 0)
		error = lt_memory_start();
	if (error == 0 && lt_signals_start(on_end) != 0)
		error = errno;
	if (error == 0)
		error = pthread_atfork(NULL, NULL, forget);
	if (error != 0)
		return error;
	find_main_stack();
	lt_main->pid = getpid();
	is_prepared = true;
	return 0;
}

static int manager_main(void *self)
{
	struct lt_signals mask;

	lt_current = self;
	lt_process_bind(lt_main->pid);
	lt_memory_begin_thread();
	lt_signals_fill(&mask);
	lt_signals_remove(&mask, LT_END);
	lt_signals_mask(SIG_SETMASK, &mask, NULL);
	lt_manager_serve(requests[0]);
}

/* Clones with all signals blocked; the manager inherits this mask. */
static pid_t clone_manager(struct lt_thread *thread)
{
	struct lt_signals all, before;
	pid_t pid;

	lt_signals_fill(&all);
	lt_signals_mask(SIG_SETMASK, &all, &before);
	pid = lt_process_clone(manager_main, thread);
	lt_signals_mask(SIG_SETMASK, &before, NULL);
	return pid;
}

int lt_manager_start(void)
{
	struct lt_thread *thread;
	int error;

	if (manager != 0)
		return 0;
	error = is_over ? EAGAIN : prepare();
	if (error != 0)
		return error;
	if (pipe2(requests, O_CLOEXEC) != 0)
		return errno;
	thread = lt_memory_new(LT_MANAGER);
	if (thread != NULL) {
		thread->id = LT_MAX_THREADS + LT_MANAGER;
		lt_handles[LT_MANAGER].thread = thread;
		thread->pid = manager = clone_manager(thread);
	}
	if (thread != NULL && manager > 0)
		return 0;
	manager = 0;
	if (thread != NULL)
		lt_memory_free(LT_MANAGER);
	close(requests[0]);
	close(requests[1]);
	return EAGAIN;
}

void lt_manager_stop(void)
{
	lt_process_wait(manager);
	is_over = true;
	manager = 0;
}

pid_t lt_manager_pid(void)
{
	return manager;
}

void lt_manager_ask(const struct lt_request *request)
{
	ssize_t written;

	do {
		written = write(requests[1], request, sizeof(*request));
	} while (written < 0 && errno == EINTR);
	if (written != sizeof(*request))
		lt_fail("cannot write to the manager");
}

static void __attribute__((constructor)) choose_self(void)
{
	const char *name = getenv("LINUXTHREADS_SELF");

	if (name == NULL || strcmp(name, "register") == 0)
		return;
	if (strcmp(name, "stack") != 0)
		lt_fail("LINUXTHREADS_SELF is neither 'stack' nor 'register'");
	lt_is_self_by_stack = true;
}
