/* SPDX-License-Identifier: MIT */
/*
 * As many threads as the argument says, all with a deadline. They sleep, or
 * wait for a wake that only some of them get. No thread may wake too early or
 * be forgotten.
 *
 *     app_alarms [THREADS]
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STACK_BYTES (64 << 10)
#define LONGEST_MS 1500
#define FAR_AWAY_MS 3600000
#define NR_FORMS 5

struct sleeper {
	sem_t woken;
	long ms;
};

static struct sleeper *sleepers;
static long nr_sleepers;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static _Atomic long nr_early, nr_wrong;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct timespec after_ms(long ms)
{
	int64_t ns = now_ns() + (int64_t)ms * 1000000;

	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

static int wait_for_nothing(const struct timespec *until)
{
	int err = 0;

	pthread_mutex_lock(&mutex);
	while (err == 0)
		err = pthread_cond_clockwait(&never, &mutex, CLOCK_MONOTONIC,
					     until);
	pthread_mutex_unlock(&mutex);
	return err == ETIMEDOUT ? 0 : err;
}

/* Returns 0, or the error of a call that should not have failed so. */
static int sleep_somehow(struct sleeper *s, int form)
{
	struct timespec length = { s->ms / 1000, s->ms % 1000 * 1000000 };
	struct timespec until = after_ms(s->ms);
	struct timespec far = after_ms(FAR_AWAY_MS);

	switch (form) {
	case 0:
		return nanosleep(&length, NULL);
	case 1:
		return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
				       NULL);
	case 2:
		return wait_for_nothing(&until);
	case 3:
		if (sem_clockwait(&s->woken, CLOCK_MONOTONIC, &until) == 0)
			return -1;
		return errno == ETIMEDOUT ? 0 : errno;
	default:
		/* This thread is woken long before its deadline. */
		s->ms = 0;
		return sem_clockwait(&s->woken, CLOCK_MONOTONIC, &far);
	}
}

static void *sleep_once(void *arg)
{
	struct sleeper *s = arg;
	int64_t start_ns = now_ns();

	if (sleep_somehow(s, (int)((s - sleepers) % NR_FORMS)) != 0)
		nr_wrong++;
	if (now_ns() - start_ns < (int64_t)s->ms * 1000000)
		nr_early++;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t *threads;
	pthread_attr_t attr;

	nr_sleepers = argc > 1 ? atol(argv[1]) : 2000;
	sleepers = calloc((size_t)nr_sleepers, sizeof(*sleepers));
	threads = calloc((size_t)nr_sleepers, sizeof(*threads));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (long i = 0; i < nr_sleepers; i++) {
		struct sleeper *s = &sleepers[i];

		sem_init(&s->woken, 0, 0);
		s->ms = i * 7919 % LONGEST_MS;
		if (pthread_create(&threads[i], &attr, sleep_once, s) != 0) {
			printf("failed: pthread_create\n");
			return 1;
		}
	}
	for (long i = NR_FORMS - 1; i < nr_sleepers; i += NR_FORMS)
		sem_post(&sleepers[i].woken);
	for (long i = 0; i < nr_sleepers; i++)
		pthread_join(threads[i], NULL);
	printf("all woke, %ld too early, %ld for the wrong reason\n", nr_early,
	       nr_wrong);
	return 0;
}
