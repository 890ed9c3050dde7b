/* SPDX-License-Identifier: MIT */
/*
 * A child of vfork runs in its parent's memory. The thread that made it waits
 * until the child executes a program or ends. Tested before there are threads,
 * and beside other threads. POSIX allows the child less than it does here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "busy.h"
#include "check.h"
#include "child.h"
#include "threading.h"

extern pid_t __vfork(void);

static volatile int shared;

/* A macro: no function's frame may lie between vfork and the child's end. */
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

static void *call(void *body)
{
	for (int i = 0; i < 5; i++)
		((void (*)(void))body)();
	return NULL;
}

/* Runs `body` in nr threads at a time, while others run. */
static void in_threads(void (*body)(void), int nr)
{
	pthread_t threads[100];

	busy_start(busy_in_libc, 4);
	threads_start(threads, nr, call, (void *)body);
	threads_join(threads, nr);
	busy_stop();
}

/* --- memory --------------------------------------------------------------- */

static void write_memory(void)
{
	int *heap = malloc(sizeof(*heap));
	volatile int local = 1;
	pid_t pid;

	*heap = 1;
	VFORK_CHILD(pid, local = 2, *(volatile int *)heap = 3);
	CHECK_EQ(local, 2);
	CHECK_EQ(*heap, 3);
	CHECK_EQ(exit_status(pid), 0);
	free(heap);
	pid = __vfork();
	if (pid == 0) {
		local = 4;
		_exit(7);
	}
	CHECK_EQ(local, 4);
	CHECK_EQ(exit_status(pid), 7);
}

TEST(memory_is_the_parents)
{
	write_memory();
}

TEST(memory_is_the_threads)
{
	in_threads(write_memory, 5);
}

static void fail_to_execute(void)
{
	volatile int err = 0;
	pid_t pid;

	VFORK_CHILD(pid, execl("/nowhere", "x", (char *)NULL), err = errno);
	CHECK_EQ(err, ENOENT);
	CHECK_EQ(exit_status(pid), 0);
}

TEST(why_exec_failed)
{
	fail_to_execute();
}

TEST(why_exec_failed_in_threads)
{
	in_threads(fail_to_execute, 5);
}

/* --- the parent waits ----------------------------------------------------- */

static void execute_late(void)
{
	volatile int local = 0;
	pid_t pid;

	VFORK_CHILD(pid, usleep(5000), local = 1,
		    execl("/bin/sh", "sh", "-c", "exit 8", (char *)NULL));
	CHECK_EQ(local, 1);
	CHECK_EQ(exit_status(pid), 8);
}

TEST(parent_waits)
{
	int ends[2];
	char c;
	pid_t pid;

	execute_late();
	CHECK_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	VFORK_CHILD(pid, usleep(20000),
		    execl("/bin/sleep", "sleep", "1000", (char *)NULL));
	CHECK_EQ(close(ends[1]), 0);
	CHECK_EQ(read(ends[0], &c, 1), 0); /* exec has closed the child's end */
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(WTERMSIG(child_wait(pid)), SIGKILL);
}

TEST(threads_execute)
{
	in_threads(execute_late, 3);
}

static void be_killed(void)
{
	pid_t pid;

	VFORK_CHILD(pid, kill(getpid(), SIGKILL));
	CHECK_EQ(WTERMSIG(child_wait(pid)), SIGKILL);
}

TEST(child_is_killed)
{
	be_killed();
}

TEST(childs_of_threads_are_killed)
{
	in_threads(be_killed, 5);
}

/* With so many vfork children at once some get copies of the memory. */
static void end_at_once(void)
{
	pid_t pid;

	VFORK_CHILD(pid, usleep(100));
	CHECK_EQ(exit_status(pid), 0);
}

TEST(many_at_a_time)
{
	in_threads(end_at_once, 100);
}

/* --- state that the child has for itself ---------------------------------- */

static void handle(int sig)
{
	shared = sig;
}

static void count(void)
{
	shared++;
}

TEST(fork_handlers_are_not_called)
{
	pid_t pid;

	CHECK_EQ(pthread_atfork(count, count, count), 0);
	VFORK_CHILD(pid, (void)0);
	CHECK_EQ(exit_status(pid), 0);
	in_threads(be_killed, 2);
	CHECK_EQ(shared, 0);
}

/* A shell's child takes these steps before it executes a program. */
static int become_job(void)
{
	struct sigaction old;
	sigset_t all, old_mask;
	int wrong = 0;

	sigfillset(&all);
	wrong |= sigaction(SIGUSR1, NULL, &old) != 0 ||
		 old.sa_handler != handle;
	wrong |= signal(SIGUSR1, SIG_DFL) != handle;
	wrong |= signal(SIGUSR2, SIG_IGN) != SIG_DFL;
	wrong |= sigprocmask(SIG_SETMASK, &all, &old_mask) != 0;
	wrong |= sigismember(&old_mask, SIGHUP) != 1;
	wrong |= sigismember(&old_mask, SIGTERM) != 0;
	wrong |= close(0) != 0;
	wrong |= dup2(2, 1) != 1;
	wrong |= setsid() != getpid();
	wrong |= (pid_t)syscall(SYS_gettid) != getpid();
	wrong |= gettid() != getpid();
	umask(0777);
	return wrong;
}

static void start_job(void)
{
	pid_t pid, session = getsid(0);
	struct sigaction old;
	sigset_t mask;
	int ends[2];
	char c;

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(dup2(ends[0], 0), 0);
	CHECK_EQ(dup2(ends[1], 1), 1);
	CHECK(signal(SIGUSR1, handle) != SIG_ERR);
	umask(022);
	sigemptyset(&mask);
	sigaddset(&mask, SIGHUP);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	VFORK_CHILD(pid, _exit(become_job()));
	CHECK_EQ(exit_status(pid), 0);
	CHECK_EQ(sigaction(SIGUSR1, NULL, &old), 0);
	CHECK(old.sa_handler == handle);
	CHECK_EQ(sigaction(SIGUSR2, NULL, &old), 0);
	CHECK(old.sa_handler == SIG_DFL);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
	CHECK_EQ(sigismember(&mask, SIGTERM), 0);
	CHECK_EQ(sigismember(&mask, SIGHUP), 1);
	CHECK_EQ(umask(022), 022);
	CHECK_EQ(getsid(0), session);
	CHECK_EQ(write(1, "x", 1), 1);
	CHECK_EQ(read(0, &c, 1), 1);
	CHECK_EQ(close(ends[0]), 0);
	CHECK_EQ(close(ends[1]), 0);
	shared = 0;
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(shared, SIGUSR1);
}

TEST(other_state_is_the_childs)
{
	start_job();
}

TEST(other_state_is_the_childs_of_a_thread)
{
	in_threads(start_job, 1);
}

static void signal_child(void)
{
	pid_t pid;

	CHECK(signal(SIGUSR1, handle) != SIG_ERR);
	shared = 0;
	VFORK_CHILD(pid, kill(getpid(), SIGUSR1), _exit(shared));
	CHECK_EQ(exit_status(pid), SIGUSR1);
	VFORK_CHILD(pid, raise(SIGTERM));
	CHECK_EQ(WTERMSIG(child_wait(pid)), SIGTERM);
}

TEST(signals_to_the_child)
{
	signal_child();
}

TEST(signals_to_a_threads_child)
{
	in_threads(signal_child, 1);
}

/* Waits for all kinds of things, by process-wide calls and by a thread's. */
static void wait_in_child(const int *ends)
{
	struct pollfd p = { ends[0], POLLIN, 0 };
	struct timespec ms = { 0, 1000000 };
	char c = 0;
	int copy;

	if (write(ends[1], "ab", 2) != 2 || poll(&p, 1, -1) != 1 ||
	    read(ends[0], &c, 1) != 1 || c != 'a')
		_exit(1);
	copy = fcntl(ends[0], F_DUPFD_CLOEXEC, 20);
	if (copy < 20 || close(ends[0]) != 0 || read(copy, &c, 1) != 1 ||
	    c != 'b' || close(copy) != 0)
		_exit(2);
	if (nanosleep(&ms, NULL) != 0 || usleep(1000) != 0)
		_exit(3);
	copy = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (copy < 0 || write(copy, "x", 1) != 1 || dup2(copy, ends[1]) < 0)
		_exit(4);
	sched_yield();
}

static void wait_there(void)
{
	int ends[2];
	char c;
	pid_t pid;

	CHECK_EQ(pipe(ends), 0);
	VFORK_CHILD(pid, wait_in_child(ends));
	CHECK_EQ(exit_status(pid), 0);
	/* The child's descriptors were copies. */
	CHECK_EQ(write(ends[1], "z", 1), 1);
	CHECK_EQ(read(ends[0], &c, 1), 1);
	CHECK_EQ(c, 'z');
	CHECK_EQ(close(ends[0]), 0);
	CHECK_EQ(close(ends[1]), 0);
}

TEST(calls_that_wait)
{
	wait_there();
}

TEST(calls_that_wait_in_a_threads_child)
{
	in_threads(wait_there, 4);
}

/* --- children of children, children of fork ------------------------------- */

static void have_grandchild(pid_t (*second)(void))
{
	pid_t pid = vfork();

	if (pid == 0) {
		int status;

		pid = second();
		if (pid == 0)
			_exit(5);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
		_exit(WEXITSTATUS(status) + 1);
	}
	CHECK(pid > 0);
	CHECK_EQ(exit_status(pid), 6);
}

static void have_grandchildren(void)
{
	have_grandchild(fork);
	have_grandchild(_Fork);
	have_grandchild(vfork); /* the child may get a copy of the memory */
}

TEST(children_of_the_child)
{
	have_grandchildren();
}

TEST(children_of_a_threads_child)
{
	in_threads(have_grandchildren, 2);
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

static void vfork_first(void)
{
	write_memory();
	use_threads();
	write_memory();
	use_threads();
}

TEST(in_a_child_of_fork)
{
	vfork_first();
	CHECK_EQ(child_exit_status(vfork_first), 0);
}

static int run(void *arg)
{
	*(volatile int *)arg = 6;
	return 4;
}

static void clone_child(void)
{
	enum { BYTES = 65536 };
	char *stack = malloc(BYTES);
	int n = 0;
	pid_t pid = clone(run, stack + BYTES - 16,
			  CLONE_VM | CLONE_VFORK | SIGCHLD, &n);

	CHECK(pid > 0);
	CHECK_EQ(n, 6);
	CHECK_EQ(exit_status(pid), 4);
	free(stack);
}

TEST(clone_that_shares_memory)
{
	clone_child();
	use_threads();
}

TEST(clone_by_threads)
{
	in_threads(clone_child, 4);
}

/* --- the thread that called vfork, seen by others ------------------------- */

static _Atomic int is_lent, is_signalled;

static void *vfork_for_long(void *arg)
{
	pid_t pid;

	VFORK_CHILD(pid, is_lent = 1; while (!is_signalled) usleep(1000));
	CHECK_EQ(shared, SIGUSR2);
	CHECK_EQ(exit_status(pid), 0);
	return arg;
}

TEST(thread_that_boosts_is_signalled)
{
	pthread_t thread;
	clockid_t clock;
	int policy;
	struct sched_param param;

	CHECK(signal(SIGUSR2, handle) != SIG_ERR);
	thread = thread_start(vfork_for_long, &thread);
	while (!is_lent)
		sched_yield();
	CHECK_EQ(pthread_kill(thread, 0), 0);
	CHECK_EQ(pthread_kill(thread, SIGUSR2), 0);
	CHECK_EQ(pthread_getschedparam(thread, &policy, &param), 0);
	CHECK_EQ(pthread_getcpuclockid(thread, &clock), 0);
	CHECK_EQ(shared, 0); /* the thread in the handler waits for its child */
	is_signalled = 1;
	CHECK(thread_join(thread) == &thread);
}
