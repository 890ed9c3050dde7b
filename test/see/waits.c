/* SPDX-License-Identifier: MIT */
/*
 * usage: waits N
 *
 * Makes N threads, each in a wait of another kind, and prints one line for each
 * thread: its tid, pthread_t, start routine, kind of wait, object and the tid
 * of the object's owner (0: none). Then "ready". Ends with its standard input.
 */
#include <pthread.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BARRIER = 1000000 };

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inherited, own = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem, helpers;
static uint32_t word;
static int channel[2];
static pid_t main_tid;
static pthread_mutex_t print = PTHREAD_MUTEX_INITIALIZER;
static sem_t printed;

static void tell(void *(*start)(void *), const char *kind, const void *object,
		 pid_t owner)
{
	pthread_mutex_lock(&print);
	printf("%d %#lx %#lx %s %#lx %d\n", (int)gettid(),
	       (unsigned long)pthread_self(), (unsigned long)start, kind,
	       (unsigned long)object, (int)owner);
	pthread_mutex_unlock(&print);
	sem_post(&printed);
}

static void *wait_mutex(void *arg)
{
	tell(wait_mutex, "mutex", &held, main_tid);
	pthread_mutex_lock(&held);
	return arg;
}

static void *wait_priority_mutex(void *arg)
{
	tell(wait_priority_mutex, "priority_mutex", &inherited, main_tid);
	pthread_mutex_lock(&inherited);
	return arg;
}

static void *wait_condition(void *arg)
{
	tell(wait_condition, "condition", &cond, 0);
	pthread_mutex_lock(&own);
	pthread_cond_wait(&cond, &own);
	return arg;
}

static void *wait_semaphore(void *arg)
{
	tell(wait_semaphore, "semaphore", &sem, 0);
	sem_wait(&sem);
	return arg;
}

static void *wait_read(void *arg)
{
	tell(wait_read, "rwlock_read", &rwlock, main_tid);
	pthread_rwlock_rdlock(&rwlock);
	return arg;
}

static void *wait_write(void *arg)
{
	tell(wait_write, "rwlock_write", &rwlock, main_tid);
	pthread_rwlock_wrlock(&rwlock);
	return arg;
}

static void *wait_barrier(void *arg)
{
	tell(wait_barrier, "barrier", &barrier, 0);
	pthread_barrier_wait(&barrier);
	return arg;
}

static void *help(void *arg)
{
	*(pid_t *)arg = gettid();
	tell(help, "semaphore", &helpers, 0);
	sem_post(&sem);
	sem_wait(&helpers);
	return NULL;
}

static pthread_t helper;
static pid_t helper_tid;

static void *wait_join(void *arg)
{
	tell(wait_join, "join", NULL, helper_tid);
	pthread_join(helper, NULL);
	return arg;
}

static void *wait_futex(void *arg)
{
	tell(wait_futex, "futex", &word, 0);
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return arg;
}

static void *wait_io(void *arg)
{
	char c;

	tell(wait_io, "io", NULL, 0);
	if (read(channel[0], &c, 1) != 1)
		return NULL;
	return arg;
}

static void *wait_sleep(void *arg)
{
	tell(wait_sleep, "sleep", NULL, 0);
	sleep(100000);
	return arg;
}

static void *wait_signal(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 5);
	tell(wait_signal, "signal", NULL, 0);
	sigwait(&set, &sig);
	return arg;
}

static void *(*const kinds[])(void *) = {
	wait_mutex, wait_priority_mutex, wait_condition, wait_semaphore,
	wait_read,  wait_write,		 wait_barrier,	 wait_futex,
	wait_io,    wait_sleep,		 wait_signal,
};
enum { NR_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void make(void *(*start)(void *), void *arg, pthread_t *ret_thread)
{
	if (pthread_create(ret_thread, NULL, start, arg) != 0) {
		perror("pthread_create");
		exit(1);
	}
	sem_wait(&printed);
}

static void init(void)
{
	pthread_mutexattr_t attr;
	sigset_t set;

	main_tid = gettid();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherited, &attr);
	pthread_barrier_init(&barrier, NULL, BARRIER);
	sem_init(&sem, 0, 0);
	sem_init(&helpers, 0, 0);
	sem_init(&printed, 0, 0);
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_mutex_lock(&held);
	pthread_mutex_lock(&inherited);
	pthread_rwlock_wrlock(&rwlock);
	if (pipe(channel) != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : NR_KINDS;
	pthread_t thread;
	char c;

	init();
	make(help, &helper_tid, &helper);
	sem_wait(&sem);
	make(wait_join, NULL, &thread);
	for (int i = 2; i < nr; i++)
		make(kinds[i % NR_KINDS], NULL, &thread);
	printf("descriptor %d\nready\n", channel[0]);
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	_exit(0);
}
