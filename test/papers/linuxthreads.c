/* SPDX-License-Identifier: MIT */
/*
 * The model of LinuxThreads: its functions follow POSIX, and it works in the
 * way that it models. Run with the library preloaded.
 */
#include <ctype.h>
#include <limits.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

#include "threading.h"

enum { MANY = 900, CROWD = 8, ROUNDS = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t sem, done;
static long counter;
static int turn;

static void *pid_of(void *arg)
{
	return (void *)(intptr_t)getpid();
}

static void *parent_of(void *arg)
{
	return (void *)(intptr_t)getppid();
}

TEST(threads_are_processes_of_a_manager)
{
	pid_t pid = (pid_t)(intptr_t)thread_join(thread_start(pid_of, NULL));
	pid_t manager =
		(pid_t)(intptr_t)thread_join(thread_start(parent_of, NULL));

	CHECK(pid != getpid());
	CHECK(manager != getpid() && manager != pid);
	CHECK_EQ(manager, (intptr_t)thread_join(thread_start(parent_of, NULL)));
}

static void *twice(void *arg)
{
	return (void *)((intptr_t)arg * 2);
}

static void *leave(void *arg)
{
	pthread_exit(arg);
}

TEST(join_gets_the_result)
{
	int value;

	for (intptr_t i = 1; i <= 50; i++)
		CHECK_EQ((intptr_t)thread_join(thread_start(twice, (void *)i)),
			 2 * i);
	CHECK(thread_join(thread_start(leave, &value)) == &value);
}

static void *self_is(void *arg)
{
	CHECK_EQ(sem_wait(&sem), 0);
	CHECK(pthread_equal(pthread_self(), *(pthread_t *)arg));
	return arg;
}

TEST(self_equals_the_id_from_create)
{
	pthread_t threads[CROWD];

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	for (int i = 0; i < CROWD; i++)
		threads[i] = thread_start(self_is, &threads[i]);
	for (int i = 0; i < CROWD; i++) {
		CHECK(!pthread_equal(threads[i], pthread_self()));
		CHECK_EQ(sem_post(&sem), 0);
	}
	threads_join(threads, CROWD);
}

static void *wait_for_sem(void *arg)
{
	CHECK_EQ(sem_wait(&sem), 0);
	return arg;
}

TEST(wrong_joins_and_detaches)
{
	pthread_t thread;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
	thread = thread_start(wait_for_sem, NULL);
	CHECK_EQ(pthread_detach(thread), 0);
	CHECK_EQ(pthread_detach(thread), EINVAL);
	CHECK_EQ(pthread_join(thread, NULL), EINVAL);
	CHECK_EQ(sem_post(&sem), 0);
	thread = thread_start(thread_nothing, NULL);
	thread_join(thread);
	while (pthread_join(thread, NULL) != ESRCH)
		sched_yield();
	CHECK_EQ(pthread_detach(thread), ESRCH);
}

static void *post_done(void *arg)
{
	CHECK_EQ(sem_post(&done), 0);
	return arg;
}

/* More threads than can exist at a time, so all have to be reaped and freed. */
TEST(many_detached_threads)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	CHECK_EQ(sem_init(&done, 0, 0), 0);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED),
		 0);
	for (int i = 0; i < 3 * MANY; i++) {
		do {
			error = pthread_create(&thread, i % 2 ? &attr : NULL,
					       post_done, NULL);
		} while (error == EAGAIN);
		CHECK_EQ(error, 0);
		if (i % 2 == 0)
			CHECK_EQ(pthread_detach(thread), 0);
	}
	for (int i = 0; i < 3 * MANY; i++)
		CHECK_EQ(sem_wait(&done), 0);
}

TEST(many_threads_at_a_time)
{
	static pthread_t threads[MANY];

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	threads_start(threads, MANY, wait_for_sem, NULL);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(sem_post(&sem), 0);
	threads_join(threads, MANY);
}

static void *create_and_join(void *arg)
{
	for (int i = 0; i < 100; i++)
		thread_join(thread_start(thread_nothing, NULL));
	return arg;
}

TEST(threads_create_threads)
{
	pthread_t threads[CROWD];

	threads_start(threads, CROWD, create_and_join, NULL);
	threads_join(threads, CROWD);
}

static void *count(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		counter++;
		if (i % 500 == 0)
			sched_yield();
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	}
	return arg;
}

TEST(mutex_excludes)
{
	pthread_t threads[CROWD];

	threads_start(threads, CROWD, count, NULL);
	threads_join(threads, CROWD);
	CHECK_EQ(counter, (long)CROWD * ROUNDS);
	CHECK_EQ(pthread_mutex_destroy(&mutex), 0);
}

static void *try_and_unlock(void *arg)
{
	CHECK_EQ(pthread_mutex_trylock(arg), EBUSY);
	CHECK_EQ(pthread_mutex_unlock(arg), EPERM);
	return arg;
}

TEST(mutex_types)
{
	pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pthread_mutex_t recursive;
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
	CHECK_EQ(pthread_mutex_trylock(&mutex), EBUSY);
	CHECK_EQ(pthread_mutex_destroy(&mutex), EBUSY);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	CHECK_EQ(pthread_mutex_lock(&checked), 0);
	CHECK_EQ(pthread_mutex_lock(&checked), EDEADLK);
	thread_join(thread_start(try_and_unlock, &checked));
	CHECK_EQ(pthread_mutex_unlock(&checked), 0);
	CHECK_EQ(pthread_mutex_unlock(&checked), EPERM);
	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE), 0);
	CHECK_EQ(pthread_mutex_init(&recursive, &attr), 0);
	CHECK_EQ(pthread_mutex_lock(&recursive), 0);
	CHECK_EQ(pthread_mutex_trylock(&recursive), 0);
	CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
	thread_join(thread_start(try_and_unlock, &recursive));
	CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
	CHECK_EQ(pthread_mutex_unlock(&recursive), EPERM);
	CHECK_EQ(pthread_cond_wait(&changed, &recursive), EPERM);
}

TEST(sem_values)
{
	int value;

	CHECK_EQ(sem_init(&sem, 0, 2), 0);
	CHECK_EQ(sem_wait(&sem), 0);
	CHECK_EQ(sem_trywait(&sem), 0);
	errno = 0;
	CHECK(sem_trywait(&sem) == -1 && errno == EAGAIN);
	CHECK_EQ(sem_post(&sem), 0);
	CHECK_EQ(sem_getvalue(&sem, &value), 0);
	CHECK_EQ(value, 1);
	CHECK_EQ(sem_destroy(&sem), 0);
	CHECK_EQ(sem_init(&sem, 0, SEM_VALUE_MAX), 0);
	CHECK(sem_post(&sem) == -1 && errno == EOVERFLOW);
	CHECK(sem_init(&sem, 0, SEM_VALUE_MAX + 1u) == -1 && errno == EINVAL);
	CHECK(sem_init(&sem, 1, 0) == -1 && errno == ENOSYS);
}

static void *ping(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(sem_wait(&sem), 0);
		CHECK_EQ(sem_post(&done), 0);
	}
	return arg;
}

TEST(sem_ping_pong)
{
	pthread_t threads[2];

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_EQ(sem_init(&done, 0, 0), 0);
	threads_start(threads, 2, ping, NULL);
	for (int i = 0; i < 2 * ROUNDS; i++) {
		CHECK_EQ(sem_post(&sem), 0);
		CHECK_EQ(sem_wait(&done), 0);
	}
	threads_join(threads, 2);
}

static void *take_turns(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < ROUNDS / 4; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != me)
			CHECK_EQ(pthread_cond_wait(&changed, &mutex), 0);
		turn = (me + 1) % CROWD;
		if (i % 2)
			pthread_cond_broadcast(&changed);
		else
			for (int j = 0; j < CROWD; j++)
				pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

TEST(cond_turns)
{
	pthread_t threads[CROWD];

	threads_start_numbered(threads, CROWD, take_turns);
	threads_join(threads, CROWD);
	CHECK_EQ(turn, 0);
	CHECK_EQ(pthread_cond_destroy(&changed), 0);
}

static __thread int mine = 7;

/* Uses functions that need libc's per-thread state. */
static void *use_libc(void *arg)
{
	char *volatile parts[32];
	char text[64];

	CHECK_EQ(mine, 7);
	mine = (int)(intptr_t)arg;
	for (int i = 0; i < ROUNDS; i++) {
		parts[i % 32] = malloc((size_t)(16 + i));
		snprintf(text, sizeof(text), "%d %.2f", i, i / 4.0);
		CHECK_EQ(strtol(text, NULL, 10), i);
		CHECK(isdigit((unsigned char)text[0]));
		if (i % 32 == 31)
			for (int j = 0; j < 32; j++)
				free(parts[j]);
		errno = mine;
		fputs("", stdout);
		CHECK_EQ(errno, mine);
	}
	return arg;
}

TEST(libc_works_in_threads)
{
	pthread_t threads[CROWD];

	threads_start_numbered(threads, CROWD, use_libc);
	threads_join(threads, CROWD);
	CHECK_EQ(mine, 7);
}

static volatile sig_atomic_t handled;

static void on_usr1(int sig)
{
	handled++;
}

/* Signals do not end a wait, and a program's mask must not lose a restart. */
TEST(waits_with_signals_and_masks)
{
	pthread_t thread;
	sigset_t none;

	signal(SIGUSR1, on_usr1);
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK_EQ(sem_init(&done, 0, 0), 0);
	sigemptyset(&none);
	thread = thread_start(ping, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_sigmask(SIG_SETMASK, &none, NULL);
		if (i % 10 == 0 && i < ROUNDS / 2)
			CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		CHECK_EQ(sem_post(&sem), 0);
		CHECK_EQ(sem_wait(&done), 0);
	}
	thread_join(thread);
	CHECK(handled > 0);
}

static void *deep(void *arg)
{
	char room[1 << 20];

	memset(room, 1, sizeof(room));
	return (void *)(intptr_t)room[(intptr_t)arg];
}

TEST(stack_sizes)
{
	pthread_attr_t attr;
	pthread_t thread;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 1 << 20), 0);
	CHECK_EQ(pthread_create(&thread, &attr, thread_nothing, NULL), 0);
	thread_join(thread);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 64 << 20), 0);
	CHECK_EQ(pthread_create(&thread, &attr, thread_nothing, NULL), ENOTSUP);
	CHECK_EQ((intptr_t)thread_join(thread_start(deep, (void *)5)), 1);
}
