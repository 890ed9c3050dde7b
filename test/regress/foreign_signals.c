/* SPDX-License-Identifier: MIT */
/*
 * Signals to a thread of libc's own that is in the runtime. A signal of another
 * process, sent just before a wait, was delayed again and again: its handler
 * ran after the wait, or never. A signal of the kernel, such as a timer's
 * SIGALRM, ran its handler in the middle of the runtime. The handler then
 * waited for locks that its own thread held.
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "waiting.h"

enum { NR_SIGNALS = 8000, NR_ALARMS = 2000, NR_TAKERS = 4 };

static sem_t never, work, is_over;
static _Atomic int *nr_acked, *has_begun; /* shared with the sender */
static int nr_interrupted;
static _Atomic int nr_alarms;

static void on_sent(int sig, siginfo_t *info, void *context)
{
	++*nr_acked;
	if (sig == SIGUSR2)
		sem_post(&never);
}

static void on_alarm(int sig, siginfo_t *info, void *context)
{
	nr_alarms++;
	sem_post(&work);
}

static void open_all(void)
{
	sigset_t all;

	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &all, NULL), 0);
}

/* Only the handler of the last signal lacks SA_RESTART. */
static void wait_for_signals(union sigval unused)
{
	open_all();
	*has_begun = 1;
	while (*nr_acked < NR_SIGNALS) {
		if (sem_wait(&never) < 0)
			nr_interrupted++;
	}
	CHECK_EQ(sem_post(&is_over), 0);
}

static void wake_others(union sigval unused)
{
	const struct itimerval period = { { 0, 100 }, { 0, 100 } };
	const struct itimerval stop = { { 0, 0 }, { 0, 0 } };

	open_all();
	CHECK_EQ(setitimer(ITIMER_REAL, &period, NULL), 0);
	while (nr_alarms < NR_ALARMS)
		CHECK_EQ(sem_post(&work), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &stop, NULL), 0);
	CHECK_EQ(sem_post(&is_over), 0);
}

/* Runs fn on a thread that libc makes. */
static void run(void (*fn)(union sigval))
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD,
				  .sigev_notify_function = fn };
	const struct itimerspec soon = { .it_value = { 0, NS_PER_MS } };
	timer_t timer;

	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(timer_settime(timer, 0, &soon, NULL), 0);
	CHECK_EQ(sem_wait(&is_over), 0);
	CHECK_EQ(timer_delete(timer), 0);
}

static int send_all(pid_t receiver)
{
	while (!*has_begun)
		sleep_ms(1);
	for (int i = 1; i <= NR_SIGNALS; i++) {
		CHECK_EQ(kill(receiver, i < NR_SIGNALS ? SIGUSR1 : SIGUSR2), 0);
		await_count(nr_acked, i);
		/*
		 * The delay varies, so the signal meets each point of the wait.
		 */
		for (volatile int j = 0; j < i % 200 * 10; j++)
			;
	}
	return 0;
}

static void *take_work(void *arg)
{
	for (;;)
		CHECK_EQ(sem_wait(&work), 0);
	return arg;
}

int main(void)
{
	pthread_t takers[NR_TAKERS];
	int status;
	pid_t sender;

	nr_acked = mmap(NULL, 2 * sizeof(*nr_acked), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(nr_acked != MAP_FAILED);
	has_begun = nr_acked + 1;
	block(SIGUSR1);
	block(SIGUSR2);
	block(SIGALRM);
	handle(SIGUSR1, on_sent, SA_RESTART);
	handle(SIGUSR2, on_sent, 0);
	handle(SIGALRM, on_alarm, SA_RESTART);
	CHECK_EQ(sem_init(&never, 0, 0), 0);
	CHECK_EQ(sem_init(&work, 0, 0), 0);
	CHECK_EQ(sem_init(&is_over, 0, 0), 0);
	sender = fork();
	if (sender == 0)
		_exit(send_all(getppid()));
	threads_start(takers, NR_TAKERS, take_work, NULL);
	run(wait_for_signals);
	CHECK_EQ(waitpid(sender, &status, 0), sender);
	CHECK_EQ(status, 0);
	CHECK(nr_interrupted <= 1);
	run(wake_others);
	puts("all were handled");
	return 0;
}
