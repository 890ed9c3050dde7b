/* SPDX-License-Identifier: MIT */
/*
 * Rare results: values that a thread inherits, objects that have ended, calls
 * that come late.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "cpus.h"
#include "modules.h"
#include "threading.h"

/* POSIX does not define the use of an ended thread's id; weft returns ESRCH. */
TEST(joined_threads_are_gone)
{
	pthread_t t;

	if (__GLIBC_PREREQ(2, 43))
		SKIP("glibc takes a joined thread for one that may be joined");
	t = thread_start(thread_nothing, NULL);

	thread_join(t);
	CHECK_EQ(pthread_join(t, NULL), ESRCH);
	CHECK_EQ(pthread_detach(t), ESRCH);
}

/* A thread that has ended and is not joined yet has no policy either. */
TEST(ended_threads_have_no_policy)
{
	const union sigval value = { .sival_int = 0 };
	pthread_t t = thread_start(thread_nothing, NULL);
	struct sched_param param;
	int policy;

	while (pthread_getschedparam(t, &policy, &param) != ESRCH)
		sleep_ms(1);
	param.sched_priority = 0;
	CHECK_EQ(pthread_setschedparam(t, SCHED_OTHER, &param), ESRCH);
	CHECK_EQ(pthread_setschedprio(t, 0), ESRCH);
	CHECK_EQ(pthread_sigqueue(t, 0, value), ESRCH);
	thread_join(t);
}

static int (*join_libc)(pthread_t, void **);

static void join_nobody_by_libc(void)
{
	_exit(join_libc(0, NULL));
}

static void join_nobody(void)
{
	const struct timespec past = { 1, 0 };
	struct sched_param param;
	int policy;
	clockid_t clock;

	if (pthread_join(0, NULL) != ESRCH)
		_exit(1);
	CHECK_EQ(pthread_timedjoin_np(0, NULL, &past), ESRCH);
	CHECK_EQ(pthread_clockjoin_np(0, NULL, CLOCK_MONOTONIC, &past), ESRCH);
	CHECK_EQ(pthread_detach(0), ESRCH);
	CHECK_EQ(pthread_getschedparam(0, &policy, &param), ESRCH);
	CHECK_EQ(pthread_setschedparam(0, SCHED_OTHER, &param), ESRCH);
	CHECK_EQ(pthread_setschedprio(0, 0), ESRCH);
	CHECK_EQ(pthread_getcpuclockid(0, &clock), ESRCH);
	CHECK_EQ(thrd_join(0, NULL), thrd_error);
	CHECK_EQ(thrd_detach(0), thrd_error);
	_exit(ESRCH);
}

/*
 * Debian's libc knows that there is no thread 0; other builds dereference it.
 */
TEST(thread_0_does_not_exist)
{
	*(void **)&join_libc =
		module_symbol(module_second_libc(), "pthread_join");
	have_threads();
	if (child_wait(child_start(join_nobody_by_libc)) != ESRCH << 8)
		SKIP("this libc does not check for it");
	CHECK_EQ(child_exit_status(join_nobody), ESRCH);
}

TEST(destroyed_mutexes_are_invalid)
{
	const struct timespec past = { 1, 0 };
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	have_threads();
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	CHECK_EQ(pthread_mutex_destroy(&mutex), 0);
	CHECK_EQ(pthread_mutex_lock(&mutex), EINVAL);
	CHECK_EQ(pthread_mutex_trylock(&mutex), EINVAL);
	CHECK_EQ(pthread_mutex_timedlock(&mutex, &past), EINVAL);
	CHECK_EQ(pthread_mutex_unlock(&mutex), EINVAL);
	CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &past), EINVAL);
}

static void *join(void *arg)
{
	pthread_join((pthread_t)arg, NULL);
	return NULL;
}

TEST(joins_in_a_circle)
{
	pthread_t t = thread_start(join, (void *)pthread_self());

	await_rest();
	CHECK_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
	CHECK_EQ(pthread_cancel(t), 0);
	CHECK(thread_join(t) == PTHREAD_CANCELED);
}

/* The deadline is before the clock's start. */
static void *wait_in_the_past(void *lock)
{
	const struct timespec past = { 0, NS_PER_S / 2 };

	CHECK_EQ(pthread_rwlock_timedwrlock(lock, &past), ETIMEDOUT);
	CHECK_EQ(pthread_rwlock_timedrdlock(lock, &past), ETIMEDOUT);
	return NULL;
}

TEST(deadlines_of_long_ago)
{
	pthread_rwlockattr_t attr;
	pthread_rwlock_t lock;

	CHECK_EQ(pthread_rwlockattr_init(&attr), 0);
	CHECK_EQ(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED),
		 0);
	CHECK_EQ(pthread_rwlock_init(&lock, &attr), 0);
	CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
	CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &(struct timespec){ 1, 0 }),
		 ETIMEDOUT);
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
	thread_join(thread_start(wait_in_the_past, &lock));
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
}

static void *blocked_signals(void *arg)
{
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, arg), 0);
	return NULL;
}

TEST(mask_of_the_default_attributes)
{
	pthread_attr_t attr;
	sigset_t set;

	have_threads();
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(sigemptyset(&set), 0);
	CHECK_EQ(sigaddset(&set, SIGUSR2), 0);
	CHECK_EQ(pthread_attr_setsigmask_np(&attr, &set), 0);
	CHECK_EQ(pthread_setattr_default_np(&attr), 0);
	thread_join(thread_start(blocked_signals, &set));
	CHECK(sigismember(&set, SIGUSR2) && !sigismember(&set, SIGUSR1));
	CHECK_EQ(pthread_attr_setsigmask_np(&attr, NULL), 0);
	CHECK_EQ(pthread_setattr_default_np(&attr), 0);
	thread_join(thread_start(blocked_signals, &set));
	CHECK(!sigismember(&set, SIGUSR2));
}

static cpu_set_t last_cpu(void)
{
	const cpu_set_t all = own_cpus();
	int cpu = CPU_SETSIZE - 1;

	while (!CPU_ISSET(cpu, &all))
		cpu--;
	return set_of_cpu(cpu);
}

static void *check_affinity(void *arg)
{
	pthread_attr_t attr;
	cpu_set_t own;

	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(own), &own), 0);
	CHECK(CPU_EQUAL(&own, (cpu_set_t *)arg));
	CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
	CHECK_EQ(pthread_attr_getaffinity_np(&attr, sizeof(own), &own), 0);
	CHECK(CPU_EQUAL(&own, (cpu_set_t *)arg));
	CHECK(CPU_ISSET(sched_getcpu(), &own));
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	return NULL;
}

TEST(affinity_in_attributes)
{
	cpu_set_t set = last_cpu(), all;
	pthread_attr_t attr;
	pthread_t t;

	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setaffinity_np(&attr, sizeof(set), &set), 0);
	CHECK_EQ(pthread_create(&t, &attr, check_affinity, &set), 0);
	thread_join(t);
	thread_join(thread_start(check_affinity, &all));
	CPU_ZERO(&set);
	CPU_SET(CPU_SETSIZE - 1, &set);
	CHECK_EQ(pthread_attr_setaffinity_np(&attr, sizeof(set), &set), 0);
	CHECK_EQ(pthread_create(&t, &attr, check_affinity, &set), EINVAL);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

static void *own_stack_size(void *arg)
{
	pthread_attr_t attr;
	size_t bytes;

	CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
	CHECK_EQ(pthread_attr_getstacksize(&attr, &bytes), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	return (void *)bytes;
}

TEST(stack_size_as_asked)
{
	static const size_t sizes[] = { 16384, 65536, 1 << 20 };
	pthread_attr_t attr;
	pthread_t t;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CHECK_EQ(pthread_attr_setstacksize(&attr, sizes[i]), 0);
		CHECK_EQ(pthread_create(&t, &attr, own_stack_size, NULL), 0);
		CHECK_EQ((size_t)thread_join(t), sizes[i]);
	}
}

static void *own_pending(void *arg)
{
	CHECK_EQ(sigpending(arg), 0);
	return NULL;
}

TEST(pending_before_the_first_thread)
{
	sigset_t set, pending;
	int sig;

	CHECK_EQ(sigemptyset(&set), 0);
	CHECK_EQ(sigaddset(&set, SIGUSR1), 0);
	CHECK_EQ(sigaddset(&set, SIGUSR2), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(kill(getpid(), SIGUSR2), 0);
	thread_join(thread_start(own_pending, &pending));
	CHECK(!sigismember(&pending, SIGUSR1));
	CHECK(sigismember(&pending, SIGUSR2));
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(sigismember(&pending, SIGUSR1));
	CHECK_EQ(sigwait(&set, &sig), 0);
	CHECK_EQ(sig, SIGUSR1);
	CHECK_EQ(sigwait(&set, &sig), 0);
	CHECK_EQ(sig, SIGUSR2);
}

static _Atomic int nr_signals;
static _Atomic pid_t other;

static void count_signal(int sig)
{
	nr_signals++;
}

static void *be_a_target(void *arg)
{
	other = gettid();
	CHECK_EQ(sem_wait(arg), 0);
	return NULL;
}

/* kill accepts any thread's number and means the process, as in the kernel. */
TEST(kill_by_a_threads_number)
{
	sigset_t set;
	pthread_t t;
	sem_t sem;

	CHECK_EQ(sem_init(&sem, 0, 0), 0);
	CHECK(signal(SIGUSR1, count_signal) != SIG_ERR);
	CHECK_EQ(sigemptyset(&set), 0);
	CHECK_EQ(sigaddset(&set, SIGUSR1), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	t = thread_start(be_a_target, &sem);
	while (other == 0)
		sched_yield();
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	CHECK_EQ(kill(other, SIGUSR1), 0);
	await_count(&nr_signals, 1);
	CHECK_EQ(sigqueue(other, SIGUSR1, (union sigval){ 0 }), 0);
	await_count(&nr_signals, 2);
	CHECK_EQ(sem_post(&sem), 0);
	thread_join(t);
}

static sem_t is_here, is_over;
static pthread_t of_timer;

static void tell_over(void *arg)
{
	CHECK_EQ(sem_post(&is_over), 0);
}

static void sleep_for_ever(union sigval value)
{
	of_timer = pthread_self();
	pthread_cleanup_push(tell_over, NULL);
	CHECK_EQ(sem_post(&is_here), 0);
	for (;;)
		sleep(1000);
	pthread_cleanup_pop(0);
}

static void cancel_of_timer(void)
{
	const struct itimerspec soon = { { 0, 0 }, { 0, NS_PER_MS } };
	struct sigevent event;
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD;
	event.sigev_notify_function = sleep_for_ever;
	CHECK_EQ(sem_init(&is_here, 0, 0), 0);
	CHECK_EQ(sem_init(&is_over, 0, 0), 0);
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(timer_settime(timer, 0, &soon, NULL), 0);
	CHECK_EQ(sem_wait(&is_here), 0);
	await_rest();
	CHECK_EQ(pthread_cancel(of_timer), 0);
	CHECK_EQ(sem_wait(&is_over), 0);
	CHECK_EQ(timer_delete(timer), 0);
}

TEST(cancel_of_a_timers_thread)
{
	cancel_of_timer();
	have_threads();
	cancel_of_timer();
}

static sem_t never;
static _Atomic bool is_ended;
static int result, error;

static void *wait_a_minute(void *arg)
{
	struct timespec until = deadline_ms(CLOCK_REALTIME, 60000);

	errno = 0;
	result = sem_timedwait(&never, &until);
	error = errno;
	is_ended = true;
	return arg;
}

static void *wait_by_syscall(void *arg)
{
	const struct timespec minute = { 60, 0 };
	static const int word;

	errno = 0;
	result = (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &minute,
			      NULL, 0);
	error = errno;
	is_ended = true;
	return arg;
}

static void do_nothing(int sig)
{
}

static void check_interrupted(void *(*wait)(void *))
{
	struct sigaction action = { .sa_handler = do_nothing,
				    .sa_flags = SA_RESTART };
	pthread_t t;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	is_ended = false;
	t = thread_start(wait, NULL);
	while (!is_ended) {
		CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		sleep_ms(1);
	}
	thread_join(t);
	CHECK_EQ(result, -1);
	CHECK_EQ(error, EINTR);
}

/* As in the kernel, SA_RESTART does not restart a wait with a deadline. */
TEST(any_handler_ends_timed_waits)
{
	CHECK_EQ(sem_init(&never, 0, 0), 0);
	check_interrupted(wait_a_minute);
	CHECK_EQ(sem_init(&never, 1, 0), 0);
	check_interrupted(wait_a_minute);
	check_interrupted(wait_by_syscall);
}
