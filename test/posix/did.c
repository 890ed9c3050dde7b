/* SPDX-License-Identifier: MIT */
/*
 * Checks by weft's counters how each wait, wakeup and preemption was done,
 * besides its result. Natively the tests check the results alone.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "did.h"
#include "threading.h"

enum { NR_ROUNDS = 100, NR_THREADS = 16, NR_MANY = 64 };

static sem_t turn[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static int ends[2], nr_told;
static atomic_bool is_over;
static _Atomic int nr_inside, nr_arrived;

/* The waits parked, and the monitor took no VP from a carrier for them. */
static void check_parked(struct did before, long least)
{
	CHECK_DID(before, parks, >=, least);
	CHECK_DID(before, handoffs, ==, 0);
	CHECK_DID(before, binds, ==, 0);
}

/* Starts threads that count themselves in nr_arrived and then wait. */
static void start_waiters(pthread_t threads[NR_THREADS], struct did before,
			  void *(*start)(void *))
{
	threads_start(threads, NR_THREADS, start, NULL);
	await_count(&nr_arrived, NR_THREADS);
	did_await_parks(before, NR_THREADS);
}

/* --- locks and other objects ---------------------------------------------- */

static void *answer_turns(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(sem_wait(&turn[1]), 0);
		CHECK_EQ(sem_post(&turn[0]), 0);
	}
	return arg;
}

static void take_turns(void)
{
	pthread_t thread;

	CHECK_EQ(sem_init(&turn[0], 0, 0), 0);
	CHECK_EQ(sem_init(&turn[1], 0, 0), 0);
	thread = thread_start(answer_turns, NULL);
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(sem_post(&turn[1]), 0);
		CHECK_EQ(sem_wait(&turn[0]), 0);
	}
	thread_join(thread);
}

TEST(semaphores_park)
{
	struct did before = did_begin();

	take_turns();
	check_parked(before, NR_ROUNDS);
	CHECK_DID(before, requests, ==, 0);
	CHECK_DID(before, served, ==, 0);
}

static void *lock_once(void *arg)
{
	nr_arrived++;
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	nr_inside++;
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return arg;
}

/* All threads wait for the lock before it is released. */
TEST(mutexes_park)
{
	struct did before = did_begin();
	pthread_t threads[NR_THREADS];

	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	start_waiters(threads, before, lock_once);
	CHECK_DID(before, parks, >=, NR_THREADS);
	CHECK_EQ(nr_inside, 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	threads_join(threads, NR_THREADS);
	check_parked(before, NR_THREADS);
}

static void *await_told(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	nr_arrived++;
	while (nr_told == 0)
		CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	return arg;
}

TEST(conditions_park)
{
	struct did before = did_begin();
	pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, await_told, NULL);
	await_count(&nr_arrived, NR_THREADS);
	CHECK_EQ(pthread_mutex_lock(&mutex), 0);
	nr_told = 1;
	CHECK_EQ(pthread_cond_broadcast(&cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
	threads_join(threads, NR_THREADS);
	check_parked(before, NR_THREADS);
}

static void *read_shared(void *arg)
{
	nr_arrived++;
	CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	return arg;
}

TEST(readers_park)
{
	struct did before = did_begin();
	pthread_t threads[NR_THREADS];

	CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
	start_waiters(threads, before, read_shared);
	CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
	threads_join(threads, NR_THREADS);
	check_parked(before, NR_THREADS);
}

static void *meet(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++)
		pthread_barrier_wait(&barrier);
	return arg;
}

TEST(barriers_park)
{
	struct did before = did_begin();
	pthread_t threads[NR_THREADS];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_THREADS), 0);
	threads_start(threads, NR_THREADS, meet, NULL);
	threads_join(threads, NR_THREADS);
	check_parked(before, NR_ROUNDS * (NR_THREADS - 1) / 2);
}

static void *sleep_often(void *arg)
{
	for (int i = 0; i < 20; i++)
		usleep(1000);
	return arg;
}

TEST(sleeps_park)
{
	struct did before = did_begin();
	pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, sleep_often, NULL);
	threads_join(threads, NR_THREADS);
	check_parked(before, NR_THREADS * 20);
	CHECK_DID(before, requests, ==, 0);
	CHECK_DID(before, served, ==, 0);
}

/* --- descriptors ---------------------------------------------------------- */

static void *send_back(void *arg)
{
	char byte;

	while (read(ends[1], &byte, 1) == 1)
		CHECK_EQ(write(ends[1], &byte, 1), 1);
	return arg;
}

/* The thread waits by the ring's poll, or by the watcher's epoll set. */
static void check_waited_for(struct did before, long least)
{
	check_parked(before, least);
	CHECK_DID(before, served, ==, 0);
	if (did_use_ring())
		CHECK_DID(before, requests, >=, least);
	else
		CHECK_DID(before, requests, ==, 0);
}

TEST(reads_of_sockets_park)
{
	struct did before = did_begin();
	pthread_t thread;
	char byte = 'x';

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	thread = thread_start(send_back, NULL);
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(write(ends[0], &byte, 1), 1);
		CHECK_EQ(read(ends[0], &byte, 1), 1);
	}
	CHECK_EQ(shutdown(ends[0], SHUT_WR), 0);
	thread_join(thread);
	check_waited_for(before, NR_ROUNDS / 2);
}

static void *read_byte(void *arg)
{
	char byte;

	nr_arrived++;
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	return arg;
}

TEST(reads_of_pipes_park)
{
	struct did before = did_begin();
	pthread_t threads[NR_THREADS];
	char bytes[NR_THREADS] = { 0 };

	CHECK_EQ(pipe(ends), 0);
	start_waiters(threads, before, read_byte);
	CHECK_EQ(write(ends[1], bytes, NR_THREADS), NR_THREADS);
	threads_join(threads, NR_THREADS);
	check_parked(before, NR_THREADS);
	CHECK_DID(before, served, ==, 0);
}

static void *poll_byte(void *arg)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };

	nr_arrived++;
	CHECK_EQ(poll(&p, 1, -1), 1);
	return arg;
}

TEST(polls_park)
{
	struct did before = did_begin();
	pthread_t threads[NR_THREADS];

	CHECK_EQ(pipe(ends), 0);
	start_waiters(threads, before, poll_byte);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	threads_join(threads, NR_THREADS);
	check_parked(before, NR_THREADS);
}

/* --- scheduling of running threads ---------------------------------------- */

static void *set_over(void *arg)
{
	is_over = true;
	return arg;
}

static void *spin(void *arg)
{
	nr_arrived++;
	while (!is_over)
		;
	return arg;
}

/*
 * Starts two threads more than there are VPs. The thread that sets is_over runs
 * only if one of them gives up its VP. Returns how many threads there are.
 */
static int occupy_vps(pthread_t threads[NR_MANY], void *(*start)(void *))
{
	int nr = (int)did_vps() + 2;

	if (nr > NR_MANY - 4)
		SKIP("too many VPs");
	threads_start(threads, nr, start, NULL);
	await_count(&nr_arrived, nr);
	thread_join(thread_start(set_over, NULL));
	return nr;
}

TEST(spinners_are_stopped)
{
	struct did before = did_begin();
	pthread_t threads[NR_MANY];

	threads_join(threads, occupy_vps(threads, spin));
	CHECK_DID(before, preemptions, >=, 1);
	CHECK_DID(before, handoffs, ==, 0);
}

static void *call_until_over(void *arg)
{
	nr_arrived++;
	while (!is_over)
		CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, NULL), 0);
	return arg;
}

/*
 * A thread that makes calls yields at its next call, without a signal. If it
 * was preempted just before, it need not, so there are several rounds.
 */
TEST(callers_yield)
{
	enum { MOST_ROUNDS = 5 };
	struct did before = did_begin();
	pthread_t threads[NR_MANY];

	for (int i = 0; i < MOST_ROUNDS; i++) {
		is_over = false;
		nr_arrived = 0;
		threads_join(threads, occupy_vps(threads, call_until_over));
		if (did_now().preemptions_cooperative >
		    before.stats.preemptions_cooperative)
			break;
	}
	CHECK_DID(before, preemptions_cooperative, >=, 1);
	CHECK_DID(before, handoffs, ==, 0);
}

static void *yield_often(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++)
		CHECK_EQ(sched_yield(), 0);
	return arg;
}

TEST(yields_switch)
{
	struct did before = did_begin();
	pthread_t threads[2];

	threads_start(threads, 2, yield_often, NULL);
	threads_join(threads, 2);
	if (did_vps() == 1)
		CHECK_DID(before, switches, >=, NR_ROUNDS);
}

static void *block_carrier(void *arg)
{
	char byte;

	nr_arrived++;
	CHECK_EQ(syscall(SYS_read, ends[0], &byte, 1), 1);
	return arg;
}

/* Blocks all VPs' carriers by system calls that weft does not intercept. */
static void block_carriers(void)
{
	pthread_t threads[NR_MANY];
	int nr;

	CHECK_EQ(pipe(ends), 0);
	nr = occupy_vps(threads, block_carrier);
	for (int i = 0; i < nr; i++)
		CHECK_EQ(write(ends[1], "x", 1), 1);
	threads_join(threads, nr);
}

TEST(blocked_carriers_lose_their_vps)
{
	struct did before = did_begin();

	block_carriers();
	CHECK_DID(before, handoffs, >=, 1);
}

static void compute_ms(long ms)
{
	int64_t until = now_ns() + ms * NS_PER_MS;

	while (now_ns() < until)
		;
}

static void *compute(void *arg)
{
	compute_ms(2);
	return arg;
}

/* All threads are made on one VP, so the other VP has to steal them. */
TEST(others_take_threads)
{
	struct did before = did_begin();
	pthread_t threads[NR_MANY];

	for (int i = 0; i < 5; i++) {
		threads_start(threads, NR_MANY, compute, NULL);
		compute_ms(5);
		threads_join(threads, NR_MANY);
	}
	if (did_vps() != 1)
		CHECK_DID(before, steals, >=, 1);
}

static void *take_cpu(void *arg)
{
	cpu_set_t cpus;

	CHECK_EQ(pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus),
		 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		CPU_ZERO(&cpus);
		CPU_SET(cpu, &cpus);
		break;
	}
	CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus),
		 0);
	return arg;
}

/*
 * Affinity is a property of a kernel thread, so a thread with an affinity of
 * its own is bound.
 */
TEST(threads_with_a_cpu_are_bound)
{
	struct did before = did_begin();

	thread_join(thread_start(take_cpu, NULL));
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1)
		CHECK_DID(before, binds, ==, 1);
	CHECK_DID(before, handoffs, ==, 0);
}

static void count_in_child(void)
{
	struct did none = { .counts = did_begin().counts };

	thread_join(thread_start(yield_often, NULL));
	CHECK_DID(none, handoffs, ==, 0);
	CHECK_DID(none, parks, <, NR_ROUNDS);
	CHECK_DID(none, binds, ==, 0);
}

TEST(children_begin_at_zero)
{
	take_turns();
	block_carriers();
	thread_join(thread_start(take_cpu, NULL));
	CHECK_EQ(child_exit_status(count_in_child), 0);
}
