/* SPDX-License-Identifier: MIT */
/*
 * Waiting for children: which thread gets which child, which events end a wait,
 * and which do not.
 */
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "waiting.h"

/* Each child ends when the last writer of this pipe is gone. */
static int leash[2];
static _Atomic int nr_waiting, nr_done;

static void make_leash(void)
{
	CHECK_EQ(pipe2(leash, O_CLOEXEC), 0);
}

static void let_them_end(void)
{
	CHECK_EQ(close(leash[1]), 0);
}

/* Starts a child that ends with `status` when the leash is cut. */
static pid_t start_child(int status)
{
	pid_t pid = fork();
	char c;

	CHECK(pid >= 0);
	if (pid > 0)
		return pid;
	close(leash[1]);
	while (read(leash[0], &c, 1) < 0)
		continue;
	_exit(status);
}

/* --- which thread gets which child ---------------------------------------- */

static void *wait_for_one(void *arg)
{
	int number = (int)(intptr_t)arg, status = 0;
	pid_t pid = start_child(number);

	nr_waiting++;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), number);
	nr_done++;
	CHECK_ERRNO(waitpid(pid, &status, 0), ECHILD);
	return NULL;
}

static void each_waits_for_its_own(int nr)
{
	static pthread_t threads[200];

	make_leash();
	threads_start_numbered(threads, nr, wait_for_one);
	await_count(&nr_waiting, nr);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	let_them_end();
	threads_join(threads, nr);
}

TEST(each_waits_for_its_own_child)
{
	each_waits_for_its_own(30);
}

TEST(more_wait_than_weft_has_workers)
{
	each_waits_for_its_own(140);
}

static _Atomic int nr_of_status[20];

static void *wait_for_any(void *arg)
{
	int status = 0;

	nr_waiting++;
	CHECK(wait(&status) > 0);
	nr_of_status[WEXITSTATUS(status)]++;
	return arg;
}

TEST(each_child_goes_to_one_thread)
{
	pthread_t threads[20];

	make_leash();
	for (int i = 0; i < 20; i++)
		start_child(i);
	threads_start(threads, 20, wait_for_any, NULL);
	await_count(&nr_waiting, 20);
	others_go_on();
	let_them_end();
	threads_join(threads, 20);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(nr_of_status[i], 1);
	CHECK_ERRNO(wait(NULL), ECHILD);
}

static pid_t leader, loner;

static void *wait_for_group(void *arg)
{
	siginfo_t info = { 0 };
	int status;

	nr_waiting++;
	CHECK_EQ(waitpid(-leader, &status, 0), leader);
	CHECK_EQ(WEXITSTATUS(status), 7);
	CHECK_ERRNO(waitid(P_PGID, (id_t)leader, &info, WEXITED), ECHILD);
	return arg;
}

TEST(groups)
{
	pthread_t thread;

	make_leash();
	leader = start_child(7);
	CHECK_EQ(setpgid(leader, leader), 0);
	loner = start_child(8);
	thread = thread_start(wait_for_group, NULL);
	await_count(&nr_waiting, 1);
	others_go_on();
	let_them_end();
	thread_join(thread);
	CHECK_EQ(waitpid(0, NULL, 0), loner);
}

/* --- status that a wait reports ------------------------------------------- */

static void *see_all_changes(void *arg)
{
	pid_t pid = (pid_t)(intptr_t)arg;
	int status = 0;

	nr_waiting = 1;
	CHECK_EQ(waitpid(pid, &status, WUNTRACED | WCONTINUED), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	nr_waiting = 2;
	CHECK_EQ(waitpid(pid, &status, WUNTRACED | WCONTINUED), pid);
	CHECK(WIFCONTINUED(status));
	nr_waiting = 3;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return NULL;
}

TEST(stops_and_continuations)
{
	static const int signals[] = { SIGSTOP, SIGCONT, SIGKILL };
	pthread_t thread;
	pid_t pid;

	make_leash();
	pid = start_child(0);
	thread = thread_start(see_all_changes, (void *)(intptr_t)pid);
	for (int i = 0; i < 3; i++) {
		await_count(&nr_waiting, i + 1);
		others_go_on();
		CHECK_EQ(kill(pid, signals[i]), 0);
	}
	thread_join(thread);
}

static void *see_traced_child(void *arg)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		await_rest_of(getppid());
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		kill(getpid(), SIGUSR1);
		_exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	return arg;
}

TEST(a_traced_child_stops)
{
	thread_join(thread_start(see_traced_child, NULL));
}

/* Lets a child enter its next system call, and returns that call's number. */
static uint64_t next_system_call(pid_t pid)
{
	struct __ptrace_syscall_info info = { 0 };
	int status = 0;

	CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80));
	CHECK(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0);
	CHECK_EQ(info.op, PTRACE_SYSCALL_INFO_ENTRY);
	return info.entry.nr;
}

static void *see_next_system_call(void *arg)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		pid = getpid();
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		kill(pid, SIGSTOP);
		kill(pid, SIGUSR1);
		_exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD),
		 0);
	CHECK_EQ(next_system_call(pid), SYS_kill);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return arg;
}

TEST(a_tracer_sees_a_single_thread_s_kill)
{
	thread_join(thread_start(see_next_system_call, NULL));
}

static void *wait_in_all_ways(void *arg)
{
	struct rusage usage = { .ru_nsignals = 77 };
	siginfo_t info = { 0 };
	int status = 0;
	pid_t pid;

	make_leash();
	pid = start_child(5);
	CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG), 0);
	CHECK_EQ(info.si_pid, 0);
	let_them_end();
	CHECK_EQ(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	CHECK_EQ(info.si_pid, pid);
	CHECK_EQ(info.si_signo, SIGCHLD);
	CHECK_EQ(info.si_code, CLD_EXITED);
	CHECK_EQ(info.si_status, 5);
	CHECK_EQ(wait4(pid, &status, 0, &usage), pid);
	CHECK_EQ(WEXITSTATUS(status), 5);
	CHECK_EQ(usage.ru_nsignals, 0);
	make_leash();
	pid = start_child(6);
	let_them_end();
	usage.ru_nsignals = 77;
	CHECK_EQ(wait3(&status, 0, &usage), pid);
	CHECK_EQ(usage.ru_nsignals, 0);
	CHECK_ERRNO(wait3(&status, 0, &usage), ECHILD);
	CHECK_ERRNO(waitpid(-1, &status, WNOHANG), ECHILD);
	CHECK_ERRNO(waitpid(getpid(), &status, 0), ECHILD);
	CHECK_ERRNO(waitpid(-1, &status, 0x10), EINVAL);
	CHECK_ERRNO(waitid(P_ALL, 0, &info, 0), EINVAL);
	CHECK_ERRNO(waitid(P_ALL, 0, &info, WEXITED), ECHILD);
	return arg;
}

TEST(all_ways_and_errors)
{
	thread_join(thread_start(wait_in_all_ways, NULL));
}

/* --- the children of one thread ------------------------------------------- */

enum { NR_PARENTS = 4 };

static void *wait_for_own(void *barrier)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(8);
	pthread_barrier_wait(barrier); /* other threads have children, too */
	CHECK_EQ(waitpid(-1, &status, __WNOTHREAD), pid);
	CHECK_EQ(WEXITSTATUS(status), 8);
	CHECK_ERRNO(waitpid(-1, &status, __WNOTHREAD), ECHILD);
	pthread_barrier_wait(barrier);
	return NULL;
}

/*
 * Bound threads find their own children, too: each has its own kernel thread.
 */
TEST(a_bound_threads_own_children)
{
	pthread_t parents[NR_PARENTS];
	pthread_barrier_t barrier;
	pthread_attr_t attr;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setscope(&attr, PTHREAD_SCOPE_SYSTEM), 0);
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_PARENTS), 0);
	for (int i = 0; i < NR_PARENTS; i++)
		CHECK_EQ(pthread_create(&parents[i], &attr, wait_for_own,
					&barrier),
			 0);
	threads_join(parents, NR_PARENTS);
}

/* --- signals and cancellation --------------------------------------------- */

static void *wait_for_child(void *arg)
{
	int status = 0;
	pid_t pid;

	is_ready = 1;
	pid = waitpid(-1, &status, 0);
	return (void *)(intptr_t)(pid < 0 ? -errno : WEXITSTATUS(status));
}

TEST(handler_ends_a_wait)
{
	pthread_t thread;

	handle(SIGUSR1, on_signal, 0);
	make_leash();
	start_child(3);
	thread = thread_start(wait_for_child, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	CHECK_EQ(result_of(thread), -EINTR);
	let_them_end();
	CHECK_EQ(result_of(thread_start(wait_for_child, NULL)), 3);
}

TEST(handler_with_restart_does_not)
{
	pthread_t thread;

	handle(SIGUSR1, on_signal, SA_RESTART);
	make_leash();
	start_child(3);
	thread = thread_start(wait_for_child, NULL);
	let_it_wait(&is_ready);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		await_count(&nr_handled, i + 1);
	}
	let_them_end();
	CHECK_EQ(result_of(thread), 3);
}

/* The handler of SIGCHLD must not hide the child for which it was called. */
TEST(sigchld_does_not_end_a_wait)
{
	handle(SIGCHLD, on_signal, 0);
	for (int i = 0; i < 20; i++) {
		pthread_t thread;

		make_leash();
		start_child(4);
		thread = thread_start(wait_for_child, NULL);
		usleep(i * 100);
		let_them_end();
		CHECK_EQ(result_of(thread), 4);
		CHECK_EQ(close(leash[0]), 0);
	}
	await_count(&nr_handled, 1);
}

TEST(ignored_children_are_waited_for)
{
	pthread_t thread;

	CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	make_leash();
	start_child(1);
	start_child(2);
	thread = thread_start(wait_for_child, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
	let_them_end();
	CHECK_EQ(result_of(thread), -ECHILD);
}

TEST(cancellation_ends_a_wait)
{
	pthread_t thread;

	make_leash();
	start_child(9);
	for (int i = 0; i < 5; i++) {
		is_ready = 0;
		thread = thread_start(wait_for_child, NULL);
		if (i > 0)
			let_it_wait(&is_ready);
		CHECK_EQ(pthread_cancel(thread), 0);
		CHECK(thread_join(thread) == PTHREAD_CANCELED);
	}
	let_them_end();
	CHECK_EQ(result_of(thread_start(wait_for_child, NULL)), 9);
}

/* A fork child of a process with waiting threads waits for its own child. */
static void *fork_and_wait(void *arg)
{
	int status = 0;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		make_leash();
		start_child(11);
		let_them_end();
		_exit((int)result_of(thread_start(wait_for_child, NULL)));
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 11 << 8);
	return arg;
}

TEST(children_of_children)
{
	pthread_t waiters[5], forkers[5];

	make_leash();
	nr_waiting = 0;
	threads_start_numbered(waiters, 5, wait_for_one);
	await_count(&nr_waiting, 5);
	threads_start(forkers, 5, fork_and_wait, NULL);
	threads_join(forkers, 5);
	let_them_end();
	threads_join(waiters, 5);
}
