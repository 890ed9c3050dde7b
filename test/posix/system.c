/* SPDX-License-Identifier: MIT */
/*
 * system(): SIGCHLD and the terminal's signals while its command runs, and the
 * cancellation of its thread.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "check.h"
#include "threading.h"
#include "waiting.h"

enum { NR_COMMANDS = 30 };

static void reap(int sig, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	errno = saved_errno;
}

static void change_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	CHECK_EQ(pthread_sigmask(how, &set, NULL), 0);
}

static void *run_commands(void *arg)
{
	change_mask(SIG_UNBLOCK);
	for (int i = 0; i < NR_COMMANDS; i++) {
		int status = system("exit 7");

		CHECK(WIFEXITED(status));
		CHECK_EQ(WEXITSTATUS(status), 7);
	}
	return NULL;
}

/* A handler that waits for all children must not take system's child. */
TEST(beside_a_handler_that_reaps)
{
	handle(SIGCHLD, reap, SA_RESTART);
	change_mask(SIG_BLOCK);
	thread_join(thread_start(run_commands, NULL));
}

static _Atomic int nr_begun;

static void *run_long(void *arg)
{
	nr_begun++;
	CHECK_EQ(system((const char *)arg), 0);
	return NULL;
}

/* Returns when `nr` threads wait for their commands. */
static void await_commands(int nr)
{
	await_count(&nr_begun, nr);
	await_rest();
}

static void check_action(int sig, void (*expected)(int, siginfo_t *, void *))
{
	struct sigaction action;

	CHECK_EQ(sigaction(sig, NULL, &action), 0);
	CHECK(action.sa_sigaction == expected);
}

TEST(signals_of_the_terminal)
{
	pthread_t threads[2];
	char commands[2][32];
	int ends[2][2];

	handle(SIGINT, on_signal, 0);
	CHECK(signal(SIGQUIT, SIG_DFL) != SIG_ERR);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(pipe(ends[i]), 0);
		snprintf(commands[i], sizeof(commands[i]), "read line <&%d",
			 ends[i][0]);
		threads[i] = thread_start(run_long, commands[i]);
	}
	await_commands(2);
	CHECK_EQ(kill(getpid(), SIGINT), 0);
	CHECK_EQ(kill(getpid(), SIGQUIT), 0);
	await_rest();
	CHECK_EQ(nr_handled, 0);
	CHECK_EQ(write(ends[0][1], "\n", 1), 1);
	thread_join(threads[0]);
	check_action(SIGINT,
		     (void (*)(int, siginfo_t *, void *))(uintptr_t)SIG_IGN);
	CHECK_EQ(write(ends[1][1], "\n", 1), 1);
	thread_join(threads[1]);
	check_action(SIGINT, on_signal);
	check_action(SIGQUIT,
		     (void (*)(int, siginfo_t *, void *))(uintptr_t)SIG_DFL);
	CHECK_EQ(kill(getpid(), SIGINT), 0);
	await_count(&nr_handled, 1);
	await_rest();
	CHECK_EQ(nr_handled, 1);
}

/* The command starts with its caller's signal actions and mask. */
TEST(signals_of_the_command)
{
	have_threads();
	handle(SIGINT, on_signal, 0);
	CHECK_EQ(WTERMSIG(system("kill -INT $$")), SIGINT);
	CHECK(signal(SIGINT, SIG_IGN) != SIG_ERR);
	CHECK_EQ(system("kill -INT $$"), 0);
	CHECK_EQ(system("grep -q 'SigBlk:.*00000$' /proc/self/status"), 0);
}

/* A cancelled thread ends its command. */
TEST(cancelled)
{
	pthread_t thread;
	sigset_t set;

	CHECK(signal(SIGINT, SIG_DFL) != SIG_ERR);
	thread = thread_start(run_long, (void *)"exec sleep 100");
	await_commands(1);
	CHECK_EQ(pthread_cancel(thread), 0);
	CHECK(thread_join(thread) == PTHREAD_CANCELED);
	CHECK_ERRNO(waitpid(-1, NULL, WNOHANG), ECHILD);
	check_action(SIGINT,
		     (void (*)(int, siginfo_t *, void *))(uintptr_t)SIG_DFL);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	CHECK(!sigismember(&set, SIGCHLD));
}

TEST(returns_the_status)
{
	have_threads();
	CHECK(system(NULL) != 0);
	CHECK_EQ(system("true"), 0);
	CHECK_EQ(WEXITSTATUS(system("there-is-no-such-command 2>&-")), 127);
	CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	CHECK_ERRNO(system("true"), ECHILD);
}
