/* SPDX-License-Identifier: MIT */
/*
 * Acts that make processes at the same time, and acts with objects that these
 * share.
 */
#include "torture.h"

#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "child.h"

extern char **environ;

/* --- forks beside each other ---------------------------------------------- */

/* The locks that the atfork handlers take while a thread forks. */
static struct {
	pthread_mutex_t mutex;
	long pair[2];
	int nr_prepared;
} still = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void prepare(void)
{
	CHECK_EQ(pthread_mutex_lock(&still.mutex), 0);
	CHECK_EQ(still.nr_prepared++, 0);
}

static void go_on_after_fork(void)
{
	CHECK_EQ(--still.nr_prepared, 0);
	CHECK_EQ(pthread_mutex_unlock(&still.mutex), 0);
}

static void change_pair(uint64_t *random)
{
	CHECK_EQ(pthread_mutex_lock(&still.mutex), 0);
	CHECK_EQ(still.pair[0]++, still.pair[1]);
	stress_disturb(random);
	still.pair[1]++;
	CHECK_EQ(pthread_mutex_unlock(&still.mutex), 0);
}

struct forker {
	uint64_t random;
	pthread_barrier_t *barrier;
};

static void *change_in_child(void *arg)
{
	uint64_t random = (uintptr_t)arg;

	change_pair(&random);
	return NULL;
}

static void be_forked(uint64_t *random)
{
	pthread_t thread;

	CHECK_EQ(still.pair[0], still.pair[1]);
	thread = torture_start(random, change_in_child,
			       (void *)random_next(random));
	change_pair(random);
	thread_join(thread);
	CHECK_EQ(still.pair[0], still.pair[1]);
	_exit((int)(random_below(random, 100) + 100));
}

static void *fork_beside(void *arg)
{
	struct forker *f = arg;
	uint64_t in_child;
	pid_t child;
	int status;

	pthread_barrier_wait(f->barrier);
	change_pair(&f->random);
	in_child = random_next(&f->random);
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		be_forked(&in_child);
	change_pair(&f->random);
	status = child_wait(child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) >= 100);
	return arg;
}

void fork_together(uint64_t *random)
{
	struct forker forkers[3];
	pthread_barrier_t barrier;
	pthread_t threads[3];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 3), 0);
	for (int i = 0; i < 3; i++) {
		forkers[i] = (struct forker){ random_next(random), &barrier };
		threads[i] = torture_start(random, fork_beside, &forkers[i]);
	}
	threads_join(threads, 3);
	CHECK_EQ(pthread_barrier_destroy(&barrier), 0);
}

/* --- programs ------------------------------------------------------------- */

static void check_line(int fd, const char *expected)
{
	char line[64] = "";
	size_t length = 0;

	while (length < sizeof(line) - 1 &&
	       torture_read_byte(fd, &line[length]) == 1)
		length++;
	line[length] = '\0';
	CHECK_EQ(strcmp(line, expected), 0);
	CHECK_EQ(close(fd), 0);
}

static void *replace_process(void *arg)
{
	execl("/bin/echo", "echo", (char *)arg, (char *)NULL);
	_exit(1);
}

/* The child executes from a thread that is not its first, while others run. */
static pid_t start_by_exec(uint64_t *random, const int ends[2], char *word)
{
	pid_t child = fork();

	CHECK(child >= 0);
	if (child != 0)
		return child;
	torture_end_in_time();
	dup2(ends[1], STDOUT_FILENO);
	torture_start(random, thread_pause_for_ever, NULL);
	torture_start(random, replace_process, word);
	for (;;)
		stress_disturb(random);
}

static pid_t start_by_spawn(uint64_t *random, const int ends[2], char *word)
{
	char *argv[] = { "echo", word, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t child;

	sigemptyset(&none);
	CHECK_EQ(posix_spawn_file_actions_init(&actions), 0);
	CHECK_EQ(posix_spawn_file_actions_adddup2(&actions, ends[1], 1), 0);
	CHECK_EQ(posix_spawnattr_init(&attr), 0);
	CHECK_EQ(posix_spawnattr_setsigmask(&attr, &none), 0);
	CHECK_EQ(posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK), 0);
	CHECK_EQ(posix_spawn(&child, "/bin/echo", &actions, &attr, argv,
			     environ),
		 0);
	CHECK_EQ(posix_spawnattr_destroy(&attr), 0);
	CHECK_EQ(posix_spawn_file_actions_destroy(&actions), 0);
	return child;
}

static void *run_program(void *arg)
{
	uint64_t random = (uintptr_t)arg;
	char word[20], line[21];
	int ends[2];
	pid_t child;

	snprintf(word, sizeof(word), "%ld", random_below(&random, 1L << 40));
	snprintf(line, sizeof(line), "%s\n", word);
	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	child = random_below(&random, 2) ? start_by_spawn(&random, ends, word) :
					   start_by_exec(&random, ends, word);
	CHECK_EQ(close(ends[1]), 0);
	check_line(ends[0], line);
	CHECK_EQ(child_wait(child), 0);
	return NULL;
}

void run_programs(uint64_t *random)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		threads[i] = torture_start(random, run_program,
					   (void *)random_next(random));
	threads_join(threads, 2);
}

/* --- objects in memory that children share -------------------------------- */

#define NR_PINGS 20

struct table {
	sem_t ping, pong;
	long nr_pings;
};

static void answer_pings(struct table *t)
{
	for (int i = 0; i < NR_PINGS; i++) {
		while (sem_wait(&t->ping) != 0)
			CHECK_EQ(errno, EINTR);
		CHECK_EQ(t->nr_pings++, 2L * i + 1);
		CHECK_EQ(sem_post(&t->pong), 0);
	}
}

static void *map_shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

void play_with_child(uint64_t *random)
{
	struct table *t = map_shared(sizeof(*t));
	pid_t child;

	CHECK_EQ(sem_init(&t->ping, 1, 0), 0);
	CHECK_EQ(sem_init(&t->pong, 1, 0), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		torture_end_in_time();
		answer_pings(t);
		_exit(0);
	}
	for (int i = 0; i < NR_PINGS; i++) {
		CHECK_EQ(t->nr_pings++, 2L * i);
		CHECK_EQ(sem_post(&t->ping), 0);
		stress_disturb(random);
		while (sem_wait(&t->pong) != 0)
			CHECK_EQ(errno, EINTR);
	}
	CHECK_EQ(child_wait(child), 0);
	CHECK_EQ(t->nr_pings, 2L * NR_PINGS);
	CHECK_EQ(munmap(t, sizeof(*t)), 0);
}

/* --- owners that are killed at any instruction ---------------------------- */

#define NR_SAFES 3

struct safes {
	struct {
		pthread_mutex_t mutex;
		long pair[2];
	} safe[NR_SAFES];
	_Atomic int is_over;
	_Atomic int nr_users;
	uint64_t seed;
};

/* If a process is killed just when it is woken, the wake is lost: try again. */
static int lock_safe(pthread_mutex_t *mutex)
{
	struct timespec soon;
	int err;

	do {
		soon = deadline_ms(CLOCK_REALTIME, 20);
		err = pthread_mutex_timedlock(mutex, &soon);
	} while (err == ETIMEDOUT);
	return err;
}

static void use_safe(struct safes *s, uint64_t *random)
{
	long i = random_below(random, NR_SAFES);
	pthread_mutex_t *mutex = &s->safe[i].mutex;
	long *pair = s->safe[i].pair;
	int err = lock_safe(mutex);

	CHECK(err == 0 || err == EOWNERDEAD);
	if (err == EOWNERDEAD) {
		CHECK(pair[0] == pair[1] || pair[0] == pair[1] + 1);
		pair[1] = pair[0];
		CHECK_EQ(pthread_mutex_consistent(mutex), 0);
	}
	CHECK_EQ(pair[0]++, pair[1]);
	stress_disturb(random);
	pair[1]++;
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
}

static void *use_safes(void *arg)
{
	struct safes *s = arg;
	uint64_t random = s->seed + (uint64_t)s->nr_users++;

	while (!s->is_over)
		use_safe(s, &random);
	return NULL;
}

static struct safes *new_safes(uint64_t *random)
{
	struct safes *s = map_shared(sizeof(*s));
	pthread_mutexattr_t attr;

	s->seed = random_next(random);
	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&attr, 1), 0);
	CHECK_EQ(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST), 0);
	for (int i = 0; i < NR_SAFES; i++)
		CHECK_EQ(pthread_mutex_init(&s->safe[i].mutex, &attr), 0);
	CHECK_EQ(pthread_mutexattr_destroy(&attr), 0);
	return s;
}

void kill_owners(uint64_t *random)
{
	struct safes *s = new_safes(random);
	pthread_t threads[2];
	pid_t children[2];

	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		CHECK(children[i] >= 0);
		if (children[i] != 0)
			continue;
		torture_end_in_time();
		torture_start(random, use_safes, s);
		use_safes(s);
	}
	for (int i = 0; i < 2; i++)
		threads[i] = torture_start(random, use_safes, s);
	for (int i = 0; i < 2; i++) {
		usleep((useconds_t)random_below(random, 2000));
		CHECK_EQ(kill(children[i], SIGKILL), 0);
		CHECK_EQ(child_wait(children[i]), SIGKILL);
	}
	s->is_over = 1;
	threads_join(threads, 2);
	for (int i = 0; i < 50; i++)
		use_safe(s, random);
	CHECK_EQ(munmap(s, sizeof(*s)), 0);
}

void torture_processes_begin(void)
{
	CHECK_EQ(pthread_atfork(prepare, go_on_after_fork, go_on_after_fork),
		 0);
}
