/* SPDX-License-Identifier: MIT */
/*
 * Handlers throw exceptions through calls that wait. The calls have to undo
 * what they had begun.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static sem_t sem, may_end;
static int fds[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_t target;
static volatile bool is_ready;
static int nr_runs;

static void pause_once()
{
	pause();
}

static void count()
{
	nr_runs++;
}

static void wait_for_sem()
{
	sem_wait(&sem);
}

static void wait_for_byte()
{
	char byte;

	(void)!read(fds[0], &byte, 1);
}

static void wait_for_time()
{
	struct timespec ts = { 1000000, 0 };

	nanosleep(&ts, nullptr);
}

static void wait_for_readiness()
{
	struct pollfd p = { fds[0], POLLIN, 0 };

	poll(&p, 1, -1);
}

static void wait_for_mutex()
{
	pthread_mutex_lock(&mutex);
}

static void wait_in_once()
{
	pthread_once(&once, pause_once);
}

static void wait_for_target()
{
	pthread_join(target, nullptr);
}

static void throw_signal(int sig)
{
	throw sig;
}

static void *catch_signal(void *arg)
{
	int caught = 0;

	try {
		is_ready = true;
		reinterpret_cast<void (*)()>(arg)();
	} catch (int sig) {
		caught = sig;
	}
	CHECK_EQ(caught, SIGUSR1);
	return nullptr;
}

static void leave_by_exception(void (*wait)())
{
	struct sigaction action = {};
	pthread_t thread;

	action.sa_handler = throw_signal;
	action.sa_flags = SA_NODEFER;
	CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
	is_ready = false;
	CHECK_EQ(pthread_create(&thread, nullptr, catch_signal,
				reinterpret_cast<void *>(wait)),
		 0);
	while (!is_ready)
		usleep(1000);
	usleep(20000);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	CHECK_EQ(pthread_join(thread, nullptr), 0);
}

TEST(through_calls)
{
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_EQ(pipe(fds), 0);
	leave_by_exception(wait_for_sem);
	leave_by_exception(wait_for_byte);
	leave_by_exception(wait_for_time);
	leave_by_exception(wait_for_readiness);
	CHECK_EQ(sem_post(&sem), 0);
	CHECK_EQ(sem_trywait(&sem), 0);
}

TEST(through_a_lock)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	leave_by_exception(wait_for_mutex);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
}

TEST(through_once)
{
	leave_by_exception(wait_in_once);
	pthread_once(&once, count);
	CHECK_EQ(nr_runs, 1);
}

static void *end_when_told(void *arg)
{
	while (sem_wait(&may_end) != 0)
		continue;
	return arg;
}

/* After that the thread may be joined or not; natively it may not. */
TEST(through_join)
{
	CHECK_EQ(sem_init(&may_end, 0, 0), 0);
	CHECK_EQ(pthread_create(&target, nullptr, end_when_told, nullptr), 0);
	leave_by_exception(wait_for_target);
	CHECK_EQ(sem_post(&may_end), 0);
	pthread_join(target, nullptr);
}
