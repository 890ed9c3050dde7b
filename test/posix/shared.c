/* SPDX-License-Identifier: MIT */
/* Semaphores, conditions and other objects between processes; the futex. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "shared.h"

/* --- semaphores ----------------------------------------------------------- */

static void *answer_posts(void *arg)
{
	for (;;) {
		CHECK_EQ(sem_wait(&s->sem), 0);
		CHECK_EQ(sem_post(&s->answer), 0);
	}
}

static void *ask(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(sem_post(&s->sem), 0);
		CHECK_EQ(sem_wait(&s->answer), 0);
	}
	return NULL;
}

TEST(semaphore)
{
	int value;
	pid_t pid;

	make_shared();
	pid = start_child(answer_posts);
	run_threads(ask);
	CHECK_EQ(sem_getvalue(&s->sem, &value), 0);
	CHECK_EQ(value, 0);
	CHECK_ERRNO(sem_trywait(&s->answer), EAGAIN);
	kill_child(pid);
}

static void *wait_timed(void *arg)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 10);
	struct timespec soon2 = deadline_ms(CLOCK_MONOTONIC, 20);
	struct timespec bad = { .tv_nsec = NS_PER_S };

	CHECK_ERRNO(sem_timedwait(&s->sem, &soon), ETIMEDOUT);
	CHECK_ERRNO(sem_clockwait(&s->sem, CLOCK_MONOTONIC, &soon2), ETIMEDOUT);
	CHECK_ERRNO(sem_timedwait(&s->sem, &bad), EINVAL);
	return NULL;
}

TEST(semaphore_timed)
{
	make_shared();
	thread_join(thread_start(wait_timed, NULL));
	wait_timed(NULL);
	CHECK_EQ(sem_post(&s->sem), 0);
	CHECK_EQ(sem_wait(&s->sem), 0);
}

static void nothing(int sig)
{
}

static void *wait_interrupted(void *arg)
{
	CHECK_ERRNO(sem_wait(&s->sem), EINTR);
	return NULL;
}

static void *wait_one(void *arg)
{
	CHECK_EQ(sem_wait(&s->sem), 0);
	return NULL;
}

TEST(semaphore_interrupted)
{
	struct sigaction act = { .sa_handler = nothing };
	pthread_t thread;

	make_shared();
	sigaction(SIGUSR1, &act, NULL);
	thread = thread_start(wait_interrupted, NULL);
	await_rest();
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	thread_join(thread);
	act.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &act, NULL);
	thread = thread_start(wait_one, NULL);
	await_rest();
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	await_rest();
	CHECK_EQ(sem_post(&s->sem), 0);
	thread_join(thread);
}

static void cancel_in_semaphore(void)
{
	pthread_t thread;
	int value;

	make_shared();
	thread = thread_start(wait_one, NULL);
	await_rest();
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
	CHECK_EQ(sem_post(&s->sem), 0);
	CHECK_EQ(sem_getvalue(&s->sem, &value), 0);
	CHECK_EQ(value, 1);
}

TEST(semaphore_cancelled)
{
	cancel_in_semaphore();
}

TEST(semaphore_cancelled_with_few_descriptors)
{
	allow_few_descriptors();
	cancel_in_semaphore();
}

/* More waiters than kernel threads by which a VP could be handed off. */
TEST(semaphore_many_wait)
{
	enum { NR = 200 };
	pthread_t threads[NR];

	make_shared();
	threads_start(threads, NR, wait_one, NULL);
	await_rest();
	for (int i = 0; i < NR; i++)
		CHECK_EQ(sem_post(&s->sem), 0);
	threads_join(threads, NR);
}

TEST(semaphore_named)
{
	char name[64];
	sem_t *sem, *again;

	snprintf(name, sizeof(name), "/weft-test-%d", (int)getpid());
	sem = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
	if (sem == SEM_FAILED && errno == ENOSYS)
		SKIP("no named semaphores");
	CHECK(sem != SEM_FAILED);
	CHECK((again = sem_open(name, 0)) != SEM_FAILED);
	CHECK_EQ(sem_unlink(name), 0);
	if (fork() == 0) {
		for (int i = 0; i < 10; i++)
			sem_post(again);
		_exit(0);
	}
	for (int i = 0; i < 10; i++)
		CHECK_EQ(sem_wait(sem), 0);
	CHECK_EQ(sem_close(sem), 0);
}

/* --- other process-shared objects ----------------------------------------- */

static void *pass_turns(void *arg)
{
	for (int i = 0; i < NR_ROUNDS / 10; i++) {
		CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
		while (s->other == 0)
			CHECK_EQ(pthread_cond_wait(&s->cond, &s->mutex), 0);
		s->other--;
		s->count++;
		CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
		CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
		s->other++;
		CHECK_EQ(pthread_cond_signal(&s->cond), 0);
		CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	}
	return NULL;
}

TEST(condition)
{
	make_shared();
	for (int i = 0; i < 3; i++) {
		make_mutex(&s->mutex, PTHREAD_MUTEX_ERRORCHECK, i == 1,
			   PTHREAD_PROCESS_SHARED,
			   i == 2 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
		make_cond(&s->cond, CLOCK_REALTIME);
		s->other = 2;
		s->count = 0;
		run_in_both(pass_turns);
		CHECK_EQ(s->count, 2 * NR_THREADS * (NR_ROUNDS / 10));
		CHECK_EQ(pthread_cond_destroy(&s->cond), 0);
	}
}

static void unlock(void *mutex)
{
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
}

static void *wait_for_condition(void *arg)
{
	pthread_mutex_lock(&s->mutex);
	pthread_cleanup_push(unlock, &s->mutex);
	for (;;)
		CHECK_EQ(pthread_cond_wait(&s->cond, &s->mutex), 0);
	pthread_cleanup_pop(0);
}

/*
 * A cancelled waiter owns the mutex in its cleanup handler, and unlocks it
 * there.
 */
static void cancel_in_condition(void)
{
	pthread_t thread;

	make_shared();
	for (int robust = 0; robust < 2; robust++) {
		make_mutex(&s->mutex, PTHREAD_MUTEX_ERRORCHECK, robust,
			   PTHREAD_PROCESS_SHARED, PTHREAD_PRIO_NONE);
		make_cond(&s->cond, CLOCK_REALTIME);
		thread = thread_start(wait_for_condition, NULL);
		await_rest();
		CHECK_EQ(pthread_cancel(thread), 0);
		CHECK(thread_join(thread) == PTHREAD_CANCELED);
		CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
		CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
	}
}

TEST(condition_cancelled)
{
	cancel_in_condition();
}

TEST(condition_cancelled_with_few_descriptors)
{
	allow_few_descriptors();
	cancel_in_condition();
}

static void *use_others(void *arg)
{
	for (int i = 0; i < NR_ROUNDS / 10; i++) {
		CHECK_EQ(pthread_rwlock_wrlock(&s->rwlock), 0);
		s->count++;
		CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
		CHECK_EQ(pthread_rwlock_rdlock(&s->rwlock), 0);
		CHECK(s->count > 0);
		CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
		CHECK_EQ(pthread_spin_lock(&s->spin), 0);
		s->other++;
		CHECK_EQ(pthread_spin_unlock(&s->spin), 0);
		if (i % 10 == 0)
			pthread_barrier_wait(&s->barrier);
	}
	return NULL;
}

TEST(rwlock_barrier_spin)
{
	make_shared();
	make_rwlock(&s->rwlock, PTHREAD_RWLOCK_DEFAULT_NP);
	make_barrier(&s->barrier, 2 * NR_THREADS);
	CHECK_EQ(pthread_spin_init(&s->spin, PTHREAD_PROCESS_SHARED), 0);
	run_in_both(use_others);
	CHECK_EQ(s->count, 2 * NR_THREADS * (NR_ROUNDS / 10));
	CHECK_EQ(s->other, s->count);
}

/* --- the futex itself ----------------------------------------------------- */

static void *wait_on_word(void *arg)
{
	struct timespec soon = { .tv_nsec = NS_PER_MS };

	CHECK_ERRNO(syscall(SYS_futex, &s->word, FUTEX_WAIT, 7, NULL), EAGAIN);
	/*
	 * A wait may end without a wake, for example if its I/O server was
	 * killed.
	 */
	while (syscall(SYS_futex, &s->word, FUTEX_WAIT, 0, &soon) == 0)
		;
	CHECK_EQ(errno, ETIMEDOUT);
	CHECK_ERRNO(syscall(SYS_futex, (char *)&s->word + 1, FUTEX_WAIT, 0,
			    NULL),
		    EINVAL);
	CHECK_ERRNO(syscall(SYS_futex, 8, FUTEX_WAIT, 0, NULL), EFAULT);
	CHECK_EQ(sem_post(&s->answer), 0);
	while (syscall(SYS_futex, &s->word, FUTEX_WAIT, 0, NULL) != 0)
		CHECK_EQ(errno, EINTR);
	return NULL;
}

TEST(futex)
{
	pthread_t thread;
	pid_t pid;

	make_shared();
	thread = thread_start(wait_on_word, NULL);
	CHECK_EQ(sem_wait(&s->answer), 0);
	pid = fork();
	if (pid == 0) {
		/* The wait may end without this wake. */
		while (syscall(SYS_futex, &s->word, FUTEX_WAKE, 1) == 0 &&
		       s->word == 0)
			usleep(1000);
		_exit(0);
	}
	thread_join(thread);
	s->word = 1;
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}
