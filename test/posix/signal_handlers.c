/* SPDX-License-Identifier: MIT */
/*
 * Handlers that jump out, run on an alternate stack, or call the library; and
 * the actions that the program reads back.
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "check.h"
#include "child.h"
#include "signalling.h"
#include "threading.h"

static _Atomic int nr_handled;

static void note(int sig, siginfo_t *info, void *context)
{
	nr_handled++;
}

/* --- jumps ---------------------------------------------------------------- */

static __thread sigjmp_buf back;
static volatile int *volatile nowhere = (volatile int *)8;

static void jump_back(int sig, siginfo_t *info, void *context)
{
	siglongjmp(back, 1);
}

static void *jump_out(void *arg)
{
	volatile int nr = 0;
	sigset_t now;

	while (nr < 100) {
		if (sigsetjmp(back, 1) == 0) {
			if (nr & 1)
				CHECK_EQ(raise(SIGUSR1), 0);
			else
				*nowhere = 1;
			CHECK(false);
		}
		nr = nr + 1;
		CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
		CHECK(!sigismember(&now, SIGUSR1));
		CHECK(!sigismember(&now, SIGSEGV));
	}
	return arg;
}

TEST(handlers_jump_out)
{
	pthread_t threads[6];

	handle(SIGUSR1, jump_back, 0);
	handle(SIGSEGV, jump_back, 0);
	threads_start(threads, 6, jump_out, NULL);
	threads_join(threads, 6);
}

static __thread char *stack_of_handlers;
enum { HANDLER_STACK = 65536 };

static void climb(int sig, siginfo_t *info, void *context)
{
	stack_t now;
	char here;

	CHECK(&here >= stack_of_handlers &&
	      &here < stack_of_handlers + HANDLER_STACK);
	CHECK_EQ(sigaltstack(NULL, &now), 0);
	CHECK(now.ss_flags & SS_ONSTACK);
	siglongjmp(back, 1);
}

static int sink(int depth)
{
	volatile char room[4096];

	room[0] = (char)depth;
	if (depth < 0)
		return 0;
	return sink(depth + 1) + room[0];
}

static void *overflow(void *arg)
{
	stack_t mine = { .ss_size = HANDLER_STACK };

	stack_of_handlers = mine.ss_sp = malloc(HANDLER_STACK);
	CHECK_EQ(sigaltstack(&mine, NULL), 0);
	for (volatile int i = 0; i < 5; i = i + 1) {
		if (sigsetjmp(back, 1) == 0)
			sink(0);
		sched_yield();
	}
	return arg;
}

TEST(overflow_is_handled)
{
	pthread_attr_t attr;
	pthread_t threads[4];

	handle(SIGSEGV, climb, SA_ONSTACK);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 128 * 1024), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], &attr, overflow, NULL), 0);
	threads_join(threads, 4);
}

static void change_stack(int sig)
{
	stack_t now, other = { .ss_size = HANDLER_STACK };

	other.ss_sp = malloc(HANDLER_STACK);
	CHECK_ERRNO(sigaltstack(&other, NULL), EPERM);
	CHECK_EQ(sigaltstack(NULL, &now), 0);
	CHECK(now.ss_sp == stack_of_handlers);
	free(other.ss_sp);
}

static void *change_stack_on_it(void *arg)
{
	stack_t mine = { .ss_size = HANDLER_STACK };

	stack_of_handlers = mine.ss_sp = malloc(HANDLER_STACK);
	CHECK_EQ(sigaltstack(&mine, NULL), 0);
	CHECK_EQ(raise(SIGUSR1), 0);
	mine.ss_flags = SS_DISABLE;
	CHECK_EQ(sigaltstack(&mine, NULL), 0);
	free(stack_of_handlers);
	return arg;
}

TEST(stack_in_use_stays)
{
	CHECK_EQ(sigaction(SIGUSR1,
			   &(struct sigaction){ .sa_handler = change_stack,
						.sa_flags = SA_ONSTACK },
			   NULL),
		 0);
	thread_join(thread_start(change_stack_on_it, NULL));
}

static int ticks[2];

/*
 * The third tick ends the read if SA_RESTART has continued it after the first.
 */
static void tick(int sig)
{
	static int nr;

	if (++nr == 3)
		CHECK_EQ(write(ticks[1], "x", 1), 1);
}

static void read_beside_ticks(int flags, int nr_expected)
{
	const struct itimerval often = { { 0, 50000 }, { 0, 50000 } };
	char byte;

	CHECK_EQ(pipe(ticks), 0);
	CHECK_EQ(sigaction(SIGALRM,
			   &(struct sigaction){ .sa_handler = tick,
						.sa_flags = flags },
			   NULL),
		 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	errno = 0;
	CHECK_EQ(read(ticks[0], &byte, 1), nr_expected);
	CHECK_EQ(errno, nr_expected < 0 ? EINTR : 0);
}

TEST(interrupted_before_there_are_threads)
{
	read_beside_ticks(0, -1);
}

TEST(started_again_before_there_are_threads)
{
	read_beside_ticks(SA_RESTART, 1);
}

/* --- actions -------------------------------------------------------------- */

TEST(actions_are_reported)
{
	struct sigaction action, old;

	thread_join(thread_start(thread_nothing, NULL));
	handle(SIGUSR1, note, SA_RESTART | SA_ONSTACK);
	CHECK_EQ(sigaction(SIGUSR1, NULL, &action), 0);
	CHECK(action.sa_sigaction == note);
	CHECK_EQ(action.sa_flags & ~0x04000000,
		 SA_SIGINFO | SA_RESTART | SA_ONSTACK);
	CHECK(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	CHECK_EQ(sigaction(SIGSEGV, NULL, &old), 0);
	CHECK(old.sa_handler == SIG_DFL);
	handle(SIGUSR2, note, SA_RESETHAND);
	CHECK_EQ(raise(SIGUSR2), 0);
	CHECK_EQ(sigaction(SIGUSR2, NULL, &old), 0);
	CHECK(old.sa_handler == SIG_DFL);
	CHECK_ERRNO(sigaction(SIGKILL, &action, NULL), EINVAL);
	CHECK_ERRNO(sigaction(32, &action, NULL), EINVAL);
	CHECK_ERRNO(sigaction(33, &action, NULL), EINVAL);
	CHECK_ERRNO(sigaction(65, &action, NULL), EINVAL);
}

static void die_of_abort(void)
{
	handle(SIGABRT, note, 0);
	thread_join(thread_start((void *(*)(void *))abort, NULL));
}

TEST(abort_kills_although_handled)
{
	CHECK_EQ(child_signal(die_of_abort), SIGABRT);
}

/* --- the library in handlers ---------------------------------------------- */

static sem_t permits;
static _Atomic int nr_posted, is_over;

static void post(int sig, siginfo_t *info, void *context)
{
	CHECK_EQ(sem_post(&permits), 0);
	nr_posted++;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long shared;

static void *work(void *arg)
{
	long nr = 0;

	while (!is_over) {
		CHECK_EQ(pthread_mutex_lock(&mutex), 0);
		shared++;
		if (++nr % 7 == 0)
			sched_yield();
		CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
		free(malloc(100));
	}
	return (void *)nr;
}

static void *take_permits(void *arg)
{
	int nr = 0;

	while (!is_over) {
		if (sem_wait(&permits) == 0)
			nr++;
		else
			CHECK_EQ(errno, EINTR);
	}
	return (void *)(intptr_t)nr;
}

/* Signals hit the threads everywhere, also inside weft. */
TEST(handlers_post)
{
	enum { NR = 6 };
	pthread_t workers[NR], taker;
	int64_t start = now_ns();
	long nr = 0, taken;
	int left;

	CHECK_EQ(sem_init(&permits, 0, 0), 0);
	handle(SIGUSR1, post, SA_RESTART);
	handle(SIGRTMIN + 3, post, 0);
	taker = thread_start(take_permits, NULL);
	threads_start(workers, NR, work, NULL);
	for (int i = 0; elapsed_ms(start) < 300; i++) {
		int sig = i & 1 ? SIGUSR1 : SIGRTMIN + 3;

		CHECK_EQ(pthread_kill(workers[i % NR], sig), 0);
		CHECK_EQ(pthread_kill(taker, sig), 0);
		if (i % NR == 0)
			sched_yield();
	}
	is_over = 1;
	for (int i = 0; i < NR; i++)
		nr += (long)thread_join(workers[i]);
	CHECK_EQ(nr, shared);
	CHECK_EQ(sem_post(&permits), 0);
	taken = (long)thread_join(taker);
	CHECK_EQ(sem_getvalue(&permits, &left), 0);
	CHECK_EQ(taken + left, nr_posted + 1);
	CHECK(nr_posted > 100);
}
