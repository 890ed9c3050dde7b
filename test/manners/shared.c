/* SPDX-License-Identifier: MIT */
/*
 * One of several processes that share objects in a file, each natively or on
 * weft.
 *
 *     manners_shared make FILE          makes the objects for two processes
 *     manners_shared use FILE           one of the two processes; "ok"
 *     manners_shared hold FILE          locks, says "held", and stays
 *     manners_shared inherit FILE       locks; prints the result of the lock
 *     manners_shared pass FILE          one of two that pass tokens to and fro
 *                                       through a condition; "ok"
 *     manners_shared semaphore FILE     many threads wait and are woken; "ok".
 *                                       Also condition, reader, writer, barrier
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	NR_THREADS = 3,
	NR_ROUNDS = 300,
	NR_CROWD = 200,
	NR_MUTEXES = 4,
	NR_TOKENS = 2000,
};

struct shared {
	pthread_mutex_t mutexes[NR_MUTEXES];
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier, crowd;
	pthread_spinlock_t spin;
	sem_t sem;
	long counts[NR_MUTEXES], turns, written, spun;
	long tokens, taken;
};

static struct shared *s;

static void must(int is_true, const char *what)
{
	if (is_true)
		return;
	printf("not true: %s\n", what);
	exit(1);
}

#define MUST(x) must((x), #x)

static void make(void)
{
	static const int types[NR_MUTEXES] = {
		PTHREAD_MUTEX_NORMAL,
		PTHREAD_MUTEX_RECURSIVE,
		PTHREAD_MUTEX_NORMAL,
		PTHREAD_MUTEX_ERRORCHECK,
	};
	pthread_mutexattr_t mutex;
	pthread_condattr_t cond;
	pthread_rwlockattr_t rwlock;
	pthread_barrierattr_t barrier;

	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, 1);
	for (int i = 0; i < NR_MUTEXES; i++) {
		pthread_mutexattr_settype(&mutex, types[i]);
		pthread_mutexattr_setrobust(&mutex, i >= 2);
		MUST(pthread_mutex_init(&s->mutexes[i], &mutex) == 0);
	}
	pthread_condattr_init(&cond);
	pthread_condattr_setpshared(&cond, 1);
	MUST(pthread_cond_init(&s->cond, &cond) == 0);
	pthread_rwlockattr_init(&rwlock);
	pthread_rwlockattr_setpshared(&rwlock, 1);
	MUST(pthread_rwlock_init(&s->rwlock, &rwlock) == 0);
	pthread_barrierattr_init(&barrier);
	pthread_barrierattr_setpshared(&barrier, 1);
	MUST(pthread_barrier_init(&s->barrier, &barrier, 2 * NR_THREADS) == 0);
	MUST(pthread_barrier_init(&s->crowd, &barrier, NR_CROWD + 1) == 0);
	MUST(pthread_spin_init(&s->spin, 1) == 0);
	MUST(sem_init(&s->sem, 1, 1) == 0);
}

/*
 * Threads of both processes take turns: each waits for an even or an odd
 * number.
 */
static void take_turn(int i)
{
	pthread_mutex_t *m = &s->mutexes[i % NR_MUTEXES];

	pthread_barrier_wait(&s->barrier);
	MUST(pthread_mutex_lock(m) == 0);
	if (++s->turns % (2 * NR_THREADS) == 0)
		MUST(pthread_cond_broadcast(&s->cond) == 0);
	else
		while (s->turns < (i + 1) * 2L * NR_THREADS)
			MUST(pthread_cond_wait(&s->cond, m) == 0);
	MUST(pthread_mutex_unlock(m) == 0);
}

static void *use(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		int n = i % NR_MUTEXES;

		MUST(pthread_mutex_lock(&s->mutexes[n]) == 0);
		s->counts[n]++;
		MUST(pthread_mutex_unlock(&s->mutexes[n]) == 0);
		MUST(sem_wait(&s->sem) == 0);
		s->written++;
		MUST(sem_post(&s->sem) == 0);
		MUST(pthread_spin_lock(&s->spin) == 0);
		s->spun++;
		MUST(pthread_spin_unlock(&s->spin) == 0);
	}
	for (int i = 0; i < 8; i++)
		take_turn(i);
	pthread_barrier_wait(&s->barrier);
	MUST(pthread_rwlock_rdlock(&s->rwlock) == 0);
	for (int i = 0; i < NR_MUTEXES; i++)
		MUST(s->counts[i] == 2L * NR_THREADS * NR_ROUNDS / NR_MUTEXES);
	MUST(s->written == 2L * NR_THREADS * NR_ROUNDS);
	MUST(s->spun == s->written);
	MUST(pthread_rwlock_unlock(&s->rwlock) == 0);
	return arg;
}

static void unlock(void *mutex)
{
	MUST(pthread_mutex_unlock(mutex) == 0);
}

static int wait_for_token(int has_deadline)
{
	struct timespec soon;

	if (!has_deadline)
		return pthread_cond_wait(&s->cond, &s->mutexes[0]);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 200 * 1000;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	return pthread_cond_timedwait(&s->cond, &s->mutexes[0], &soon);
}

/* The caller holds the mutex. With a deadline it waits at least once. */
static void take_token(int has_deadline)
{
	int rc = 0;

	if (has_deadline)
		rc = wait_for_token(has_deadline);
	while (rc == 0 && s->tokens == 0 && s->taken < 2 * NR_TOKENS)
		rc = wait_for_token(has_deadline);
	MUST(rc == 0 || (has_deadline && rc == ETIMEDOUT));
	if (rc != 0 || s->tokens == 0)
		return;
	s->tokens--;
	if (++s->taken == 2 * NR_TOKENS)
		MUST(pthread_cond_broadcast(&s->cond) == 0);
}

static void *take_tokens(void *has_deadline)
{
	int is_over;

	do {
		MUST(pthread_mutex_lock(&s->mutexes[0]) == 0);
		pthread_cleanup_push(unlock, &s->mutexes[0]);
		take_token(has_deadline != NULL);
		is_over = s->taken >= 2 * NR_TOKENS;
		pthread_cleanup_pop(1);
	} while (!is_over);
	return NULL;
}

/*
 * Some threads wait without limit, some briefly, and one is cancelled and
 * replaced. One thread makes tokens. If a signal is lost, a thread waits for
 * ever.
 */
static void *pass(void *arg)
{
	pthread_t threads[2 * NR_THREADS], victim;
	int step = 0, is_over = 0;

	for (int i = 0; i < 2 * NR_THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, take_tokens,
				    i % 2 ? s : NULL) == 0);
	MUST(pthread_create(&victim, NULL, take_tokens, NULL) == 0);
	for (int nr = NR_TOKENS; nr > 0 || !is_over; step++) {
		MUST(pthread_mutex_lock(&s->mutexes[0]) == 0);
		is_over = s->taken == 2 * NR_TOKENS;
		for (int i = 0; i <= step % 3 && nr > 0; i++, nr--) {
			s->tokens++;
			MUST((step % 16 ?
				      pthread_cond_signal(&s->cond) :
				      pthread_cond_broadcast(&s->cond)) == 0);
		}
		MUST(pthread_mutex_unlock(&s->mutexes[0]) == 0);
		if (step % 8 == 0) {
			MUST(pthread_cancel(victim) == 0);
			MUST(pthread_join(victim, NULL) == 0);
			MUST(pthread_create(&victim, NULL, take_tokens, NULL) ==
			     0);
		}
		usleep(step % 4 ? 0 : 100);
	}
	for (int i = 0; i < 2 * NR_THREADS; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	MUST(pthread_join(victim, NULL) == 0);
	return arg;
}

static void *hold(void *arg)
{
	int rc = pthread_mutex_lock(&s->mutexes[2]);

	puts(rc == 0 ? "held" : strerror(rc));
	fflush(stdout);
	for (;;)
		pause();
	return arg;
}

static void *inherit(void *arg)
{
	puts(strerror(pthread_mutex_lock(&s->mutexes[2])));
	MUST(pthread_mutex_consistent(&s->mutexes[2]) == 0);
	MUST(pthread_mutex_unlock(&s->mutexes[2]) == 0);
	return arg;
}

static void *wait_for_semaphore(void *arg)
{
	MUST(sem_wait(&s->sem) == 0);
	return arg;
}

static void *wait_for_condition(void *arg)
{
	MUST(pthread_mutex_lock(&s->mutexes[0]) == 0);
	while (s->turns == 0)
		MUST(pthread_cond_wait(&s->cond, &s->mutexes[0]) == 0);
	s->turns--;
	MUST(pthread_mutex_unlock(&s->mutexes[0]) == 0);
	return arg;
}

static void *wait_for_reader(void *arg)
{
	MUST(pthread_rwlock_wrlock(&s->rwlock) == 0);
	MUST(pthread_rwlock_unlock(&s->rwlock) == 0);
	return arg;
}

static void *wait_for_writer(void *arg)
{
	MUST(pthread_rwlock_rdlock(&s->rwlock) == 0);
	MUST(pthread_rwlock_unlock(&s->rwlock) == 0);
	return arg;
}

static void *wait_for_barrier(void *arg)
{
	pthread_barrier_wait(&s->crowd);
	return arg;
}

static void hold_up(const char *what)
{
	if (strcmp(what, "semaphore") == 0)
		MUST(sem_wait(&s->sem) == 0);
	else if (strcmp(what, "reader") == 0)
		MUST(pthread_rwlock_rdlock(&s->rwlock) == 0);
	else if (strcmp(what, "writer") == 0)
		MUST(pthread_rwlock_wrlock(&s->rwlock) == 0);
}

/* Wakes half of the condition's waiters by signals, half by a broadcast. */
static void let_go(const char *what)
{
	for (int i = 0; i < NR_CROWD; i++) {
		if (strcmp(what, "semaphore") == 0) {
			MUST(sem_post(&s->sem) == 0);
		} else if (strcmp(what, "condition") == 0) {
			MUST(pthread_mutex_lock(&s->mutexes[0]) == 0);
			s->turns++;
			MUST((i < NR_CROWD / 2 ?
				      pthread_cond_signal(&s->cond) :
				      pthread_cond_broadcast(&s->cond)) == 0);
			MUST(pthread_mutex_unlock(&s->mutexes[0]) == 0);
		}
	}
	if (strcmp(what, "reader") == 0 || strcmp(what, "writer") == 0)
		MUST(pthread_rwlock_unlock(&s->rwlock) == 0);
	else if (strcmp(what, "barrier") == 0)
		pthread_barrier_wait(&s->crowd);
}

static void run(int nr, void *(*start)(void *), const char *crowd)
{
	pthread_t threads[NR_CROWD];

	if (crowd != NULL)
		hold_up(crowd);
	for (int i = 0; i < nr; i++)
		MUST(pthread_create(&threads[i], NULL, start, NULL) == 0);
	if (crowd != NULL) {
		usleep(20 * 1000);
		let_go(crowd);
	}
	for (int i = 0; i < nr; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
}

static const struct {
	const char *name;
	void *(*start)(void *);
	int nr_threads;
	int is_crowd;
} uses[] = {
	{ "use", use, NR_THREADS, 0 },
	{ "hold", hold, 1, 0 },
	{ "inherit", inherit, 1, 0 },
	{ "pass", pass, 1, 0 },
	{ "semaphore", wait_for_semaphore, NR_CROWD, 1 },
	{ "condition", wait_for_condition, NR_CROWD, 1 },
	{ "reader", wait_for_reader, NR_CROWD, 1 },
	{ "writer", wait_for_writer, NR_CROWD, 1 },
	{ "barrier", wait_for_barrier, NR_CROWD, 1 },
};

int main(int argc, char **argv)
{
	const char *what = argv[1];
	int fd;

	MUST(argc == 3);
	fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0 && ftruncate(fd, sizeof(*s)) == 0);
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(s != MAP_FAILED);
	if (strcmp(what, "make") == 0)
		make();
	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		if (strcmp(what, uses[i].name) == 0)
			run(uses[i].nr_threads, uses[i].start,
			    uses[i].is_crowd ? what : NULL);
	}
	puts("ok");
	return 0;
}
