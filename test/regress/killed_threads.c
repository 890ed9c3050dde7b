/* SPDX-License-Identifier: MIT */
/*
 * The kernel ends one thread without the rest of its process: by a seccomp
 * filter that kills threads, or by exit as a system call. The process hung, as
 * a thread that joined the ended thread waited without end.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "confine.h"
#include "robust.h"
#include "threading.h"

enum { NR = 20, NR_ROUNDS = 5, STATUS = 7 };

static struct sock_filter code[] = {
	CONFINE_LOAD_NUMBER,
	CONFINE_KILL_THREAD_FOR(getppid),
	CONFINE_ALLOW,
};

static void confine(void)
{
	if (confine_to(code, sizeof(code) / sizeof(code[0])) != 0)
		SKIP("filters of system calls are refused");
}

static void *be_killed(void *arg)
{
	for (;;)
		getppid();
	return arg;
}

static void *confine_and_be_killed(void *arg)
{
	confine();
	return be_killed(arg);
}

static void *leave(void *arg)
{
	__asm__ volatile("syscall" ::"a"(SYS_exit), "D"(0)
			 : "rcx", "r11", "memory");
	return arg;
}

/* Threads one after the other, each with its own filter. */
static void one_by_one(void)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		thread_join(thread_start(confine_and_be_killed, &code));
		thread_join(thread_start(leave, &code));
	}
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int nr_through;

static void *work(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		sleep_ms(1);
		pthread_mutex_unlock(&mutex);
	}
	atomic_fetch_add(&nr_through, 1);
	return arg;
}

static void start_all(void)
{
	pthread_t killed[NR], working[NR];

	for (int i = 0; i < NR; i++) {
		killed[i] = thread_start(i % 2 == 0 ? be_killed : leave, &code);
		working[i] = thread_start(work, &code);
	}
	for (int i = 0; i < NR; i++) {
		thread_join(killed[i]);
		CHECK(thread_join(working[i]) == &code);
	}
	CHECK_EQ(atomic_load(&nr_through), NR);
}

static void all_confined_before(void)
{
	confine();
	start_all();
}

static void all_confined_later(void)
{
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	pthread_t first = thread_start(work, &code);

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			 SECCOMP_FILTER_FLAG_TSYNC, &program),
		 0);
	thread_join(first);
	atomic_store(&nr_through, 0);
	start_all();
}

static void *lock_and_be_killed(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(arg), 0);
	return confine_and_be_killed(arg);
}

static void robust_mutex(void)
{
	pthread_mutex_t *m = map_robust(1, PTHREAD_PRIO_NONE);

	thread_join(thread_start(lock_and_be_killed, m));
	CHECK_EQ(pthread_mutex_lock(m), EOWNERDEAD);
}

static pthread_t first;

static void *outlive(void *arg)
{
	thread_join(first);
	thread_join(thread_start(be_killed, &code));
	_exit(STATUS);
	return arg;
}

static void first_is_killed(void)
{
	confine();
	first = pthread_self();
	thread_start(outlive, NULL);
	be_killed(NULL);
}

/* The last remaining thread is killed, after the others have ended. */
static void last_is_killed(void)
{
	confine();
	thread_join(thread_start(thread_nothing, NULL));
	be_killed(NULL);
}

int main(void)
{
	CHECK_EQ(child_exit_status(one_by_one), 0);
	puts("one after the other");
	CHECK_EQ(child_exit_status(all_confined_before), 0);
	CHECK_EQ(child_exit_status(all_confined_later), 0);
	puts("many at once");
	CHECK_EQ(child_exit_status(robust_mutex), 0);
	puts("with a mutex");
	CHECK_EQ(child_exit_status(first_is_killed), STATUS);
	puts("the first");
	CHECK_EQ(child_signal(last_is_killed), SIGSYS);
	puts("the last");
	return 0;
}
