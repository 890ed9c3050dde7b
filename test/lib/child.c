/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t child_start(void (*body)(void))
{
	pid_t child;

	fflush(NULL);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		alarm(CHILD_LIMIT_S);
		body();
		exit(0);
	}
	return child;
}

int child_wait(pid_t child)
{
	int status;
	pid_t waited;

	do {
		waited = waitpid(child, &status, 0);
	} while (waited < 0 && errno == EINTR);
	CHECK_EQ(waited, child);
	return status;
}

int child_exit_status(void (*body)(void))
{
	int status = child_wait(child_start(body));

	CHECK_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, 0);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void (*silenced)(void);

static void run_silenced(void)
{
	struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	CHECK_EQ(setrlimit(RLIMIT_CORE, &no_core), 0);
	CHECK(null >= 0);
	CHECK_EQ(dup2(null, STDERR_FILENO), STDERR_FILENO);
	silenced();
}

int child_signal(void (*body)(void))
{
	int status;

	silenced = body;
	status = child_wait(child_start(run_silenced));
	CHECK_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, -1);
	CHECK(WIFSIGNALED(status));
	return WTERMSIG(status);
}

static int output[2];
static void (*captured)(void);

static void run_captured(void)
{
	close(output[0]);
	CHECK_EQ(dup2(output[1], STDOUT_FILENO), STDOUT_FILENO);
	close(output[1]);
	captured();
}

int child_output(void (*body)(void), char *ret_text, size_t size)
{
	size_t length = 0;
	ssize_t got;
	pid_t child;
	int status;

	captured = body;
	CHECK_EQ(pipe(output), 0);
	child = child_start(run_captured);
	close(output[1]);
	while ((got = read(output[0], ret_text + length, size - 1 - length)) >
	       0)
		length += (size_t)got;
	CHECK_EQ(got, 0);
	ret_text[length] = '\0';
	close(output[0]);
	status = child_wait(child);
	CHECK_EQ(WIFSIGNALED(status) ? WTERMSIG(status) : 0, 0);
	return WEXITSTATUS(status);
}
