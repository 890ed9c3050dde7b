/* SPDX-License-Identifier: MIT */
/*
 * Several threads try one process-shared mutex with a priority ceiling at once.
 * The thread that locks it keeps the ceiling until its unlock, whatever the
 * failing threads do.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>

#include "check.h"
#include "threading.h"

enum { NR_THREADS = 4, NR_TURNS = 20000, OWN = 5, CEILING = 40 };

static pthread_mutex_t *mutex;
static _Atomic bool is_refused;

static int priority(void)
{
	struct sched_param param;

	CHECK_EQ(sched_getparam(0, &param), 0);
	return param.sched_priority;
}

static void *take_turns(void *arg)
{
	const struct sched_param param = { .sched_priority = OWN };

	if (pthread_setschedparam(pthread_self(), SCHED_RR, &param) != 0) {
		is_refused = true;
		return arg;
	}
	for (int i = 0; i < NR_TURNS; i++) {
		if (pthread_mutex_trylock(mutex) != 0) {
			sched_yield();
			continue;
		}
		CHECK_EQ(priority(), CEILING);
		CHECK_EQ(pthread_mutex_unlock(mutex), 0);
		CHECK_EQ(priority(), OWN);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	pthread_mutexattr_t attr;

	mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(mutex != MAP_FAILED);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT);
	pthread_mutexattr_setprioceiling(&attr, CEILING);
	CHECK_EQ(pthread_mutex_init(mutex, &attr), 0);
	threads_start(threads, NR_THREADS, take_turns, NULL);
	threads_join(threads, NR_THREADS);
	if (is_refused) {
		printf("no real-time policies here\n");
		return 77;
	}
	puts("ok");
	return 0;
}
