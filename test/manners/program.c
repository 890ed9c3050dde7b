/* SPDX-License-Identifier: MIT */
/*
 * Used by the tests in this folder: a program with threads. Each command does
 * one thing that would reveal weft if weft changed its result.
 *
 *     manners_program COMMAND [ARGS...]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NR_THREADS = 8, ROUNDS = 2000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void check(int err, const char *what)
{
	if (err != 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(err));
		exit(99);
	}
}

static void *count(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *block = malloc(16 + (size_t)i % 512);

		block[0] = (char)i;
		check(pthread_mutex_lock(&lock), "lock");
		total += block[0] == (char)i;
		check(pthread_mutex_unlock(&lock), "unlock");
		free(block);
	}
	return arg;
}

/* Threads that allocate, lock, and are joined; prints their sum. */
static void run_threads(void)
{
	pthread_t threads[NR_THREADS];
	void *result;

	total = 0;
	for (long i = 0; i < NR_THREADS; i++)
		check(pthread_create(&threads[i], NULL, count, (void *)i),
		      "create");
	for (long i = 0; i < NR_THREADS; i++) {
		check(pthread_join(threads[i], &result), "join");
		if (result != (void *)i)
			exit(98);
	}
	printf("total %ld\n", total);
	fflush(stdout);
}

/* --- descriptors --- */

/* Prints the numbers that the next descriptors get. */
static void print_next(const char *when)
{
	int pipes[2];
	int fd = open("/dev/null", O_RDONLY);

	check(pipe(pipes) < 0 ? errno : 0, "pipe");
	printf("%s: %d %d %d\n", when, fd, pipes[0], pipes[1]);
	fflush(stdout);
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
}

static void close_loop(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
}

static void close_from(void)
{
	closefrom(3);
}

static void close_all(void)
{
	check(close_range(3, ~0U, 0) < 0 ? errno : 0, "close_range");
}

static void close_raw(void)
{
	check(syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_UNSHARE) < 0 ?
		      errno :
		      0,
	      "close_range");
}

/* Runs before there are threads, and while there are some. */
static int around(void (*close_them)(void))
{
	print_next("at start");
	close_them();
	print_next("closed");
	run_threads();
	print_next("with threads");
	close_them();
	print_next("closed again");
	run_threads();
	return 0;
}

static int descriptors(const char *how)
{
	if (strcmp(how, "loop") == 0)
		return around(close_loop);
	if (strcmp(how, "closefrom") == 0)
		return around(close_from);
	if (strcmp(how, "range") == 0)
		return around(close_all);
	if (strcmp(how, "raw") == 0)
		return around(close_raw);
	return 2;
}

/* --- ends --- */

static void *sleep_forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *end_by(void *how)
{
	if (strcmp(how, "exit") == 0)
		exit(3);
	if (strcmp(how, "_exit") == 0)
		_exit(3);
	if (strcmp(how, "_Exit") == 0)
		_Exit(3);
	if (strcmp(how, "quick_exit") == 0)
		quick_exit(3);
	if (strcmp(how, "exit_group") == 0)
		syscall(SYS_exit_group, 3);
	if (strcmp(how, "abort") == 0)
		abort();
	if (strcmp(how, "term") == 0)
		raise(SIGTERM);
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	return NULL;
}

/* Ends the process from a second thread, or from the first. */
static int end(const char *how, int in_thread)
{
	pthread_t thread;

	run_threads();
	check(pthread_create(&thread, NULL, sleep_forever, NULL), "create");
	if (strcmp(how, "last") == 0) {
		pthread_cancel(thread);
		pthread_exit(NULL);
	}
	if (!in_thread) {
		end_by((void *)how);
		return 3; /* `how` is "return" */
	}
	check(pthread_create(&thread, NULL, end_by, (void *)how), "create");
	pthread_join(thread, NULL);
	return 4;
}

/* A function with its own frame, which a debugger can name. */
__attribute__((noinline)) static void crash_here(volatile int *where)
{
	*where = 1;
	__asm__ volatile("" ::: "memory");
}

static void *crash(void *arg)
{
	/* The thread has been switched often before it crashes. */
	for (int i = 0; i < 100; i++)
		sched_yield();
	crash_here(arg);
	return NULL;
}

static int crash_with(int nr_others, int in_main)
{
	pthread_t thread;

	for (int i = 0; i < nr_others; i++)
		check(pthread_create(&thread, NULL, sleep_forever, NULL),
		      "create");
	if (in_main)
		crash(NULL);
	check(pthread_create(&thread, NULL, crash, NULL), "create");
	pthread_join(thread, NULL);
	return 1;
}

/* --- programs --- */

static void *execute(void *argv)
{
	execv(*(char **)argv, argv);
	perror("execv");
	_exit(97);
}

/* Prints the pid, then replaces itself from a second thread. */
static int execute_in_thread(char **argv)
{
	pthread_t thread;

	run_threads();
	printf("pid %d\n", getpid());
	fflush(stdout);
	check(pthread_create(&thread, NULL, execute, argv), "create");
	pthread_join(thread, NULL);
	return 1;
}

/* Starts a program by fork and exec or by posix_spawn; prints how it ended. */
static int spawn(char **argv, int by_fork)
{
	int status;
	pid_t pid;

	run_threads();
	if (by_fork) {
		pid = fork();
		if (pid == 0)
			execute(argv);
	} else {
		check(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ),
		      "posix_spawn");
	}
	waitpid(pid, &status, 0);
	printf("ended %d\n", status);
	return 0;
}

/* Pauses for a debugger or tracer, then works. */
static int wait_and_work(void)
{
	pthread_t thread;

	run_threads();
	for (int i = 0; i < NR_THREADS; i++)
		check(pthread_create(&thread, NULL, sleep_forever, NULL),
		      "create");
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		run_threads();
	return 0;
}

/* The process's threads compute for a quarter of a second of CPU time. */
static void *compute(void *arg)
{
	clock_t until = clock() + CLOCKS_PER_SEC / 4;

	while (clock() < until)
		count(NULL);
	return arg;
}

static int compute_in_threads(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		check(pthread_create(&threads[i], NULL, compute, NULL),
		      "create");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts("done");
	return 0;
}

/* Prints the year, which libfaketime changes. */
static int print_year(void)
{
	time_t now = time(NULL);

	run_threads();
	printf("%d\n", 1900 + gmtime(&now)->tm_year);
	return 0;
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int is_signalled;

static void *signal_cond(void *arg)
{
	pthread_mutex_lock(&lock);
	is_signalled = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

static int wait_cond(time_t seconds, long ns)
{
	struct timespec until;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds + (until.tv_nsec + ns) / 1000000000;
	until.tv_nsec = (until.tv_nsec + ns) % 1000000000;
	while (err == 0 && !is_signalled)
		err = pthread_cond_timedwait(&cond, &lock, &until);
	return err;
}

/* A timed wait that is woken, and one that times out. */
static int wait_timed(void)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	check(pthread_create(&thread, NULL, signal_cond, NULL), "create");
	puts(wait_cond(1000, 0) == 0 ? "woken" : "not woken");
	is_signalled = 0;
	puts(wait_cond(0, 20000000) == ETIMEDOUT ? "timed out" : "what?");
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	const char *arg = argc > 2 ? argv[2] : "";

	if (strcmp(command, "work") == 0)
		return run_threads(), 0;
	if (strcmp(command, "descriptors") == 0)
		return descriptors(arg);
	if (strcmp(command, "end") == 0)
		return end(arg, 0);
	if (strcmp(command, "end-in-thread") == 0)
		return end(arg, 1);
	if (strcmp(command, "crash") == 0)
		return crash_with(8, strcmp(arg, "main") == 0);
	if (strcmp(command, "exec") == 0)
		return execute_in_thread(argv + 2);
	if (strcmp(command, "spawn") == 0)
		return spawn(argv + 2, 1);
	if (strcmp(command, "posix_spawn") == 0)
		return spawn(argv + 2, 0);
	if (strcmp(command, "execvp") == 0)
		return execvp(argv[2], argv + 2);
	if (strcmp(command, "wait") == 0)
		return wait_and_work();
	if (strcmp(command, "compute") == 0)
		return compute_in_threads();
	if (strcmp(command, "timed") == 0)
		return wait_timed();
	if (strcmp(command, "year") == 0)
		return print_year();
	fprintf(stderr, "unknown command '%s'\n", command);
	return 2;
}
