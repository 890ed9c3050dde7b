/* SPDX-License-Identifier: MIT */
/*
 * Threads wait for mutexes, a condition and a semaphore, and handlers jump out
 * of the waits at any moment. A thread that has left holds no lock, and the
 * condition can be destroyed. A permit may only be lost between a call's end
 * and the note of it.
 *
 * No handler jumps where a mutex is locked and its owner not yet noted. A
 * thread that leaves there cannot know that it holds the lock, natively as on
 * weft, and all threads would wait for it for ever.
 */
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>

#include "signalling.h"
#include "stress.h"

enum { NR_THREADS = 12, NR_LOCKS = 3, LIMIT_NS = 3000000 };

static pthread_mutex_t locks[NR_LOCKS], guard;
static pthread_cond_t cond;
static sem_t sem;
static _Atomic bool is_over;
static _Atomic long nr_jumps, nr_posted, nr_got;

static __thread sigjmp_buf env;
static __thread volatile bool may_jump;
static __thread pthread_mutex_t *volatile wanted; /* or NULL */

/* May this thread have locked m without having noted that? */
static bool may_be_half_locked(const pthread_mutex_t *m)
{
	return __atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED) != 0 &&
	       __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED) == 0;
}

static void jump_out(int sig, siginfo_t *info, void *context)
{
	if (!may_jump || (wanted != NULL && may_be_half_locked(wanted)))
		return;
	may_jump = false;
	nr_jumps++;
	siglongjmp(env, 1);
}

static struct timespec soon(void)
{
	return ts_after_ns(deadline_ms(CLOCK_MONOTONIC, 0), LIMIT_NS);
}

static void use_lock(pthread_mutex_t *m, bool yields)
{
	wanted = m;
	may_jump = true;
	CHECK_EQ(pthread_mutex_lock(m), 0);
	may_jump = false;
	if (yields)
		sched_yield();
	CHECK_EQ(pthread_mutex_unlock(m), 0);
}

static void await_condition(void)
{
	struct timespec until = soon();

	CHECK_EQ(pthread_mutex_lock(&guard), 0);
	wanted = &guard;
	may_jump = true;
	pthread_cond_clockwait(&cond, &guard, CLOCK_MONOTONIC, &until);
	may_jump = false;
	CHECK_EQ(pthread_mutex_unlock(&guard), 0);
}

static void take_permit(void)
{
	struct timespec until = soon();

	wanted = NULL;
	may_jump = true;
	if (sem_clockwait(&sem, CLOCK_MONOTONIC, &until) == 0)
		nr_got++;
	may_jump = false;
}

static void wake_others(bool with_permit)
{
	if (with_permit) {
		CHECK_EQ(sem_post(&sem), 0);
		nr_posted++;
		return;
	}
	CHECK_EQ(pthread_mutex_lock(&guard), 0);
	CHECK_EQ(pthread_cond_signal(&cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&guard), 0);
}

static void step(long kind, long choice)
{
	if (kind < NR_LOCKS)
		use_lock(&locks[kind], choice == 0);
	else if (kind == NR_LOCKS)
		await_condition();
	else if (kind == NR_LOCKS + 1)
		take_permit();
	else
		wake_others(choice % 2 == 0);
}

/*
 * An error-checking mutex shows whether the jump came before or after the
 * thread had locked it. A jump out of the end of a condition wait, where the
 * mutex is locked again, may leave it unlocked.
 */
static void give_back(long kind)
{
	pthread_mutex_t *m = kind < NR_LOCKS ? &locks[kind] : &guard;

	if (kind <= NR_LOCKS) {
		int err = pthread_mutex_unlock(m);

		CHECK(err == 0 || err == EPERM);
	}
}

static void *wait_and_leave(void *arg)
{
	static __thread uint64_t random;

	random = random_start((intptr_t)arg);
	while (!is_over) {
		volatile long kind = random_below(&random, NR_LOCKS + 3);
		long choice = random_below(&random, 4);

		if (sigsetjmp(env, 1) == 0)
			step(kind, choice);
		else
			give_back(kind);
	}
	return NULL;
}

static void make_mutex(pthread_mutex_t *m, int protocol)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, protocol), 0);
	CHECK_EQ(pthread_mutex_init(m, &attr), 0);
}

static void make_objects(void)
{
	for (int i = 0; i < NR_LOCKS; i++)
		make_mutex(&locks[i],
			   i == 1 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
	make_mutex(&guard, PTHREAD_PRIO_NONE);
	CHECK_EQ(pthread_cond_init(&cond, NULL), 0);
	CHECK_EQ(sem_init(&sem, 0, 0), 0);
}

static void signal_at_random(const pthread_t *threads)
{
	uint64_t random = random_start(NR_THREADS);
	long nr = stress_scale(10000);

	for (long i = 0; i < nr; i++) {
		long which = random_below(&random, NR_THREADS);

		CHECK_EQ(pthread_kill(threads[which], SIGUSR1), 0);
		usleep((useconds_t)random_below(&random, 200));
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];
	int left;

	stress_begin(argc, argv);
	make_objects();
	handle(SIGUSR1, jump_out, 0);
	threads_start_numbered(threads, NR_THREADS, wait_and_leave);
	signal_at_random(threads);
	is_over = true;
	threads_join(threads, NR_THREADS);
	for (int i = 0; i < NR_LOCKS; i++)
		CHECK_EQ(pthread_mutex_trylock(&locks[i]), 0);
	CHECK_EQ(pthread_mutex_trylock(&guard), 0);
	CHECK_EQ(pthread_cond_destroy(&cond), 0);
	CHECK_EQ(sem_getvalue(&sem, &left), 0);
	CHECK(nr_jumps > 0);
	CHECK(nr_got + left <= nr_posted);
	CHECK(nr_posted - nr_got - left <= 2 + nr_jumps / 1000);
	return stress_end();
}
