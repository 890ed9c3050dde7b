/* SPDX-License-Identifier: MIT */
/*
 * The model of LinuxThreads: how a program of several processes ends, and how
 * it forks. Run with the library preloaded.
 */
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "child.h"
#include "threading.h"

enum { CROWD = 8 };

static sem_t sem, done;
static pthread_t other;

static void *parent_of(void *arg)
{
	return (void *)(intptr_t)getppid();
}

static void *exit_3(void *arg)
{
	fputs("written at exit", stdout);
	exit(3);
}

static void *hold_for_ever(void *arg)
{
	CHECK_EQ(sem_post(&done), 0);
	sem_wait(&sem);
	return arg;
}

static void start_holders(void)
{
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_EQ(sem_init(&done, 0, 0), 0);
	for (int i = 0; i < CROWD; i++)
		thread_start(hold_for_ever, NULL);
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(sem_wait(&done), 0);
}

static void exit_in_thread(void)
{
	start_holders();
	thread_start(exit_3, NULL);
	sem_wait(&sem);
}

static void return_from_main(void)
{
	start_holders();
}

static void *outlive_main(void *arg)
{
	CHECK_EQ(pthread_join(other, NULL), 0);
	return arg;
}

static void main_leaves(void)
{
	other = pthread_self();
	thread_start(outlive_main, NULL);
	pthread_exit(NULL);
}

static void *join_main(void *arg)
{
	CHECK_EQ(pthread_join(other, NULL), 0);
	exit(4);
}

static void main_is_joined(void)
{
	other = pthread_self();
	thread_start(join_main, NULL);
	pthread_exit(NULL);
}

static void *end_5(void *arg)
{
	_exit(5);
}

static void end_in_thread(void)
{
	start_holders();
	thread_start(end_5, NULL);
	sem_wait(&sem);
}

TEST(ends_with_a_status)
{
	char text[32];

	CHECK_EQ(child_exit_status(return_from_main), 0);
	CHECK_EQ(child_output(exit_in_thread, text, sizeof(text)), 3);
	CHECK(strcmp(text, "written at exit") == 0);
	CHECK_EQ(child_exit_status(main_leaves), 0);
	CHECK_EQ(child_exit_status(main_is_joined), 4);
	CHECK_EQ(child_exit_status(end_in_thread), 5);
}

static void *fault(void *arg)
{
	*(volatile int *)arg = 1;
	return arg;
}

static void fault_in_thread(void)
{
	start_holders();
	thread_start(fault, NULL);
	sem_wait(&sem);
}

static void kill_manager(void)
{
	pid_t manager =
		(pid_t)(intptr_t)thread_join(thread_start(parent_of, NULL));

	start_holders();
	kill(manager, SIGKILL);
	sem_wait(&sem);
}

static void wait_timed(void)
{
	struct timespec now = { 0, 0 };

	sem_init(&sem, 0, 0);
	sem_timedwait(&sem, &now);
}

TEST(ends_with_a_signal)
{
	CHECK_EQ(child_signal(fault_in_thread), SIGSEGV);
	CHECK_EQ(child_signal(kill_manager), SIGABRT);
	CHECK_EQ(child_signal(wait_timed), SIGABRT);
}

static int ends[2];

static void hold_pipe(void)
{
	close(ends[0]);
	start_holders();
	CHECK_EQ(write(ends[1], "", 1), 1);
	pause();
}

/* The pipe's reader sees the end when the last process has ended. */
TEST(no_process_outlives_the_main_one)
{
	char byte;
	pid_t child;

	CHECK_EQ(pipe(ends), 0);
	child = child_start(hold_pipe);
	close(ends[1]);
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK(WIFSIGNALED(child_wait(child)));
	CHECK_EQ(read(ends[0], &byte, 1), 0);
}

static void *fork_and_thread(void *arg)
{
	CHECK_EQ(child_exit_status(return_from_main), 0);
	return arg;
}

TEST(children_of_fork_have_threads)
{
	start_holders();
	CHECK_EQ(child_exit_status(return_from_main), 0);
	thread_join(thread_start(fork_and_thread, NULL));
}

TEST(no_child_is_left)
{
	thread_join(thread_start(thread_nothing, NULL));
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}
