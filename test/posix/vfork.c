/*
 * Before a process has threads, a child of vfork borrows its memory, and it
 * waits for the child to execute a program or to end.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

extern pid_t __vfork(void);

static volatile int shared;

/* No frame of its own may lie between vfork and the child's end. */
#define VFORK_CHILD(pid, ...)        \
	do {                         \
		(pid) = vfork();     \
		if ((pid) == 0) {    \
			__VA_ARGS__; \
			_exit(0);    \
		}                    \
		CHECK((pid) > 0);    \
	} while (0)

static int exit_status(pid_t pid)
{
	int status = child_wait(pid);

	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void die_in_child(void)
{
	pid_t pid;

	VFORK_CHILD(pid, kill(getpid(), SIGKILL));
	CHECK_EQ(WTERMSIG(child_wait(pid)), SIGKILL);
}

TEST(memory_is_the_parents)
{
	volatile int local = 1;
	pid_t pid;

	shared = 1;
	VFORK_CHILD(pid, local = 2, shared = 3);
	CHECK_EQ(local, 2);
	CHECK_EQ(shared, 3);
	CHECK_EQ(exit_status(pid), 0);
	pid = __vfork();
	if (pid == 0) {
		shared = 4;
		_exit(7);
	}
	CHECK_EQ(shared, 4);
	CHECK_EQ(exit_status(pid), 7);
}

TEST(why_exec_failed)
{
	volatile int err = 0;
	pid_t pid;

	VFORK_CHILD(pid, execl("/nowhere", "x", (char *)NULL), err = errno);
	CHECK_EQ(err, ENOENT);
	CHECK_EQ(exit_status(pid), 0);
}

TEST(parent_waits_for_exec)
{
	int ends[2];
	char c;
	pid_t pid;

	CHECK_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	VFORK_CHILD(pid, usleep(20000),
		    execl("/bin/sh", "sh", "-c", "exit 8", (char *)NULL));
	CHECK_EQ(close(ends[1]), 0);
	CHECK_EQ(read(ends[0], &c, 1), 0); /* the child's end went by exec */
	CHECK_EQ(exit_status(pid), 8);
	CHECK_EQ(close(ends[0]), 0);
}

static void count(void)
{
	shared++;
}

TEST(fork_handlers_are_not_called)
{
	pid_t pid;

	CHECK_EQ(pthread_atfork(count, count, count), 0);
	shared = 0;
	VFORK_CHILD(pid, (void)0);
	CHECK_EQ(shared, 0);
	CHECK_EQ(exit_status(pid), 0);
}

static void handle(int sig)
{
	shared = sig;
}

/* What a shell's child does before it executes a program. */
static void become_job(void)
{
	sigset_t all;

	sigfillset(&all);
	signal(SIGUSR1, SIG_DFL);
	signal(SIGUSR2, SIG_IGN);
	sigprocmask(SIG_SETMASK, &all, NULL);
	close(0);
	dup2(2, 1);
	setsid();
	umask(0777);
	_exit(0);
}

TEST(other_state_is_the_childs)
{
	struct sigaction old;
	sigset_t mask;
	pid_t pid, session = getsid(0);
	char c;
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(dup2(ends[0], 0), 0);
	CHECK_EQ(dup2(ends[1], 1), 1);
	CHECK(signal(SIGUSR1, handle) != SIG_ERR);
	umask(022);
	VFORK_CHILD(pid, become_job());
	CHECK_EQ(exit_status(pid), 0);
	CHECK_EQ(sigaction(SIGUSR1, NULL, &old), 0);
	CHECK(old.sa_handler == handle);
	CHECK_EQ(sigaction(SIGUSR2, NULL, &old), 0);
	CHECK(old.sa_handler == SIG_DFL);
	CHECK_EQ(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
	CHECK_EQ(sigismember(&mask, SIGTERM), 0);
	CHECK_EQ(umask(022), 022);
	CHECK_EQ(getsid(0), session);
	CHECK_EQ(write(1, "x", 1), 1);
	CHECK_EQ(read(0, &c, 1), 1);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(shared, SIGUSR1);
}

TEST(child_is_killed)
{
	die_in_child();
}

/* The second one may get a copy. */
TEST(vfork_in_its_child)
{
	pid_t pid;

	pid = vfork();
	if (pid == 0) {
		pid_t second = vfork();
		int status;

		if (second == 0)
			_exit(5);
		while (waitpid(second, &status, 0) < 0 && errno == EINTR)
			continue;
		_exit(WEXITSTATUS(status) + 1);
	}
	CHECK(pid > 0);
	CHECK_EQ(exit_status(pid), 6);
}

TEST(fork_in_its_child)
{
	pid_t pid;

	pid = vfork();
	if (pid == 0) {
		pid_t second = fork();
		int status;

		if (second == 0)
			_exit(5);
		while (waitpid(second, &status, 0) < 0 && errno == EINTR)
			continue;
		_exit(WEXITSTATUS(status) + 1);
	}
	CHECK(pid > 0);
	CHECK_EQ(exit_status(pid), 6);
}

static void *yield_and_return(void *arg)
{
	sched_yield();
	return arg;
}

static void use_threads(void)
{
	pthread_t threads[20];

	threads_start(threads, 20, yield_and_return, NULL);
	threads_join(threads, 20);
}

static void vfork_and_exec(void)
{
	pid_t pid;

	VFORK_CHILD(pid, execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL));
	CHECK_EQ(exit_status(pid), 9);
}

static void vfork_first(void)
{
	volatile int local = 0;
	pid_t pid;

	VFORK_CHILD(pid, local = 1);
	CHECK_EQ(local, 1);
	CHECK_EQ(exit_status(pid), 0);
	use_threads();
	vfork_and_exec();
}

TEST(threads_come_after)
{
	vfork_first();
}

TEST(in_a_child_of_fork)
{
	use_threads();
	CHECK_EQ(child_exit_status(vfork_first), 0);
}

static int run(void *arg)
{
	*(volatile int *)arg = 6;
	return 4;
}

TEST(clone_that_borrows)
{
	static char stack[65536] __attribute__((aligned(16)));
	int n = 0;
	pid_t pid = clone(run, stack + sizeof(stack),
			  CLONE_VM | CLONE_VFORK | SIGCHLD, &n);

	CHECK(pid > 0);
	CHECK_EQ(n, 6);
	CHECK_EQ(exit_status(pid), 4);
	use_threads();
}
