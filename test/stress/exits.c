/* SPDX-License-Identifier: MIT */
/*
 * Processes that end in many ways while their threads run: by exit from any
 * thread or handler, by the end of the last thread, long after main's, by a
 * signal or another program. Handlers and destructors make threads. The parent
 * knows each child's status, and counts the bytes that its handlers wrote.
 */
#include "stress.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#define MOST_BUSY 4

static int ends[2]; /* a pipe with one byte from each exit handler */
static uint64_t seed;

static void say(void)
{
	if (write(ends[1], "h", 1) != 1)
		_exit(99);
}

/* --- what goes on meanwhile ----------------------------------------------- */

static void *be_nobody(void *arg)
{
	return arg;
}

static void *be_busy(void *arg)
{
	uint64_t random = seed + (uintptr_t)arg;

	for (;;) {
		switch (random_below(&random, 4)) {
		case 0:
			pthread_detach(thread_start(be_nobody, NULL));
			break;
		case 1:
			free(malloc((size_t)random_below(&random, 5000)));
			break;
		default:
			stress_disturb(&random);
			break;
		}
	}
	return NULL;
}

/* Starts a few busy threads at most; more detached threads could not run. */
static void be_busy_all(uint64_t *random)
{
	for (long i = random_below(random, MOST_BUSY); i > 0; i--)
		thread_start(be_busy, (void *)(uintptr_t)i);
}

static void *post_byte(void *arg)
{
	say();
	return arg;
}

static void at_exit_with_thread(void)
{
	thread_join(thread_start(post_byte, NULL));
}

static pthread_key_t key;
static _Atomic int nr_more;

static void make_another(void *value);

static void *have_value(void *arg)
{
	CHECK_EQ(pthread_setspecific(key, arg), 0);
	return NULL;
}

/* A thread's destructor makes the next thread, which outlives it. */
static void make_another(void *value)
{
	if (nr_more-- > 0)
		pthread_detach(thread_start(have_value, value));
}

/* --- ways to end ---------------------------------------------------------- */

static int status;

static void *call_exit(void *arg)
{
	uint64_t random = seed;

	stress_disturb(&random);
	exit(status);
	return arg;
}

static void by_exit_of_thread(uint64_t *random)
{
	be_busy_all(random);
	atexit(say);
	atexit(at_exit_with_thread);
	thread_start(call_exit, NULL);
	for (;;)
		pause();
}

static void by_exit_of_main(uint64_t *random)
{
	be_busy_all(random);
	atexit(at_exit_with_thread);
	atexit(say);
	stress_disturb(random);
	exit(status);
}

static void *end_late(void *arg)
{
	uint64_t random = seed + (uintptr_t)arg;

	stress_disturb(&random);
	stress_disturb(&random);
	return have_value(arg);
}

/* When the last thread ends, the process exits with 0. */
static void by_last_thread(uint64_t *random)
{
	atexit(say);
	atexit(at_exit_with_thread);
	CHECK_EQ(pthread_key_create(&key, make_another), 0);
	nr_more = (int)random_below(random, 10);
	for (long i = random_below(random, 5) + 1; i > 0; i--)
		pthread_detach(thread_start(end_late, (void *)i));
	stress_disturb(random);
	pthread_exit(NULL);
}

static void exit_in_handler(int sig)
{
	_exit(status);
}

static void by_handler(uint64_t *random)
{
	struct itimerval soon = { { 0, 0 }, { 0, 200 } };

	CHECK(signal(SIGALRM, exit_in_handler) != SIG_ERR);
	be_busy_all(random);
	CHECK_EQ(setitimer(ITIMER_REAL, &soon, NULL), 0);
	for (;;)
		stress_disturb(random);
}

static void *raise_fatal(void *arg)
{
	uint64_t random = seed;
	volatile int *nowhere = NULL;

	stress_disturb(&random);
	switch ((intptr_t)arg) {
	case SIGABRT:
		abort();
	case SIGSEGV:
		*nowhere = 1;
		break;
	case SIGKILL:
		kill(getpid(), SIGKILL);
		break;
	default:
		raise((int)(intptr_t)arg);
		break;
	}
	for (;;)
		pause();
	return NULL;
}

static const int fatal[] = { SIGABRT, SIGSEGV, SIGKILL, SIGTERM, SIGUSR1 };

static void by_signal(uint64_t *random)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	be_busy_all(random);
	thread_start(raise_fatal, (void *)(intptr_t)status);
	if (random_below(random, 2))
		pthread_exit(NULL);
	for (;;)
		stress_disturb(random);
}

static void *execute(void *arg)
{
	char command[32];

	snprintf(command, sizeof(command), "exit %d", status);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(98);
	return arg;
}

static void by_exec(uint64_t *random)
{
	be_busy_all(random);
	thread_start(execute, NULL);
	for (;;)
		stress_disturb(random);
}

/* A thread's child, which continues when that thread has ended. */
static void *fork_and_wait(void *arg)
{
	pid_t child = fork();
	int found;

	CHECK(child >= 0);
	if (child == 0) {
		have_threads();
		_exit(status);
	}
	CHECK_EQ(waitpid(child, &found, 0), child);
	_exit(WEXITSTATUS(found));
	return arg;
}

static void by_grandchild(uint64_t *random)
{
	be_busy_all(random);
	thread_start(fork_and_wait, NULL);
	pthread_exit(NULL);
}

static void at_quick_exit_say(void)
{
	say();
}

static void *call_quick_exit(void *arg)
{
	quick_exit(status);
	return arg;
}

static void by_quick_exit(uint64_t *random)
{
	be_busy_all(random);
	at_quick_exit(at_quick_exit_say);
	at_quick_exit(at_exit_with_thread);
	thread_start(call_quick_exit, NULL);
	for (;;)
		stress_disturb(random);
}

static jmp_buf back;

static void jump_back(int sig)
{
	siglongjmp(back, 1);
}

/* main leaves its wait by a jump and then ends. */
static void by_jump(uint64_t *random)
{
	struct itimerval soon = { { 0, 0 }, { 0, 300 } };

	atexit(say);
	atexit(say);
	be_busy_all(random);
	CHECK(signal(SIGALRM, jump_back) != SIG_ERR);
	if (sigsetjmp(back, 1) == 0) {
		CHECK_EQ(setitimer(ITIMER_REAL, &soon, NULL), 0);
		for (;;)
			pause();
	}
	exit(status);
}

static const struct way {
	void (*end)(uint64_t *);
	int nr_bytes; /* bytes that handlers write */
	bool is_signal, is_zero;
} ways[] = {
	{ by_exit_of_thread, 2, false, false },
	{ by_exit_of_main, 2, false, false },
	{ by_last_thread, 2, false, true },
	{ by_handler, 0, false, false },
	{ by_signal, 0, true, false },
	{ by_exec, 0, false, false },
	{ by_grandchild, 0, false, false },
	{ by_quick_exit, 2, false, false },
	{ by_jump, 2, false, false },
};

enum { NR_WAYS = sizeof(ways) / sizeof(ways[0]) };

static int count_bytes(void)
{
	char bytes[16];
	ssize_t n = read(ends[0], bytes, sizeof(bytes));

	return n < 0 ? 0 : (int)n;
}

static void end_one(uint64_t *random)
{
	const struct way *way = &ways[random_below(random, NR_WAYS)];
	int found;
	pid_t child;

	seed = random_next(random);
	status = way->is_signal ? fatal[random_below(random, 5)] :
				  (int)random_below(random, 90);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		way->end(random);
		_exit(97);
	}
	CHECK_EQ(waitpid(child, &found, 0), child);
	if (way->is_signal)
		CHECK_EQ(found, status);
	else
		CHECK_EQ(found, way->is_zero ? 0 : status << 8);
	CHECK_EQ(count_bytes(), way->nr_bytes);
}

static void *fork_often(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	for (long i = stress_scale(60); i > 0; i--)
		end_one(&random);
	return NULL;
}

int main(int argc, char **argv)
{
	stress_begin(argc, argv);
	CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
	thread_join(thread_start(fork_often, NULL));
	/* Also in a process that has no other threads. */
	fork_often((void *)1);
	return stress_end();
}
