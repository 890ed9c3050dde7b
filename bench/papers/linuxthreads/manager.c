/* SPDX-License-Identifier: MIT */
/*
 * The manager's loop. Only the manager changes the table of threads, so it
 * needs no lock to read it; others read an entry under the entry's lock.
 *
 * MANAGER-1. A descriptor is freed after its process is reaped and, unless
 * detached, after a join has asked for it: the later of the two frees it.
 * MANAGER-2. The handler of the end signal sets the time limit of ppoll() to 0
 * after it has set has_ended. The kernel reads the limit from memory. So a
 * signal between the check of has_ended and the call does not wait for the next
 * request.
 */
#include "manager.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "end.h"
#include "memory.h"
#include "process.h"
#include "thread.h"

/* Above RLIMIT_SIGPENDING the kernel drops signals of children that end. */
enum { LOOK_S = 2 };

static struct lt_thread *alive;	     /* threads with an unreaped process */
static struct lt_thread *main_waits; /* the thread that sent LT_MAIN_EXIT */
static pthread_t generation = 2;     /* the manager has 1 */

static volatile bool has_ended; /* has a thread, since the last check? */
static volatile struct timespec limit;

static void list_add(struct lt_thread *thread)
{
	thread->previous_alive = NULL;
	thread->next_alive = alive;
	if (alive != NULL)
		alive->previous_alive = thread;
	alive = thread;
}

static void list_remove(struct lt_thread *thread)
{
	if (thread->previous_alive != NULL)
		thread->previous_alive->next_alive = thread->next_alive;
	else
		alive = thread->next_alive;
	if (thread->next_alive != NULL)
		thread->next_alive->previous_alive = thread->previous_alive;
}

static struct lt_thread *find_pid(pid_t pid)
{
	struct lt_thread *thread = alive;

	while (thread != NULL && thread->pid != pid)
		thread = thread->next_alive;
	return thread;
}

static unsigned int free_index(void)
{
	for (unsigned int i = LT_FIRST_THREAD; i < LT_MAX_THREADS; i++) {
		if (lt_handles[i].thread == NULL)
			return i;
	}
	return 0;
}

static struct lt_thread *new_thread(const struct lt_request *request)
{
	unsigned int index = free_index();
	struct lt_thread *thread = index > 0 ? lt_memory_new(index) : NULL;

	if (thread == NULL)
		return NULL;
	thread->id = index + generation++ * LT_MAX_THREADS;
	thread->start = request->start;
	thread->arg = request->arg;
	thread->mask = request->mask;
	thread->is_detached = request->is_detached;
	return thread;
}

static int create(const struct lt_request *request)
{
	struct lt_thread *thread = new_thread(request);
	struct lt_handle *handle;
	pthread_t id;
	pid_t pid;

	if (thread == NULL)
		return EAGAIN;
	id = thread->id;
	handle = lt_handle_of(id);
	/*
	 * While the lock is held the new thread can neither be joined nor end.
	 */
	lt_lock(&handle->lock, NULL);
	pid = lt_process_clone(lt_thread_main, thread);
	if (pid > 0) {
		thread->pid = pid;
		handle->thread = thread;
		list_add(thread);
	}
	lt_unlock(&handle->lock);
	if (pid < 0) {
		lt_memory_free((unsigned int)(id % LT_MAX_THREADS));
		return EAGAIN;
	}
	request->from->created = id;
	return 0;
}

static void free_thread(struct lt_handle *handle)
{
	lt_lock(&handle->lock, NULL);
	handle->thread = NULL;
	lt_unlock(&handle->lock);
	lt_memory_free((unsigned int)(handle - lt_handles));
}

/* MANAGER-1. Detaches the thread, and frees its descriptor if it has exited. */
static void free_when_exited(pthread_t id)
{
	struct lt_handle *handle = lt_handle_of(id);
	struct lt_thread *thread = handle->thread;

	if (thread == NULL || thread->id != id)
		return;
	lt_lock(&handle->lock, NULL);
	thread->is_detached = true;
	lt_unlock(&handle->lock);
	if (thread->has_exited)
		free_thread(handle);
}

/* A thread's process has ended. */
static void reaped(struct lt_thread *thread, int status)
{
	struct lt_handle *handle = lt_handle_of(thread->id);
	bool is_detached, is_terminated;

	list_remove(thread);
	thread->has_exited = true;
	/* A killed thread may have held the lock: then the program ends. */
	if (WIFSIGNALED(status))
		lt_end_by_status(status, alive);
	lt_lock(&handle->lock, NULL);
	is_detached = thread->is_detached;
	is_terminated = thread->is_terminated;
	lt_unlock(&handle->lock);
	if (!is_terminated)
		lt_end_by_status(status, alive);
	if (is_detached)
		free_thread(handle);
	if (alive == NULL && main_waits != NULL)
		lt_restart(main_waits);
}

static void reap(void)
{
	struct lt_thread *thread;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
		thread = find_pid(pid);
		if (thread != NULL)
			reaped(thread, status);
	}
}

static void serve(const struct lt_request *request)
{
	switch (request->kind) {
	case LT_CREATE:
		request->from->error = create(request);
		lt_restart(request->from);
		break;
	case LT_FREE:
		free_when_exited(request->thread);
		break;
	case LT_EXIT:
		lt_end_by_exit(request->from, request->status, alive);
	case LT_MAIN_EXIT:
		main_waits = request->from;
		if (alive == NULL)
			lt_restart(main_waits);
		break;
	}
}

void lt_manager_thread_ended(void)
{
	has_ended = true;
	limit.tv_sec = 0; /* MANAGER-2 */
}

void lt_manager_serve(int requests)
{
	struct pollfd pipe = { .fd = requests, .events = POLLIN };
	struct lt_request request;
	long ready;

	for (;;) {
		limit.tv_sec = LOOK_S;
		limit.tv_nsec = 0;
		if (has_ended) {
			has_ended = false;
			reap();
		}
		/* Not by libc, which copies the limit: MANAGER-2. */
		ready = syscall(SYS_ppoll, &pipe, 1, &limit, NULL, 0);
		if (ready == 0)
			has_ended = true;
		else if (ready > 0 && read(requests, &request,
					   sizeof(request)) == sizeof(request))
			serve(&request);
	}
}

void lt_manager_forget(void)
{
	alive = NULL;
	main_waits = NULL;
}
