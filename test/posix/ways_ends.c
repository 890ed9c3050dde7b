/* SPDX-License-Identifier: MIT */
/*
 * Handlers that end the process, or execute another program, while their thread
 * waits. Locks that the call holds must not hinder the end.
 */
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "check.h"
#include "waiting.h"

enum { STATUS = 7 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t sem;
static int fds[2];
static pthread_t target;

static void pause_once(void)
{
	pause();
}

static void run_once(void)
{
	pthread_once(&once, pause_once);
}

static void join_target(void)
{
	pthread_join(target, NULL);
}

static void wait_for_cond(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_wait(&cond, &mutex);
}

static void wait_for_sem(void)
{
	sem_wait(&sem);
}

static void lock_mutex(void)
{
	pthread_mutex_lock(&held);
}

static void lock_to_write(void)
{
	pthread_rwlock_wrlock(&rwlock);
}

static void read_byte(void)
{
	char byte;

	(void)!read(fds[0], &byte, 1);
}

static void receive_all(void)
{
	char bytes[100];

	(void)recv(fds[0], bytes, sizeof(bytes), MSG_WAITALL);
}

static void poll_byte(void)
{
	struct pollfd p = { fds[0], POLLIN, 0 };

	poll(&p, 1, -1);
}

static void wait_for_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		alarm(10);
		for (;;)
			pause();
	}
	waitpid(child, NULL, 0);
}

static void sleep_long(void)
{
	sleep(1000);
}

static void (*const waits[])(void) = {
	run_once,   join_target,    wait_for_cond, wait_for_sem,
	lock_mutex, lock_to_write,  read_byte,	   receive_all,
	poll_byte,  wait_for_child, sleep_long,	   pause_once,
};

static void exit_in_handler(int sig, siginfo_t *info, void *context)
{
	exit(STATUS);
}

static void leave_in_handler(int sig, siginfo_t *info, void *context)
{
	_exit(STATUS);
}

static void execute_in_handler(int sig, siginfo_t *info, void *context)
{
	execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
	_exit(1);
}

static void *run_wait(void *arg)
{
	is_ready = 1;
	(*(void (*const *)(void))arg)();
	return NULL;
}

/* Runs the wait in a process of its own. */
static void wait_and_end(void (*const *wait)(void),
			 void (*handler)(int, siginfo_t *, void *))
{
	pthread_t thread;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(pthread_mutex_lock(&held), 0);
	CHECK_EQ(pthread_rwlock_wrlock(&rwlock), 0);
	target = thread_start(thread_pause_for_ever, NULL);
	handle(SIGUSR1, handler, 0);
	is_ready = 0;
	thread = thread_start(run_wait, (void *)wait);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	for (;;)
		pause();
}

static void end_in(void (*handler)(int, siginfo_t *, void *))
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		pid_t child = fork();
		int status = -1;

		CHECK(child >= 0);
		if (child == 0)
			wait_and_end(&waits[i], handler);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK(WIFEXITED(status));
		CHECK_EQ(WEXITSTATUS(status), STATUS);
	}
}

TEST(exit_out_of_waits)
{
	end_in(exit_in_handler);
}

TEST(exit_at_once_out_of_waits)
{
	end_in(leave_in_handler);
}

TEST(exec_out_of_waits)
{
	end_in(execute_in_handler);
}
