/* SPDX-License-Identifier: MIT */
/*
 * Mutexes with priority inheritance between processes: the case's process, its
 * forked children, and a process that starts without LD_PRELOAD. With weft all
 * but the last run on weft.
 */
#include <linux/futex.h>

#include "child.h"
#include "mixed.h"

enum role { HOLDS = 1, WAITS };
enum end { THREAD_ENDS, KILLED };

static struct objects {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t held, may_end, done;
	enum role role;
	_Atomic int nr_wanting, nr_died, nr_other, priority;
	_Atomic pid_t waiter;
	_Atomic bool is_set;
} * o;

static void make(int type, int robust)
{
	make_mutex(&o->mutex, type, robust, PTHREAD_PROCESS_SHARED,
		   PTHREAD_PRIO_INHERIT);
	o->nr_wanting = 0;
}

static void map(void)
{
	o = map_objects(sizeof(*o));
	if (is_third()) {
		CHECK(!is_on_weft());
		return;
	}
	CHECK_EQ(sem_init(&o->held, 1, 0), 0);
	CHECK_EQ(sem_init(&o->may_end, 1, 0), 0);
	CHECK_EQ(sem_init(&o->done, 1, 0), 0);
	make_cond(&o->cond, CLOCK_REALTIME);
}

static bool is_waited_for(void)
{
	return (*(volatile unsigned int *)&o->mutex & FUTEX_WAITERS) != 0;
}

/* Waits until `nr` threads of both processes sleep in the mutex's futex. */
static void await_waiters(int nr, pid_t process)
{
	while (o->nr_wanting < nr || !is_waited_for())
		sleep_ms(1);
	await_rest();
	await_rest_of(process);
}

/* --- owners that end ------------------------------------------------------ */

static void *hold(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	CHECK_EQ(sem_post(&o->held), 0);
	CHECK_EQ(sem_wait(&o->may_end), 0);
	return NULL;
}

static void *want(void *arg)
{
	int rc;

	o->nr_wanting++;
	rc = pthread_mutex_lock(&o->mutex);
	if (rc == EOWNERDEAD) {
		o->nr_died++;
		CHECK_EQ(pthread_mutex_consistent(&o->mutex), 0);
	} else {
		CHECK_EQ(rc, 0);
		o->nr_other++;
	}
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	return NULL;
}

static void play(enum role role)
{
	if (role == WAITS) {
		run_threads(want);
		return;
	}
	thread_join(thread_start(hold, NULL));
	/* The owner's kernel thread has ended. The process may be killed. */
	CHECK_EQ(sem_post(&o->done), 0);
	pause();
}

static pid_t start_in(bool is_native, enum role role)
{
	pid_t pid;

	o->role = role;
	if (is_native)
		return start_third();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		play(role);
		_exit(0);
	}
	return pid;
}

static void end_owner(bool is_native, enum end end)
{
	pid_t holder, waiter;
	pthread_t here;

	make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	o->nr_died = o->nr_other = 0;
	holder = start_in(is_native, HOLDS);
	CHECK_EQ(sem_wait(&o->held), 0);
	waiter = start_in(!is_native, WAITS);
	here = thread_start(want, NULL);
	await_waiters(NR_THREADS + 1, waiter);
	if (end == THREAD_ENDS) {
		CHECK_EQ(sem_post(&o->may_end), 0);
		CHECK_EQ(sem_wait(&o->done), 0);
	} else {
		CHECK_EQ(kill(holder, SIGKILL), 0);
	}
	thread_join(here);
	await_child(waiter);
	want(NULL);
	CHECK_EQ(o->nr_died, 1);
	CHECK_EQ(o->nr_other, NR_THREADS + 1);
	CHECK_EQ(kill(holder, SIGKILL), 0);
	CHECK_EQ(waitpid(holder, NULL, 0), holder);
	CHECK_EQ(pthread_mutex_destroy(&o->mutex), 0);
}

static void end_owners(enum end end)
{
	map();
	if (is_third()) {
		play(o->role);
		exit(0);
	}
	for (int i = 0; i < 4; i++)
		end_owner(i % 2 != 0, end);
}

TEST(owner_thread_ends)
{
	end_owners(THREAD_ENDS);
}

TEST(owner_process_is_killed)
{
	end_owners(KILLED);
}

/* The first thread locks the mutex while it is alone, and later ends. */
static void first_ends(void)
{
	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	thread_start(want, NULL);
	await_waiters(1, getpid());
	pthread_exit(NULL);
}

TEST(first_thread_ends)
{
	map();
	if (is_third())
		return;
	for (int i = 0; i < 2; i++) {
		make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST);
		CHECK_EQ(child_exit_status(first_ends), 0);
		CHECK_EQ(o->nr_died, i + 1);
	}
}

static int pipes[NR_THREADS][2];

static void *read_one(void *arg)
{
	char c;

	CHECK_EQ(read(pipes[(intptr_t)arg][0], &c, 1), 1);
	return NULL;
}

static void *want_and_leave(void *arg)
{
	if (pthread_mutex_lock(&o->mutex) == EOWNERDEAD) {
		o->nr_died++;
		CHECK_EQ(pthread_mutex_consistent(&o->mutex), 0);
	}
	return NULL;
}

static void *hold_both(void *mutexes)
{
	pthread_mutex_t *m = mutexes;

	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_mutex_lock(&m[i]), 0);
	return NULL;
}

/*
 * A thread ends with several mutexes, and several threads one after the other.
 * The waits of other threads continue.
 */
TEST(many_owners_end)
{
	static pthread_mutex_t m[2];
	pthread_t readers[NR_THREADS];

	for (int i = 0; i < NR_THREADS; i++)
		CHECK_EQ(pipe(pipes[i]), 0);
	threads_start_numbered(readers, NR_THREADS, read_one);
	make_mutex(&m[0], PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST,
		   PTHREAD_PROCESS_PRIVATE, PTHREAD_PRIO_INHERIT);
	make_mutex(&m[1], PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST,
		   PTHREAD_PROCESS_SHARED, PTHREAD_PRIO_NONE);
	for (int i = 0; i < 50; i++) {
		thread_join(thread_start(hold_both, m));
		for (int j = 0; j < 2; j++) {
			CHECK_EQ(pthread_mutex_trylock(&m[j]), EOWNERDEAD);
			CHECK_EQ(pthread_mutex_consistent(&m[j]), 0);
			CHECK_EQ(pthread_mutex_unlock(&m[j]), 0);
		}
	}
	for (int i = 0; i < NR_THREADS; i++)
		CHECK_EQ(write(pipes[i][1], "x", 1), 1);
	threads_join(readers, NR_THREADS);
}

static void *change_credentials(void *arg)
{
	while (!o->is_set) {
		CHECK_EQ(setuid(getuid()), 0);
		sleep_ms(1);
	}
	return NULL;
}

/* Credentials change while kernel threads start and end: each has to follow. */
TEST(owners_end_beside_changes_of_credentials)
{
	pthread_t changer, owners[NR_THREADS];

	map();
	if (is_third())
		return;
	make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	changer = thread_start(change_credentials, NULL);
	for (int i = 0; i < 20; i++) {
		threads_start(owners, NR_THREADS, want_and_leave, NULL);
		threads_join(owners, NR_THREADS);
	}
	o->is_set = true;
	thread_join(changer);
	CHECK_EQ(o->nr_died, 20 * NR_THREADS - 1);
}

/* --- priorities that other processes see ---------------------------------- */

static void *check_others(void *type)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 5);
	struct timespec soon_too = deadline_ms(CLOCK_MONOTONIC, 5);
	const struct timespec wrong = { 0, NS_PER_S };

	CHECK_EQ(pthread_mutex_trylock(&o->mutex), EBUSY);
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), EPERM);
	CHECK_EQ(pthread_mutex_timedlock(&o->mutex, &soon), ETIMEDOUT);
	CHECK_EQ(pthread_mutex_clocklock(&o->mutex, CLOCK_MONOTONIC, &soon_too),
		 ETIMEDOUT);
	CHECK_EQ(pthread_mutex_timedlock(&o->mutex, &wrong), EINVAL);
	return NULL;
}

static void *check_own(void *arg)
{
	int type = (int)(intptr_t)arg;
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 5);
	int again = type == PTHREAD_MUTEX_RECURSIVE  ? 0 :
		    type == PTHREAD_MUTEX_ERRORCHECK ? EDEADLK :
						       ETIMEDOUT;

	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	CHECK_EQ(pthread_mutex_timedlock(&o->mutex, &soon), again);
	if (again == 0)
		CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	CHECK_EQ(pthread_mutex_trylock(&o->mutex),
		 again == ETIMEDOUT ? EBUSY : again);
	if (again == 0)
		CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	CHECK_EQ(sem_post(&o->held), 0);
	CHECK_EQ(sem_wait(&o->may_end), 0);
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), EPERM);
	return NULL;
}

TEST(types)
{
	static const intptr_t types[] = { PTHREAD_MUTEX_NORMAL,
					  PTHREAD_MUTEX_RECURSIVE,
					  PTHREAD_MUTEX_ERRORCHECK };

	map();
	if (is_third()) {
		check_others(NULL);
		exit(0);
	}
	for (int i = 0; i < 6; i++) {
		pthread_t owner;

		make((int)types[i / 2], i % 2);
		owner = thread_start(check_own, (void *)types[i / 2]);
		CHECK_EQ(sem_wait(&o->held), 0);
		check_others(NULL);
		thread_join(thread_start(check_others, NULL));
		await_child(start_third());
		CHECK_EQ(sem_post(&o->may_end), 0);
		thread_join(owner);
		CHECK_EQ(pthread_mutex_destroy(&o->mutex), 0);
	}
}

/* Returns the calling thread's priority according to the kernel. */
static int kernel_priority(void)
{
	FILE *stat = fopen("/proc/thread-self/stat", "r");
	int priority;

	CHECK(stat != NULL);
	CHECK_EQ(fscanf(stat,
			"%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
			"%*u %*u %*u %*d %*d %d",
			&priority),
		 1);
	fclose(stat);
	return priority;
}

static void *hold_until_lent(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	CHECK_EQ(sem_post(&o->held), 0);
	while (o->waiter == 0)
		sleep_ms(1);
	await_waiters(1, o->waiter);
	o->priority = kernel_priority();
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	CHECK(kernel_priority() >= 0);
	return NULL;
}

static void want_as_fifo(void)
{
	struct sched_param param = { .sched_priority = 30 };

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		exit(CHECK_STATUS_SKIP);
	want(NULL);
	exit(0);
}

/* A waiter of a native process boosts a thread on weft. */
TEST(boosts_between_processes)
{
	pthread_t holder;
	pid_t waiter;
	int status;

	map();
	if (is_third())
		want_as_fifo();
	make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	holder = thread_start(hold_until_lent, NULL);
	CHECK_EQ(sem_wait(&o->held), 0);
	waiter = o->waiter = start_third();
	CHECK_EQ(waitpid(waiter, &status, 0), waiter);
	if (WEXITSTATUS(status) == CHECK_STATUS_SKIP)
		SKIP("no real-time policies here");
	CHECK_EQ(status, 0);
	thread_join(holder);
	CHECK_EQ(o->priority, -1 - 30);
}

/* --- forks, signals, cancellation ----------------------------------------- */

static void use_in_child(void)
{
	CHECK_EQ(pthread_mutex_trylock(&o->mutex), EBUSY);
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), EPERM);
	run_threads(want);
	want(NULL);
}

static void *fork_holding(void *arg)
{
	pid_t pid;

	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		use_in_child();
		_exit(0);
	}
	await_waiters(NR_THREADS, pid);
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	await_child(pid);
	return NULL;
}

TEST(held_by_the_parent)
{
	map();
	if (is_third())
		return;
	for (int robust = 0; robust < 2; robust++) {
		make(PTHREAD_MUTEX_RECURSIVE, robust);
		fork_holding(NULL);
		thread_join(thread_start(fork_holding, NULL));
	}
}

static void set(int sig)
{
	o->is_set = true;
}

TEST(handler_in_the_wait)
{
	struct sigaction sa = { .sa_handler = set };
	pthread_t waiter;

	map();
	if (is_third())
		return;
	make(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
	CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	waiter = thread_start(want, NULL);
	await_waiters(1, getpid());
	CHECK_EQ(pthread_kill(waiter, SIGUSR1), 0);
	while (!o->is_set)
		sleep_ms(1);
	CHECK_EQ(o->nr_other, 0);
	CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
	thread_join(waiter);
	CHECK_EQ(o->nr_other, 1);
}

static void unlock(void *mutex)
{
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
	o->is_set = true;
}

static void *await_condition(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
	CHECK_EQ(sem_post(&o->held), 0);
	pthread_cleanup_push(unlock, &o->mutex);
	for (;;)
		pthread_cond_wait(&o->cond, &o->mutex);
	pthread_cleanup_pop(0);
}

TEST(cancelled_in_a_wait_for_a_condition)
{
	pthread_t waiter;

	map();
	if (is_third())
		return;
	for (int robust = 0; robust < 2; robust++) {
		make(PTHREAD_MUTEX_NORMAL, robust);
		waiter = thread_start(await_condition, NULL);
		CHECK_EQ(sem_wait(&o->held), 0);
		CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
		o->is_set = false;
		CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
		if (robust)
			await_rest();
		CHECK_EQ(pthread_cancel(waiter), 0);
		CHECK(thread_join(waiter) == PTHREAD_CANCELED);
		CHECK(o->is_set);
	}
}
