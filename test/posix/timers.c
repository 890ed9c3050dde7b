/* SPDX-License-Identifier: MIT */
/* POSIX timers in programs with threads, of each kind of notification. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "signalling.h"
#include "threading.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { NR_THREADS = 4 };

static _Atomic int nr_handled;
static _Atomic int nr_wrong;
static siginfo_t last_info;
static __thread int own_number;

static void note(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	last_info = *info;
	nr_handled++;
}

static timer_t make_timer(clockid_t clock, struct sigevent event)
{
	timer_t timer;

	CHECK_EQ(timer_create(clock, &event, &timer), 0);
	return timer;
}

static timer_t timer_for(pid_t tid, int sig, int value)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = sig,
		.sigev_value.sival_int = value,
	};

	event.sigev_notify_thread_id = tid;
	return make_timer(CLOCK_MONOTONIC, event);
}

static void arm(timer_t timer, long first_ms, long period_ms)
{
	struct itimerspec spec = {
		.it_value = { 0, first_ms * NS_PER_MS },
		.it_interval = { 0, period_ms * NS_PER_MS },
	};

	CHECK_EQ(timer_settime(timer, 0, &spec, NULL), 0);
}

static __thread _Atomic int nr_mine;

static void note_owner(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (info->si_code != SI_TIMER || info->si_value.sival_int != own_number)
		nr_wrong++;
	nr_mine++;
}

static void *with_own_timer(void *arg)
{
	volatile double x = 1;
	bool computes = (intptr_t)arg % 2 == 0;
	timer_t timer;

	own_number = (int)(intptr_t)arg;
	timer = timer_for(gettid(), SIGRTMIN + 1, own_number);
	arm(timer, 3, 3);
	while (nr_mine < 5) {
		if (computes)
			x = x * 1.0000001 + 1;
		else
			sleep_ms(1);
	}
	CHECK_EQ(timer_delete(timer), 0);
	return NULL;
}

TEST(timers_of_threads)
{
	pthread_t threads[NR_THREADS];

	own_number = -1;
	handle(SIGRTMIN + 1, note_owner, SA_RESTART);
	threads_start_numbered(threads, NR_THREADS, with_own_timer);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(nr_wrong, 0);
}

static void *wait_for_timer(void *arg)
{
	sigset_t set = set_of(SIGRTMIN + 2);
	siginfo_t info;
	timer_t timer;

	timer = timer_for(gettid(), SIGRTMIN + 2, 77);
	arm(timer, 20, 0);
	CHECK_EQ(sigwaitinfo(&set, &info), SIGRTMIN + 2);
	CHECK_EQ(info.si_code, SI_TIMER);
	CHECK_EQ(info.si_value.sival_int, 77);
	CHECK_EQ(timer_getoverrun(timer), 0);
	CHECK_EQ(timer_delete(timer), 0);
	return arg;
}

TEST(timer_of_a_thread_in_sigwait)
{
	block(SIGRTMIN + 2);
	thread_join(thread_start(wait_for_timer, NULL));
	wait_for_timer(NULL);
}

/*
 * A timer that expires several times before the signal is taken sends one
 * signal.
 */
static void *count_overruns(void *arg)
{
	sigset_t set = set_of(SIGRTMIN + 2);
	siginfo_t info;
	timer_t timer = timer_for(gettid(), SIGRTMIN + 2, 78);

	arm(timer, 1, 1);
	sleep_ms(60);
	CHECK_EQ(sigwaitinfo(&set, &info), SIGRTMIN + 2);
	CHECK(info.si_overrun > 5);
	CHECK(timer_getoverrun(timer) > 5);
	CHECK_EQ(timer_delete(timer), 0);
	return arg;
}

TEST(overruns_of_a_threads_timer)
{
	block(SIGRTMIN + 2);
	thread_join(thread_start(count_overruns, NULL));
}

/* The signal is blocked when there are threads, before the timer starts. */
TEST(overruns_of_the_processs_timer)
{
	const struct itimerspec often = { { 0, NS_PER_MS }, { 0, NS_PER_MS } };
	const sigset_t set = set_of(SIGUSR1);
	siginfo_t info;
	timer_t timer;

	have_threads();
	block(SIGUSR1);
	timer = make_timer(CLOCK_MONOTONIC,
			   (struct sigevent){ .sigev_notify = SIGEV_SIGNAL,
					      .sigev_signo = SIGUSR1 });
	CHECK_EQ(timer_settime(timer, 0, &often, NULL), 0);
	sleep_ms(50);
	CHECK_EQ(sigwaitinfo(&set, &info), SIGUSR1);
	CHECK_EQ(info.si_code, SI_TIMER);
	CHECK(info.si_overrun > 5);
	CHECK(timer_getoverrun(timer) > 5);
	CHECK_EQ(timer_delete(timer), 0);
}

static void *tid_of_self(void *arg)
{
	*(pid_t *)arg = gettid();
	return NULL;
}

TEST(timer_of_a_thread_that_has_ended)
{
	struct sigevent event;
	timer_t timer;
	pid_t tid;

	thread_join(thread_start(tid_of_self, &tid));
	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGUSR1;
	event.sigev_notify_thread_id = tid;
	CHECK_ERRNO(timer_create(CLOCK_MONOTONIC, &event, &timer), EINVAL);
}

static void notify(union sigval value)
{
	nr_handled += value.sival_int;
}

TEST(timer_that_starts_threads)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD,
		.sigev_value.sival_int = 1,
	};
	timer_t timer;

	have_threads();
	event.sigev_notify_function = notify;
	timer = make_timer(CLOCK_MONOTONIC, event);
	arm(timer, 2, 2);
	await_count(&nr_handled, 5);
	CHECK_EQ(timer_delete(timer), 0);
}

TEST(timer_without_notification)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	struct itimerspec left;
	timer_t timer;

	have_threads();
	timer = make_timer(CLOCK_MONOTONIC, event);
	arm(timer, 10, 0);
	sleep_ms(30);
	CHECK_EQ(timer_gettime(timer, &left), 0);
	CHECK_EQ(left.it_value.tv_nsec, 0);
	CHECK_EQ(timer_delete(timer), 0);
	CHECK_ERRNO(timer_delete(timer), EINVAL);
}

TEST(timer_of_the_process)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGUSR1,
		.sigev_value.sival_int = 5,
	};
	timer_t timer;

	handle(SIGUSR1, note, SA_RESTART);
	have_threads();
	timer = make_timer(CLOCK_REALTIME, event);
	arm(timer, 2, 2);
	await_count(&nr_handled, 3);
	CHECK_EQ(timer_delete(timer), 0);
	CHECK_EQ(last_info.si_code, SI_TIMER);
	CHECK_EQ(last_info.si_value.sival_int, 5);
}

/* --- on the CPU clocks of threads -------------------------------------*/

enum { CPU_MS = 20 };

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	CHECK_EQ(clock_gettime(clock, &ts), 0);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static struct sigevent to_self(int sig)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = sig,
		.sigev_value.sival_int = own_number,
	};

	event.sigev_notify_thread_id = gettid();
	return event;
}

/* The timer counts neither other threads' time nor this thread's waits. */
static void *time_self(void *arg)
{
	int64_t start;
	timer_t timer;

	own_number = (int)(intptr_t)arg;
	timer = make_timer(CLOCK_THREAD_CPUTIME_ID, to_self(SIGRTMIN + 1));
	start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	arm(timer, CPU_MS, 0);
	sleep_ms(2 * CPU_MS);
	while (nr_mine == 0 &&
	       clock_ns(CLOCK_THREAD_CPUTIME_ID) - start < 1000 * NS_PER_MS)
		;
	CHECK_EQ(nr_mine, 1);
	CHECK(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start >= CPU_MS * NS_PER_MS);
	CHECK_EQ(timer_delete(timer), 0);
	return NULL;
}

TEST(timers_on_own_clocks)
{
	pthread_t threads[NR_THREADS];

	own_number = -1;
	handle(SIGRTMIN + 1, note_owner, SA_RESTART);
	threads_start_numbered(threads, NR_THREADS, time_self);
	threads_join(threads, NR_THREADS);
	time_self((void *)77);
	CHECK_EQ(nr_wrong, 0);
}

static void *time_far_away(void *arg)
{
	const struct itimerspec spec = { .it_value = { 10000000000, 0 } };
	timer_t timer =
		make_timer(CLOCK_THREAD_CPUTIME_ID,
			   (struct sigevent){ .sigev_notify = SIGEV_NONE });
	struct itimerspec left;

	CHECK_EQ(timer_settime(timer, TIMER_ABSTIME, &spec, NULL), 0);
	CHECK_EQ(timer_gettime(timer, &left), 0);
	CHECK(left.it_value.tv_sec > INT32_MAX);
	CHECK_EQ(timer_delete(timer), 0);
	return arg;
}

/* In nanoseconds this time overflows 64 bits. */
TEST(time_far_away_on_own_clock)
{
	thread_join(thread_start(time_far_away, NULL));
}

/* The first thread's clock continues when there are other threads. */
TEST(timer_on_the_first_clock)
{
	int64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	timer_t timer;

	handle(SIGUSR1, note, SA_RESTART);
	timer = make_timer(CLOCK_THREAD_CPUTIME_ID,
			   (struct sigevent){ .sigev_notify = SIGEV_SIGNAL,
					      .sigev_signo = SIGUSR1 });
	arm(timer, CPU_MS, 0);
	have_threads();
	sleep_ms(2 * CPU_MS);
	while (nr_handled == 0)
		CHECK(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start <
		      1000 * NS_PER_MS);
	CHECK(clock_ns(CLOCK_THREAD_CPUTIME_ID) - start >= CPU_MS * NS_PER_MS);
	CHECK_EQ(timer_delete(timer), 0);
}

static _Atomic int has_to_compute, is_over;

static void *compute_when_told(void *arg)
{
	while (!has_to_compute)
		sleep_ms(1);
	while (!is_over)
		;
	return arg;
}

static void time_another(int flags, struct sigevent event)
{
	pthread_t worker = thread_start(compute_when_told, NULL);
	struct itimerspec spec = { .it_value = { 0, CPU_MS * NS_PER_MS } };
	int64_t start;
	clockid_t clock;
	timer_t timer;

	CHECK_EQ(pthread_getcpuclockid(worker, &clock), 0);
	timer = make_timer(clock, event);
	start = clock_ns(clock);
	if (flags == TIMER_ABSTIME)
		spec.it_value = ts_after_ns((struct timespec){ 0, 0 },
					    start + CPU_MS * NS_PER_MS);
	nr_handled = 0;
	CHECK_EQ(timer_settime(timer, flags, &spec, NULL), 0);
	sleep_ms(2 * CPU_MS);
	CHECK_EQ(nr_handled, 0);
	CHECK_EQ(timer_gettime(timer, &spec), 0);
	CHECK(spec.it_value.tv_nsec > 0);
	has_to_compute = 1;
	await_count(&nr_handled, 1);
	/* The kernel checks these timers at its ticks, so allow some error. */
	CHECK(clock_ns(clock) - start >= CPU_MS * NS_PER_MS / 2);
	CHECK_EQ(timer_delete(timer), 0);
	is_over = 1;
	thread_join(worker);
	is_over = has_to_compute = 0;
	/* Natively the clock exists for a moment after the join. */
	for (int i = 0; i < 1000; i++) {
		if (timer_create(clock, &event, &timer) < 0)
			break;
		CHECK_EQ(timer_delete(timer), 0);
		sleep_ms(1);
	}
	CHECK_ERRNO(timer_create(clock, &event, &timer), EINVAL);
}

TEST(timers_on_the_clock_of_another)
{
	struct sigevent signal = { .sigev_notify = SIGEV_SIGNAL,
				   .sigev_signo = SIGUSR1 };
	struct sigevent call = { .sigev_notify = SIGEV_THREAD,
				 .sigev_value.sival_int = 1 };

	call.sigev_notify_function = notify;
	handle(SIGUSR1, note, SA_RESTART);
	time_another(0, signal);
	time_another(TIMER_ABSTIME, signal);
	time_another(0, call);
	time_another(TIMER_ABSTIME, call);
}

TEST(timer_on_the_clock_of_an_ended_thread)
{
	pthread_t worker = thread_start(compute_when_told, NULL);
	struct itimerspec spec = { .it_value = { 1, 0 } }, left = spec;
	struct itimerspec wrong = { .it_value = { 0, NS_PER_S } };
	clockid_t clock;
	timer_t timer;

	CHECK_EQ(pthread_getcpuclockid(worker, &clock), 0);
	timer = make_timer(clock,
			   (struct sigevent){ .sigev_notify = SIGEV_NONE });
	CHECK_EQ(timer_settime(timer, 0, &spec, NULL), 0);
	has_to_compute = is_over = 1;
	thread_join(worker);
	is_over = has_to_compute = 0;
	/* Natively the clock exists for a moment after the join. */
	for (int i = 0; i < 1000; i++) {
		if (timer_settime(timer, 0, &spec, NULL) < 0)
			break;
		sleep_ms(1);
	}
	CHECK_ERRNO(timer_settime(timer, 0, &spec, &left), ESRCH);
	CHECK_ERRNO(timer_settime(timer, TIMER_ABSTIME, &spec, NULL), ESRCH);
	CHECK_ERRNO(timer_settime(timer, 0, &wrong, NULL), EINVAL);
	CHECK_ERRNO(timer_settime(timer, 0, NULL, NULL), EINVAL);
	CHECK_EQ(timer_gettime(timer, &left), 0);
	CHECK_EQ(left.it_value.tv_sec, 0);
	CHECK_EQ(left.it_value.tv_nsec, 0);
	CHECK_EQ(timer_delete(timer), 0);
}

TEST(sleep_on_the_clock_of_another)
{
	const struct timespec some = { 0, CPU_MS * NS_PER_MS };
	pthread_t worker = thread_start(compute_when_told, NULL);
	struct timespec at;
	clockid_t clock;
	int64_t start;

	CHECK_EQ(pthread_getcpuclockid(worker, &clock), 0);
	has_to_compute = 1;
	start = clock_ns(clock);
	CHECK_EQ(clock_nanosleep(clock, 0, &some, NULL), 0);
	CHECK(clock_ns(clock) - start >= CPU_MS * NS_PER_MS / 2);
	CHECK_EQ(clock_gettime(clock, &at), 0);
	at = ts_after_ns(at, CPU_MS * NS_PER_MS);
	CHECK_EQ(clock_nanosleep(clock, TIMER_ABSTIME, &at, NULL), 0);
	is_over = 1;
	thread_join(worker);
	CHECK_EQ(pthread_getcpuclockid(pthread_self(), &clock), 0);
	CHECK_EQ(clock_nanosleep(clock, 0, &some, NULL), EINVAL);
	CHECK_EQ(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &some, NULL),
		 EINVAL);
}
