/* SPDX-License-Identifier: MIT */
/* The many ways in which a process with threads ends. */
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

/* Prints when all other threads wait or have ended. */
static void *print_at_rest(void *arg)
{
	await_rest();
	printf("%s", (const char *)arg);
	return NULL;
}

static sem_t may_print;

static void *print_when_let(void *arg)
{
	CHECK_EQ(sem_wait(&may_print), 0);
	printf("%s", (const char *)arg);
	return NULL;
}

static void *let_print_at_rest(void *nr)
{
	await_rest();
	for (intptr_t i = 0; i < (intptr_t)nr; i++)
		CHECK_EQ(sem_post(&may_print), 0);
	return NULL;
}

static void *sleep_then_print(void *arg)
{
	sleep_ms(50);
	printf("%s", (const char *)arg);
	return NULL;
}

static void *park_forever(void *arg)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
	return arg;
}

static _Atomic int nr_spinning;

static void *spin_forever(void *arg)
{
	volatile long count = 0;

	(void)arg;
	nr_spinning++;
	for (;;)
		count = count + 1;
	return NULL;
}

static void main_exits_first(void)
{
	thread_start(print_at_rest, "from the thread");
	pthread_exit(NULL);
}

/*
 * The process continues. When its last thread ends, it exits with status 0 and
 * flushes stdio.
 */
TEST(main_calls_pthread_exit)
{
	char text[64];

	CHECK_EQ(child_output(main_exits_first, text, sizeof(text)), 0);
	CHECK(strcmp(text, "from the thread") == 0);
}

static void main_exits_alone(void)
{
	printf("alone");
	pthread_exit(NULL);
}

TEST(only_thread_calls_pthread_exit)
{
	char text[64];

	CHECK_EQ(child_output(main_exits_alone, text, sizeof(text)), 0);
	CHECK(strcmp(text, "alone") == 0);
}

static void last_of_many(void)
{
	CHECK_EQ(sem_init(&may_print, 0, 0), 0);
	for (int i = 0; i < 50; i++) {
		pthread_t t = thread_start(print_when_let, "x");

		if (i % 2)
			CHECK_EQ(pthread_detach(t), 0);
	}
	thread_start(let_print_at_rest, (void *)50L);
	pthread_exit(NULL);
}

TEST(process_ends_with_last_thread)
{
	char text[64];

	CHECK_EQ(child_output(last_of_many, text, sizeof(text)), 0);
	CHECK_EQ(strlen(text), 50);
}

static pthread_t main_thread;

static void *join_main(void *arg)
{
	void *result;

	CHECK_EQ(pthread_join(main_thread, &result), 0);
	printf("%s", (const char *)result);
	return arg;
}

static void main_is_joined(void)
{
	main_thread = pthread_self();
	thread_start(join_main, NULL);
	await_rest();
	pthread_exit("main's value");
}

TEST(main_can_be_joined)
{
	char text[64];

	CHECK_EQ(child_output(main_is_joined, text, sizeof(text)), 0);
	CHECK(strcmp(text, "main's value") == 0);
}

static void start_bystanders(void)
{
	for (int i = 0; i < 20; i++)
		thread_start(park_forever, NULL);
	thread_start(spin_forever, NULL);
	thread_start(spin_forever, NULL);
}

static void exit_beside_threads(void)
{
	start_bystanders();
	printf("flushed");
	exit(7);
}

TEST(exit_ends_all_threads)
{
	char text[64];

	CHECK_EQ(child_output(exit_beside_threads, text, sizeof(text)), 7);
	CHECK(strcmp(text, "flushed") == 0);
}

static void *call_exit(void *arg)
{
	exit((int)(intptr_t)arg);
}

static void print_atexit(void)
{
	printf(" atexit");
}

static void exit_from_thread(void)
{
	CHECK_EQ(atexit(print_atexit), 0);
	start_bystanders();
	printf("partial line");
	thread_start(call_exit, (void *)(intptr_t)42);
	park_forever(NULL);
}

TEST(exit_from_a_thread)
{
	char text[64];

	CHECK_EQ(child_output(exit_from_thread, text, sizeof(text)), 42);
	CHECK(strcmp(text, "partial line atexit") == 0);
}

static void *call_raw_exit(void *arg)
{
	_exit((int)(intptr_t)arg);
}

static void raw_exit_from_thread(void)
{
	CHECK_EQ(atexit(print_atexit), 0);
	start_bystanders();
	printf("lost");
	thread_start(call_raw_exit, (void *)(intptr_t)9);
	park_forever(NULL);
}

TEST(raw_exit_flushes_nothing)
{
	char text[64];

	CHECK_EQ(child_output(raw_exit_from_thread, text, sizeof(text)), 9);
	CHECK_EQ(strlen(text), 0);
}

static void *leave_by_number(void *arg)
{
	syscall(SYS_exit, (int)(intptr_t)arg);
	return "did not leave";
}

static void *leave_last(void *writer)
{
	thread_join(*(pthread_t *)writer);
	return leave_by_number((void *)(intptr_t)7);
}

/* The first thread has exited, and the last one waits for this thread. */
static void *write_at_rest(void *arg)
{
	await_rest();
	CHECK_EQ(write(STDOUT_FILENO, "x", 1), 1);
	return arg;
}

static void leave_threads_behind(void)
{
	static pthread_t writer;

	CHECK_EQ(atexit(print_atexit), 0);
	printf("lost");
	writer = thread_start(write_at_rest, NULL);
	thread_start(leave_last, &writer);
	leave_by_number((void *)(intptr_t)7);
}

/*
 * The other threads continue. Before Linux 5.18 the first thread's code is the
 * process's status, later the last thread's.
 */
TEST(first_thread_leaves_by_system_call)
{
	char text[64];

	CHECK_EQ(child_output(leave_threads_behind, text, sizeof(text)), 7);
	CHECK(strcmp(text, "x") == 0);
}

TEST(threads_leave_by_system_call)
{
	pthread_t threads[20];

	threads_start_numbered(threads, 20, leave_by_number);
	for (int i = 0; i < 20; i++)
		CHECK(thread_join(threads[i]) == NULL);
}

static void group_exit_by_number(void)
{
	start_bystanders();
	syscall(SYS_exit_group, 11);
}

TEST(exit_group_system_call)
{
	CHECK_EQ(child_exit_status(group_exit_by_number), 11);
}

static void say_quick(void)
{
	CHECK_EQ(write(STDOUT_FILENO, "quick", 5), 5);
}

static void *call_quick_exit(void *arg)
{
	quick_exit((int)(intptr_t)arg);
}

static void quick_exit_from_thread(void)
{
	CHECK_EQ(at_quick_exit(say_quick), 0);
	CHECK_EQ(atexit(print_atexit), 0);
	start_bystanders();
	thread_start(call_quick_exit, (void *)(intptr_t)5);
	park_forever(NULL);
}

TEST(quick_exit_from_a_thread)
{
	char text[64];

	CHECK_EQ(child_output(quick_exit_from_thread, text, sizeof(text)), 5);
	CHECK(strcmp(text, "quick") == 0);
}

static void *call_abort(void *arg)
{
	abort();
	return arg;
}

static void abort_from_thread(void)
{
	start_bystanders();
	thread_start(call_abort, NULL);
	park_forever(NULL);
}

TEST(abort_from_a_thread)
{
	CHECK_EQ(child_signal(abort_from_thread), SIGABRT);
}

/* Exit handlers may use threads; the handler registered last runs first. */
static void join_in_atexit(void)
{
	printf("joining ");
	thread_join(thread_start(sleep_then_print, "joined"));
}

static void atexit_with_threads(void)
{
	CHECK_EQ(atexit(print_atexit), 0);
	CHECK_EQ(atexit(join_in_atexit), 0);
	start_bystanders();
	exit(0);
}

TEST(atexit_may_use_threads)
{
	char text[64];

	CHECK_EQ(child_output(atexit_with_threads, text, sizeof(text)), 0);
	CHECK(strcmp(text, "joining joined atexit") == 0);
}

static int ready[2];

static void say_ready(void)
{
	CHECK_EQ(write(ready[1], "r", 1), 1);
}

static void await_ready(void)
{
	CHECK_EQ(read(ready[0], &(char){ 0 }, 1), 1);
}

static void idle_threads(void)
{
	for (int i = 0; i < 10; i++)
		thread_start(park_forever, NULL);
	say_ready();
	park_forever(NULL);
}

TEST(sigterm_kills_idle_process)
{
	pid_t child;
	int status;

	CHECK_EQ(pipe(ready), 0);
	child = child_start(idle_threads);
	await_ready();
	await_rest_of(child);
	CHECK_EQ(kill(child, SIGTERM), 0);
	status = child_wait(child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGTERM);
}

/* A shell ignores SIGINT for background jobs, so the default is set here. */
static void busy_threads(void)
{
	CHECK(signal(SIGINT, SIG_DFL) != SIG_ERR);
	for (int i = 0; i < 6; i++)
		thread_start(spin_forever, NULL);
	await_count(&nr_spinning, 6);
	say_ready();
	spin_forever(NULL);
}

TEST(sigint_kills_busy_process)
{
	pid_t child;
	int status;

	CHECK_EQ(pipe(ready), 0);
	child = child_start(busy_threads);
	await_ready();
	CHECK_EQ(kill(child, SIGINT), 0);
	status = child_wait(child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGINT);
}

static void *return_while_main_exits(void *arg)
{
	return arg;
}

/* Threads that end at the moment of exit() must do no harm. */
static void exit_in_a_storm(void)
{
	for (int i = 0; i < 100; i++)
		CHECK_EQ(pthread_detach(
				 thread_start(return_while_main_exits, NULL)),
			 0);
	exit(3);
}

TEST(exit_while_threads_end)
{
	for (int i = 0; i < 20; i++)
		CHECK_EQ(child_exit_status(exit_in_a_storm), 3);
}
