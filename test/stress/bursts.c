/* SPDX-License-Identifier: MIT */
/*
 * Everything at once: timers that start threads, signals to ending threads,
 * alarms, jumps out of handlers from an alternate stack, and coroutines that
 * threads pass on.
 */
#include "stress.h"

#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#define NR_WORKERS 6
#define JUMP_SIGNAL (SIGRTMIN + 4)

static _Atomic long nr_handled;

/* --- timers that make threads --------------------------------------------- */

struct burst {
	sem_t sem;
	_Atomic int nr;
};

static void count_expiry(union sigval value)
{
	struct burst *b = value.sival_ptr;

	b->nr++;
	CHECK_EQ(sem_post(&b->sem), 0);
}

/* Each timer expires once, and the thread that it starts runs to its end. */
static void burst_of_timers(uint64_t *random)
{
	enum { MOST = 20 };
	/* Never freed: libc's threads may still be on their way out. */
	struct burst *own = calloc(1, sizeof(*own));
	struct sigevent event = { .sigev_notify = SIGEV_THREAD,
				  .sigev_notify_function = count_expiry,
				  .sigev_value.sival_ptr = own };
	long nr = 1 + random_below(random, MOST);
	timer_t timers[MOST];

	CHECK(own != NULL);
	CHECK_EQ(sem_init(&own->sem, 0, 0), 0);
	for (long i = 0; i < nr; i++) {
		struct itimerspec spec = {
			{ 0, 0 }, { 0, 1 + random_below(random, 300000) }
		};

		CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timers[i]), 0);
		CHECK_EQ(timer_settime(timers[i], 0, &spec, NULL), 0);
	}
	for (long i = 0; i < nr; i++)
		while (sem_wait(&own->sem) < 0)
			CHECK_EQ(errno, EINTR);
	for (long i = 0; i < nr; i++)
		CHECK_EQ(timer_delete(timers[i]), 0);
	CHECK_EQ(own->nr, nr);
}

/* --- signals to threads that end ------------------------------------------ */

static void count_signal(int sig)
{
	nr_handled++;
}

static void *end_soon(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	stress_disturb(&random);
	return NULL;
}

static void storm(uint64_t *random)
{
	enum { NR = 8 };
	pthread_t threads[NR];

	for (int i = 0; i < NR; i++)
		threads[i] =
			thread_start(end_soon, (void *)random_next(random));
	for (long i = random_below(random, 100); i > 0; i--) {
		int err = pthread_kill(threads[random_below(random, NR)],
				       SIGUSR1 + (int)random_below(random, 2) *
							 (SIGUSR2 - SIGUSR1));

		CHECK(err == 0 || err == ESRCH);
	}
	threads_join(threads, NR);
}

static void set_alarm(uint64_t *random)
{
	struct itimerval soon = { { 0, 0 },
				  { 0, 1 + random_below(random, 2000) } };

	CHECK_EQ(setitimer(ITIMER_REAL, &soon, NULL), 0);
	stress_disturb(random);
}

/* --- jumps from an alternate stack ---------------------------------------- */

static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t may_jump;

static void jump_back(int sig)
{
	char here;
	stack_t stack;

	if (!may_jump)
		return;
	CHECK_EQ(sigaltstack(NULL, &stack), 0);
	CHECK((stack.ss_flags & SS_ONSTACK) != 0);
	CHECK(&here >= (char *)stack.ss_sp &&
	      &here < (char *)stack.ss_sp + stack.ss_size);
	may_jump = 0;
	siglongjmp(back, 1);
}

static void *jump_often(void *arg)
{
	enum { BYTES = 64 << 10 };
	volatile uint64_t random = (uintptr_t)arg;
	stack_t stack = { malloc(BYTES), 0, BYTES };
	volatile int nr_jumps = 0;

	CHECK(stack.ss_sp != NULL);
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
	while (nr_jumps < 20) {
		uint64_t state = random;

		if (sigsetjmp(back, 1) != 0) {
			nr_jumps++;
			continue;
		}
		may_jump = 1;
		if (random_below(&state, 2))
			pthread_kill(pthread_self(), JUMP_SIGNAL);
		else
			raise(JUMP_SIGNAL);
		stress_disturb(&state);
		may_jump = 0;
		random = state;
	}
	stack.ss_flags = SS_DISABLE;
	CHECK_EQ(sigaltstack(&stack, NULL), 0);
	free(stack.ss_sp);
	return NULL;
}

static void jumps(uint64_t *random)
{
	thread_join(thread_start(jump_often, (void *)random_next(random)));
}

/* --- coroutines ----------------------------------------------------------- */

struct coroutine {
	ucontext_t own, caller;
	uint64_t random;
	long sum;
	bool is_over;
	char stack[64 << 10];
};

static void run_coroutine(unsigned int low, unsigned int high)
{
	struct coroutine *c = (struct coroutine *)((uintptr_t)high << 32 | low);

	for (int i = 1; i <= 10; i++) {
		stress_disturb(&c->random);
		c->sum += i;
		CHECK_EQ(swapcontext(&c->own, &c->caller), 0);
	}
	c->is_over = true;
}

static void *resume_some(void *arg)
{
	struct coroutine *c = arg;

	for (long i = 1 + random_below(&c->random, 4); i > 0 && !c->is_over;
	     i--)
		CHECK_EQ(swapcontext(&c->caller, &c->own), 0);
	return NULL;
}

/* One thread after the other continues the coroutine. */
static void coroutines(uint64_t *random)
{
	struct coroutine *c = calloc(1, sizeof(*c));

	CHECK(c != NULL);
	c->random = random_next(random);
	CHECK_EQ(getcontext(&c->own), 0);
	c->own.uc_stack.ss_sp = c->stack;
	c->own.uc_stack.ss_size = sizeof(c->stack);
	c->own.uc_link = &c->caller;
	makecontext(&c->own, (void (*)(void))run_coroutine, 2,
		    (unsigned int)(uintptr_t)c,
		    (unsigned int)((uintptr_t)c >> 32));
	while (!c->is_over) {
		if (random_below(random, 2))
			resume_some(c);
		else
			thread_join(thread_start(resume_some, c));
	}
	CHECK_EQ(c->sum, 55);
	free(c);
}

/* --- all ------------------------------------------------------------------ */

static void (*const acts[])(uint64_t *) = { burst_of_timers, storm, set_alarm,
					    jumps, coroutines };

int main(int argc, char **argv)
{
	const struct sigaction count = { .sa_handler = count_signal,
					 .sa_flags = SA_RESTART },
			       jump = { .sa_handler = jump_back,
					.sa_flags = SA_ONSTACK };
	pthread_t workers[NR_WORKERS];

	stress_begin(argc, argv);
	CHECK_EQ(sigaction(SIGUSR1, &count, NULL), 0);
	CHECK_EQ(sigaction(SIGUSR2, &count, NULL), 0);
	CHECK_EQ(sigaction(SIGALRM, &count, NULL), 0);
	CHECK_EQ(sigaction(JUMP_SIGNAL, &jump, NULL), 0);
	stress_mix((struct stress_mixture){ acts, 5, stress_scale(200) },
		   workers, NR_WORKERS);
	return stress_end();
}
