/* SPDX-License-Identifier: MIT */
/*
 * Debuggers with threads. ptrace only works from the kernel thread that forked
 * the child or attached to it, and the tracer switches between its requests.
 * gdb on weft could not debug its program. It also sends signals to threads of
 * other processes by tkill.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threading.h"

enum { NR_STOPS = 20, SKIPPED = 77 };

static sem_t asked, answered;
static _Atomic long counter = 1234;

/* Makes the tracer switch between its requests. */
static void *answer(void *arg)
{
	for (;;) {
		CHECK_EQ(sem_wait(&asked), 0);
		usleep(500);
		CHECK_EQ(sem_post(&answered), 0);
	}
	return arg;
}

static void wander(void)
{
	CHECK_EQ(sem_post(&asked), 0);
	CHECK_EQ(sem_wait(&answered), 0);
	usleep(200);
}

static void run_traced(void)
{
	for (int i = 0; i < NR_STOPS; i++) {
		raise(SIGSTOP);
		counter++;
	}
	_exit(5);
}

/* Traces a stopped or stopping child until it exits. */
static void trace(const char *how, pid_t pid)
{
	int status, nr_stops = 0;
	long last = 0, sig;

	for (;;) {
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			break;
		wander();
		errno = 0;
		last = ptrace(PTRACE_PEEKDATA, pid, (void *)&counter, NULL);
		CHECK_EQ(errno, 0);
		nr_stops++;
		sig = WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
		CHECK_EQ(ptrace(PTRACE_CONT, pid, NULL, (void *)sig), 0);
	}
	printf("%s: %d stops, last %ld, %#x\n", how, nr_stops, last,
	       (unsigned)status);
	fflush(stdout);
}

static pid_t fork_traced(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		CHECK_EQ(ptrace(PTRACE_TRACEME, 0, NULL, NULL), 0);
		run_traced();
	}
	return pid;
}

static void *trace_child(void *how)
{
	trace(how, fork_traced());
	return NULL;
}

static void *attach(void *arg)
{
	pid_t pid = (pid_t)(intptr_t)arg;
	int status;

	CHECK_EQ(ptrace(PTRACE_ATTACH, pid, NULL, NULL), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	wander();
	CHECK_EQ(syscall(SYS_tkill, pid, SIGTERM), 0);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	trace("attached", pid);
	return NULL;
}

static void *fork_for_other(void *arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(1);
	}
	CHECK(pid > 0);
	thread_join(thread_start(attach, (void *)(intptr_t)pid));
	return arg;
}

static bool may_trace(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return status == 0;
}

int main(void)
{
	pid_t early;

	if (!may_trace()) {
		puts("ptrace is not permitted");
		return SKIPPED;
	}
	early = fork_traced();
	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	thread_start(answer, NULL);
	wander();
	trace("forked before there were threads", early);
	trace_child("first thread's");
	thread_join(thread_start(trace_child, "another thread's"));
	fork_for_other(NULL);
	return 0;
}
