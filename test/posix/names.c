/* SPDX-License-Identifier: MIT */
/* Thread names, ids, affinity, concurrency level, scheduling parameters. */
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "cpus.h"
#include "threading.h"

static sem_t go;

static void *wait_for_go(void *arg)
{
	while (sem_wait(&go) != 0)
		continue;
	return arg;
}

static void *name_self(void *arg)
{
	char name[16], got[16];

	snprintf(name, sizeof(name), "worker %ld", (long)(intptr_t)arg);
	CHECK_EQ(pthread_setname_np(pthread_self(), name), 0);
	for (int i = 0; i < 5; i++) {
		sched_yield();
		CHECK_EQ(pthread_getname_np(pthread_self(), got, 16), 0);
		CHECK(strcmp(got, name) == 0);
	}
	return NULL;
}

TEST(names_of_threads)
{
	pthread_t threads[50];

	threads_start_numbered(threads, 50, name_self);
	threads_join(threads, 50);
}

TEST(name_of_another)
{
	char got[16];
	pthread_t t;

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	t = thread_start(wait_for_go, NULL);
	CHECK_EQ(pthread_setname_np(t, "somebody else"), 0);
	CHECK_EQ(pthread_getname_np(t, got, sizeof(got)), 0);
	CHECK(strcmp(got, "somebody else") == 0);
	CHECK_EQ(sem_post(&go), 0);
	thread_join(t);
}

/* A new thread has its creator's name until it gets its own. */
static void *check_inherited(void *arg)
{
	char got[16];

	CHECK_EQ(pthread_getname_np(pthread_self(), got, sizeof(got)), 0);
	CHECK(strcmp(got, arg) == 0);
	return NULL;
}

TEST(name_is_inherited)
{
	CHECK_EQ(pthread_setname_np(pthread_self(), "parent"), 0);
	thread_join(thread_start(check_inherited, "parent"));
}

static char name_in_notify[16];
static _Atomic int is_notified;

static void note_name(union sigval value)
{
	CHECK_EQ(pthread_getname_np(pthread_self(), name_in_notify, 16), 0);
	is_notified = 1;
}

static void *make_timer(void *arg)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD,
				  .sigev_notify_function = note_name };
	const struct itimerspec soon = { .it_value.tv_nsec = 1 };
	timer_t timer;

	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(timer_settime(timer, 0, &soon, NULL), 0);
	return arg;
}

/*
 * libc makes this thread with clone on the creator's carrier. The first thread
 * computes, so that carrier is mostly not the process's first kernel thread.
 */
TEST(name_of_a_thread_of_libc)
{
	pthread_t t;

	CHECK_EQ(pthread_setname_np(pthread_self(), "parent"), 0);
	t = thread_start(make_timer, NULL);
	while (!is_notified)
		continue;
	thread_join(t);
	CHECK(strcmp(name_in_notify, "parent") == 0);
}

static void has_name_of_thread(void)
{
	char name[16];
	FILE *comm = fopen("/proc/self/comm", "r");

	CHECK_EQ(pthread_getname_np(pthread_self(), name, sizeof(name)), 0);
	CHECK_EQ(strcmp(name, "forker"), 0);
	CHECK(comm != NULL && fgets(name, sizeof(name), comm) != NULL);
	CHECK_EQ(strcmp(name, "forker\n"), 0);
	fclose(comm);
}

static void *fork_with_name(void *arg)
{
	CHECK_EQ(pthread_setname_np(pthread_self(), "forker"), 0);
	CHECK_EQ(child_exit_status(has_name_of_thread), 0);
	return arg;
}

TEST(name_of_a_forked_thread)
{
	thread_join(thread_start(fork_with_name, NULL));
}

TEST(name_limits)
{
	char got[16];

	CHECK_EQ(pthread_setname_np(pthread_self(), "sixteen letters!"),
		 ERANGE);
	CHECK_EQ(pthread_setname_np(pthread_self(), "fifteen letters"), 0);
	CHECK_EQ(pthread_getname_np(pthread_self(), got, 15), ERANGE);
	CHECK_EQ(pthread_getname_np(pthread_self(), got, 16), 0);
	CHECK(strcmp(got, "fifteen letters") == 0);
	CHECK_EQ(pthread_setname_np(pthread_self(), ""), 0);
}

#define NR_IDS 200

static pid_t ids[NR_IDS];
static pthread_barrier_t barrier;

static void *report_id(void *arg)
{
	pid_t id = gettid();

	ids[(intptr_t)arg] = id;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 10; i++) {
		sched_yield();
		CHECK_EQ(gettid(), id);
		CHECK_EQ(syscall(SYS_gettid), id);
		CHECK_EQ(getpid(), ids[NR_IDS - 1]);
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

static int compare_ids(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

TEST(thread_ids_are_unique_and_stable)
{
	pthread_t threads[NR_IDS];

	CHECK_EQ(gettid(), getpid());
	CHECK_EQ(syscall(SYS_gettid), getpid());
	ids[NR_IDS - 1] = getpid();
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_IDS - 1), 0);
	threads_start_numbered(threads, NR_IDS - 1, report_id);
	threads_join(threads, NR_IDS - 1);
	CHECK_EQ(gettid(), getpid());
	qsort(ids, NR_IDS, sizeof(ids[0]), compare_ids);
	for (int i = 1; i < NR_IDS; i++) {
		CHECK(ids[i] > 0);
		CHECK(ids[i] != ids[i - 1]);
	}
}

static void *set_tid_address(void *arg)
{
	static int word = -1;

	CHECK_EQ(syscall(SYS_set_tid_address, &word), gettid());
	sched_yield();
	CHECK_EQ(gettid(), syscall(SYS_gettid));
	sem_post(&go);
	return arg;
}

/*
 * The thread is detached, since a join relies on the address that libc has set.
 */
TEST(set_tid_address_tells_the_id)
{
	pthread_t thread;

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	CHECK_EQ(pthread_create(&thread, NULL, set_tid_address, NULL), 0);
	CHECK_EQ(pthread_detach(thread), 0);
	wait_for_go(NULL);
}

static void *get_affinity(void *arg)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(set), &set), 0);
	CHECK(CPU_EQUAL(&set, (cpu_set_t *)arg));
	CPU_ZERO(&set);
	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	CHECK(CPU_EQUAL(&set, (cpu_set_t *)arg));
	return NULL;
}

TEST(affinity_is_inherited)
{
	cpu_set_t set;

	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	CHECK(CPU_COUNT(&set) > 0);
	thread_join(thread_start(get_affinity, &set));
}

/* A set needs room only for the CPUs that exist. */
TEST(affinity_of_the_smallest_size)
{
	union {
		cpu_set_t set;
		unsigned char bytes[sizeof(cpu_set_t)];
	} small, all;
	size_t size = sizeof(long);

	while (sched_getaffinity(0, size, &small.set) != 0) {
		CHECK_EQ(errno, EINVAL);
		size += sizeof(long);
	}
	have_threads();
	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(all.set),
					&all.set),
		 0);
	memset(&small, 0xff, sizeof(small));
	CHECK_EQ(pthread_getaffinity_np(pthread_self(), size, &small.set), 0);
	CHECK(memcmp(&small, &all, size) == 0);
	CHECK(size == sizeof(small.set) || small.bytes[size] == 0xff);
	CHECK_EQ(sched_getaffinity(0, size, &small.set), 0);
	CHECK_EQ(pthread_getaffinity_np(pthread_self(), 1, &small.set), EINVAL);
	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(small) + 1,
					&small.set),
		 EINVAL);
	CHECK_EQ(pthread_getaffinity_np(pthread_self(), SIZE_MAX, &small.set),
		 EINVAL);
}

TEST(affinity_can_be_set)
{
	cpu_set_t all, got;

	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(all), &all), 0);
	CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(all), &all), 0);
	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(got), &got), 0);
	CHECK(CPU_EQUAL(&all, &got));
	CPU_ZERO(&got);
	CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(got), &got),
		 EINVAL);
}

static void *pin_self(void *arg)
{
	int cpu = first_cpu();
	cpu_set_t one = set_of_cpu(cpu);

	CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
	CHECK_EQ(sched_getcpu(), cpu);
	return arg;
}

TEST(pinning_one_thread)
{
	cpu_set_t before, after;

	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	thread_join(thread_start(pin_self, NULL));
	CHECK_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
	CHECK(CPU_EQUAL(&before, &after));
}

static _Atomic int is_pinned, nr_known;
static _Atomic pid_t pinned_id;
static cpu_set_t pinned_to;

static void check_pinned(void)
{
	cpu_set_t got;

	for (int i = 0; i < 50; i++) {
		CHECK_EQ(sched_getaffinity(0, sizeof(got), &got), 0);
		CHECK(CPU_EQUAL(&got, &pinned_to));
		CHECK(CPU_ISSET(sched_getcpu(), &pinned_to));
		sched_yield();
	}
}

static void *wait_until_pinned(void *arg)
{
	pinned_id = gettid();
	nr_known++;
	while (!is_pinned)
		usleep(1000);
	check_pinned();
	return arg;
}

static void *compute_until_pinned(void *arg)
{
	pinned_id = gettid();
	nr_known++;
	while (!is_pinned)
		;
	check_pinned();
	return arg;
}

/* Pins another thread by its handle or by its id. */
static void pin_another(void *(*start)(void *), bool by_id)
{
	cpu_set_t all = own_cpus(), got;
	pthread_t t;

	is_pinned = nr_known = 0;
	pinned_to = set_of_cpu(first_cpu());
	t = thread_start(start, NULL);
	if (by_id) {
		await_count(&nr_known, 1);
		CHECK_EQ(sched_setaffinity(pinned_id, sizeof(pinned_to),
					   &pinned_to),
			 0);
		CHECK_EQ(sched_getaffinity(pinned_id, sizeof(got), &got), 0);
	} else {
		CHECK_EQ(pthread_setaffinity_np(t, sizeof(pinned_to),
						&pinned_to),
			 0);
		CHECK_EQ(pthread_getaffinity_np(t, sizeof(got), &got), 0);
	}
	CHECK(CPU_EQUAL(&got, &pinned_to));
	is_pinned = 1;
	thread_join(t);
	CHECK_EQ(sched_getaffinity(0, sizeof(got), &got), 0);
	CHECK(CPU_EQUAL(&got, &all));
	thread_join(thread_start(get_affinity, &all));
}

TEST(pinning_another_thread)
{
	pin_another(wait_until_pinned, false);
	pin_another(wait_until_pinned, true);
	pin_another(compute_until_pinned, false);
	pin_another(compute_until_pinned, true);
}

/* A bound thread; its kernel thread may not have begun. */
TEST(pinning_a_thread_at_once)
{
	pthread_attr_t attr;
	pthread_t t;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setscope(&attr, PTHREAD_SCOPE_SYSTEM), 0);
	pinned_to = set_of_cpu(first_cpu());
	for (int i = 0; i < 20; i++) {
		is_pinned = 0;
		CHECK_EQ(pthread_create(&t, &attr, wait_until_pinned, NULL), 0);
		CHECK_EQ(pthread_setaffinity_np(t, sizeof(pinned_to),
						&pinned_to),
			 0);
		is_pinned = 1;
		thread_join(t);
	}
}

TEST(concurrency_level)
{
	CHECK_EQ(pthread_getconcurrency(), 0);
	CHECK_EQ(pthread_setconcurrency(7), 0);
	CHECK_EQ(pthread_getconcurrency(), 7);
	CHECK_EQ(pthread_setconcurrency(-1), EINVAL);
	CHECK_EQ(pthread_setconcurrency(0), 0);
}

TEST(scheduling_parameters)
{
	struct sched_param param = { .sched_priority = 99 };
	int policy = -1;
	pthread_t t;

	CHECK_EQ(sem_init(&go, 0, 0), 0);
	t = thread_start(wait_for_go, NULL);
	CHECK_EQ(pthread_getschedparam(t, &policy, &param), 0);
	CHECK_EQ(policy, SCHED_OTHER);
	CHECK_EQ(param.sched_priority, 0);
	CHECK_EQ(pthread_setschedparam(t, SCHED_OTHER, &param), 0);
	CHECK_EQ(sem_post(&go), 0);
	thread_join(t);
}

static void *fork_who_pins(void *arg)
{
	cpu_set_t one = set_of_cpu(first_cpu()), got;
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(one),
						&one),
			 0);
		CHECK_EQ(sched_getaffinity(0, sizeof(got), &got), 0);
		_exit(CPU_COUNT(&got) != 1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	return arg;
}

/* A fork child that pins itself must not pin its parent. */
TEST(pinning_after_a_fork)
{
	cpu_set_t before, after;

	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(before),
					&before),
		 0);
	thread_join(thread_start(fork_who_pins, NULL));
	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(after), &after),
		 0);
	CHECK(CPU_EQUAL(&before, &after));
}

/* Yields must reach every thread: each waits for the previous thread's flag. */
static _Atomic int flags[20];

static void *pass_flag(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int round = 1; round <= 50; round++) {
		while (flags[me] != round)
			CHECK_EQ(sched_yield(), 0);
		flags[(me + 1) % 20] = me == 19 ? round + 1 : round;
	}
	return NULL;
}

TEST(yield_reaches_all)
{
	pthread_t threads[20];

	flags[0] = 1;
	threads_start_numbered(threads, 20, pass_flag);
	threads_join(threads, 20);
	CHECK_EQ(flags[0], 51);
}

TEST(cpu_clock_of_a_thread)
{
	struct timespec ts;
	clockid_t clock;

	CHECK_EQ(pthread_getcpuclockid(pthread_self(), &clock), 0);
	CHECK_EQ(clock_gettime(clock, &ts), 0);
	CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
}
