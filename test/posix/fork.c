/* SPDX-License-Identifier: MIT */
/* fork in a process with threads: children that use threads, exec, fork
 * again; handlers of pthread_atfork. */
#include <linux/close_range.h>
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "busy.h"
#include "check.h"
#include "child.h"
#include "threading.h"

#define NR_BUSY 20

static _Atomic int is_over;
static __thread int mine = 7;

static void *add(void *arg)
{
	mine += (int)(intptr_t)arg;
	usleep(500);
	free(malloc(1000));
	return (void *)(intptr_t)mine;
}

static void use_threads(void)
{
	pthread_t threads[10];
	intptr_t sum = 0;

	mine = 100;
	threads_start_numbered(threads, 10, add);
	for (int i = 0; i < 10; i++)
		sum += (intptr_t)thread_join(threads[i]);
	CHECK_EQ(sum, 10 * 7 + 45);
	CHECK_EQ(mine, 100);
}

static void handle_nothing(int sig)
{
}

static bool has_default(int sig)
{
	struct sigaction action;

	CHECK_EQ(sigaction(sig, NULL, &action), 0);
	return action.sa_handler == SIG_DFL;
}

static pid_t fork_with(uint64_t flags)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	SKIP("ThreadSanitizer takes the parent's threads for the child's");
#endif
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0 && (errno == ENOSYS || errno == EPERM))
		SKIP("no clone3");
	CHECK(pid >= 0);
	return pid;
}

/* CLONE_CLEAR_SIGHAND resets handlers; an ignored signal stays ignored. */
TEST(child_without_handlers)
{
	pid_t child;

	busy_start(busy_in_libc, NR_BUSY);
	CHECK(signal(SIGUSR1, handle_nothing) != SIG_ERR);
	CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
	child = fork_with(CLONE_CLEAR_SIGHAND);
	if (child == 0) {
		CHECK(has_default(SIGUSR1) && !has_default(SIGUSR2));
		use_threads();
		CHECK(has_default(SIGUSR1) && !has_default(SIGUSR2));
		_exit(33);
	}
	CHECK_EQ(WEXITSTATUS(child_wait(child)), 33);
	CHECK(!has_default(SIGUSR1));
	busy_stop();
}

/* The child shares the parent's descriptors until it asks for its own. */
TEST(child_that_shares_descriptors)
{
	int fd = dup(STDOUT_FILENO);
	pid_t child;

	CHECK(fd >= 0);
	busy_start(busy_in_libc, NR_BUSY);
	child = fork_with(CLONE_FILES);
	if (child == 0) {
		long rc = syscall(SYS_close_range, fd, fd, CLOSE_RANGE_UNSHARE);

		syscall(SYS_exit_group, rc == 0 ? 33 : 1);
	}
	CHECK_EQ(WEXITSTATUS(child_wait(child)), 33);
	CHECK_EQ(close(fd), 0);
	busy_stop();
}

static void only_exit(void)
{
	_exit(33);
}

TEST(child_exits)
{
	busy_start(busy_in_libc, NR_BUSY);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(child_exit_status(only_exit), 33);
	busy_stop();
}

TEST(child_uses_threads)
{
	busy_start(busy_in_libc, NR_BUSY);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(child_exit_status(use_threads), 0);
	busy_stop();
}

static int nr_generations;

static void fork_again(void)
{
	use_threads();
	if (nr_generations-- > 0)
		CHECK_EQ(child_exit_status(fork_again), 0);
	use_threads();
}

TEST(forks_of_forks)
{
	busy_start(busy_in_libc, NR_BUSY);
	nr_generations = 5;
	CHECK_EQ(child_exit_status(fork_again), 0);
	busy_stop();
	use_threads();
}

static void *fork_from_thread(void *arg)
{
	for (int i = 0; i < 5; i++)
		CHECK_EQ(child_exit_status(use_threads), 0);
	return arg;
}

TEST(fork_in_a_thread)
{
	busy_start(busy_in_libc, NR_BUSY);
	thread_join(thread_start(fork_from_thread, NULL));
	busy_stop();
}

/* child.c stores one body at a time; all these threads use the same. */
TEST(two_threads_fork_at_once)
{
	pthread_t threads[4];

	busy_start(busy_in_libc, NR_BUSY);
	threads_start(threads, 4, fork_from_thread, NULL);
	threads_join(threads, 4);
	busy_stop();
}

static void exec_true(void)
{
	execl("/bin/sh", "sh", "-c", "exit 19", (char *)NULL);
	_exit(1);
}

static void *exec_from_thread(void *arg)
{
	for (int i = 0; i < 5; i++)
		CHECK_EQ(child_exit_status(exec_true), 19);
	return arg;
}

TEST(exec_in_the_child)
{
	pthread_t threads[4];

	busy_start(busy_in_libc, NR_BUSY);
	exec_from_thread(NULL);
	threads_start(threads, 4, exec_from_thread, NULL);
	threads_join(threads, 4);
	busy_stop();
}

static void *call_exec(void *arg)
{
	execl("/bin/sh", "sh", "-c", "exit 21", (char *)NULL);
	return arg;
}

static void exec_with_threads(void)
{
	busy_start(busy_in_libc, NR_BUSY);
	thread_join(thread_start(call_exec, NULL));
}

TEST(exec_from_a_thread)
{
	CHECK_EQ(child_exit_status(exec_with_threads), 21);
}

/* The forking thread is the child's first thread and may end as such. */
static void end_as_main(void)
{
	thread_start(add, NULL);
	pthread_exit(NULL);
}

static void *fork_and_end(void *arg)
{
	CHECK_EQ(child_exit_status(end_as_main), 0);
	return arg;
}

TEST(child_ends_by_pthread_exit)
{
	thread_join(thread_start(fork_and_end, NULL));
}

static pid_t seen_pid;

static void check_ids(void)
{
	CHECK(getpid() != seen_pid);
	CHECK_EQ(getppid(), seen_pid);
	CHECK_EQ(gettid(), getpid());
}

static void *fork_and_check_ids(void *arg)
{
	CHECK_EQ(child_exit_status(check_ids), 0);
	return arg;
}

TEST(ids_in_the_child)
{
	seen_pid = getpid();
	fork_and_check_ids(NULL);
	thread_join(thread_start(fork_and_check_ids, NULL));
}

static char order[32];

static void note(const char *what)
{
	strcat(order, what);
}

static void prepare_a(void)
{
	note("p");
}

static void parent_a(void)
{
	note("f");
}

static void child_a(void)
{
	note("c");
}

static void prepare_b(void)
{
	note("P");
}

static void parent_b(void)
{
	note("F");
}

static void child_b(void)
{
	note("C");
}

static void check_child_order(void)
{
	CHECK(strcmp(order, "PpcC") == 0);
	use_threads();
}

TEST(atfork_order)
{
	CHECK_EQ(pthread_atfork(prepare_a, parent_a, child_a), 0);
	CHECK_EQ(pthread_atfork(prepare_b, parent_b, child_b), 0);
	use_threads();
	CHECK_EQ(child_exit_status(check_child_order), 0);
	CHECK(strcmp(order, "PpfF") == 0);
}

/*
 * The classic use: the parent takes all locks before the fork, and both sides
 * release them.
 */
static pthread_mutex_t guarded = PTHREAD_MUTEX_INITIALIZER;

static void lock_guarded(void)
{
	pthread_mutex_lock(&guarded);
}

static void unlock_guarded(void)
{
	pthread_mutex_unlock(&guarded);
}

static void *hold_guarded(void *arg)
{
	while (!is_over) {
		lock_guarded();
		usleep(100);
		unlock_guarded();
		usleep(10);
	}
	return arg;
}

static void lock_in_child(void)
{
	lock_guarded();
	unlock_guarded();
	use_threads();
}

TEST(atfork_locks)
{
	pthread_t threads[4];

	CHECK_EQ(pthread_atfork(lock_guarded, unlock_guarded, unlock_guarded),
		 0);
	threads_start(threads, 4, hold_guarded, NULL);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(child_exit_status(lock_in_child), 0);
	is_over = 1;
	threads_join(threads, 4);
}

static void *spawn_and_system(void *arg)
{
	char *argv[] = { "sh", "-c", "exit 5", NULL };
	char *env[] = { NULL };
	char line[16] = "";
	int status;
	pid_t pid;
	FILE *pipe;

	CHECK_EQ(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, env), 0);
	CHECK_EQ(WEXITSTATUS(child_wait(pid)), 5);
	status = system("exit 6");
	CHECK_EQ(WEXITSTATUS(status), 6);
	pipe = popen("echo popen", "r");
	CHECK(pipe != NULL);
	CHECK(fgets(line, sizeof(line), pipe) != NULL);
	CHECK(strcmp(line, "popen\n") == 0);
	CHECK_EQ(pclose(pipe), 0);
	return arg;
}

TEST(spawn_system_popen)
{
	pthread_t threads[4];

	busy_start(busy_in_libc, NR_BUSY);
	spawn_and_system(NULL);
	threads_start(threads, 4, spawn_and_system, NULL);
	threads_join(threads, 4);
	busy_stop();
}

static void *vfork_and_exec(void *arg)
{
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 8", (char *)NULL);
		_exit(1);
	}
	CHECK(pid > 0);
	status = child_wait(pid);
	CHECK_EQ(WEXITSTATUS(status), 8);
	return arg;
}

TEST(vfork_from_threads)
{
	pthread_t threads[4];

	busy_start(busy_in_libc, NR_BUSY);
	vfork_and_exec(NULL);
	threads_start(threads, 4, vfork_and_exec, NULL);
	threads_join(threads, 4);
	busy_stop();
}

static pthread_mutex_t inheriting[2];

static void init_inheriting(int i)
{
	pthread_mutexattr_t attr;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT), 0);
	CHECK_EQ(pthread_mutex_init(&inheriting[i], &attr), 0);
}

static void *lock_often(void *mutex)
{
	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(pthread_mutex_lock(mutex), 0);
		CHECK_EQ(pthread_mutex_unlock(mutex), 0);
	}
	return NULL;
}

static void use_inheriting(void)
{
	pthread_t threads[4];

	init_inheriting(1);
	threads_start(threads, 4, lock_often, &inheriting[1]);
	threads_join(threads, 4);
}

/*
 * The threads that wait for the mutexes, or are about to, do not exist in the
 * child.
 */
TEST(mutexes_with_inheritance)
{
	pthread_t waiting[4], locking[2];

	init_inheriting(0);
	init_inheriting(1);
	CHECK_EQ(pthread_mutex_lock(&inheriting[0]), 0);
	threads_start(waiting, 4, lock_often, &inheriting[0]);
	for (int i = 0; i < 5; i++) {
		threads_start(locking, 2, lock_often, &inheriting[1]);
		CHECK_EQ(child_exit_status(use_inheriting), 0);
		threads_join(locking, 2);
	}
	CHECK_EQ(pthread_mutex_unlock(&inheriting[0]), 0);
	threads_join(waiting, 4);
}
