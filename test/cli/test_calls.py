# SPDX-License-Identifier: MIT
"""Calls that wait in the kernel park their thread: none holds a VP until the
monitor takes it."""

import re

import pytest

# Threads wait in one kind of call while others run; then the waits end.
PROGRAM = """
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>
enum { NR = 60 };
static const char *kind;
static int pipes[2], file, sem, msg, held;
static mqd_t mq;
static pid_t children[NR];
static _Atomic int nr_begun, nr_wrong;
static int is(const char *name)
{
	return strcmp(kind, name) == 0;
}
static int wait_in_call(int i)
{
	struct flock lock = { .l_type = F_WRLCK };
	struct sembuf op = { 0, -1, 0 };
	struct { long type; char text; } message;
	char text[8];
	int status, fd;
	if (is("waitpid"))
		return waitpid(children[i], &status, 0) == children[i];
	if (is("waitid"))
		return waitid(P_PID, children[i], &(siginfo_t){ 0 },
			      WEXITED) == 0;
	if (is("fcntl"))
		return fcntl(file, F_SETLKW, &lock) == 0;
	if (is("semop"))
		return semop(sem, &op, 1) == 0;
	if (is("msgrcv"))
		return msgrcv(msg, &message, 1, 0, 0) == 1;
	if (is("mq_receive"))
		return mq_receive(mq, text, sizeof(text), NULL) == 1;
	if (is("splice"))
		return splice(pipes[0], NULL, file, NULL, 1, 0) == 1;
	fd = open("/proc/self/exe", O_RDONLY);
	return flock(fd, LOCK_EX) == 0 && close(fd) == 0;
}
static void *waiter(void *arg)
{
	nr_begun++;
	if (!wait_in_call((int)(long)arg))
		nr_wrong++;
	return NULL;
}
static void *run(void *arg)
{
	for (int i = 0; i < 20000; i++)
		sched_yield();
	return NULL;
}
static void prepare(void)
{
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 8 };
	struct flock lock = { .l_type = F_WRLCK };
	char c;
	pipe(pipes);
	file = memfd_create("file", 0);
	held = open("/proc/self/exe", O_RDONLY);
	flock(held, LOCK_EX);
	sem = semget(IPC_PRIVATE, 1, 0600);
	msg = msgget(IPC_PRIVATE, 0600);
	mq = mq_open("/weft-test-calls", O_RDWR | O_CREAT, 0600, &attr);
	mq_unlink("/weft-test-calls");
	for (int i = 0; i < NR; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			if (i == 0)
				fcntl(file, F_SETLK, &lock);
			if (i == 0)
				write(pipes[1], "x", 1);
			for (;;)
				pause();
		}
	}
	read(pipes[0], &c, 1);
}
static void end_waits(void)
{
	struct { long type; char text; } message = { 1, 'x' };
	struct sembuf op = { 0, NR, 0 };
	for (int i = 0; i < NR; i++)
		kill(children[i], SIGKILL);
	flock(held, LOCK_UN);
	semop(sem, &op, 1);
	for (int i = 0; i < NR && is("msgrcv"); i++)
		msgsnd(msg, &message, 1, 0);
	for (int i = 0; i < NR && is("mq_receive"); i++)
		mq_send(mq, "x", 1, 0);
	for (int i = 0; i < NR; i++)
		write(pipes[1], "x", 1);
}
int main(int argc, char **argv)
{
	pthread_t waiters[NR], runners[2];
	kind = argv[1];
	prepare();
	for (long i = 0; i < NR; i++)
		pthread_create(&waiters[i], NULL, waiter, (void *)i);
	while (nr_begun < NR)
		sched_yield();
	for (int i = 0; i < 2; i++)
		pthread_create(&runners[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(runners[i], NULL);
	end_waits();
	for (int i = 0; i < NR; i++)
		pthread_join(waiters[i], NULL);
	semctl(sem, 0, IPC_RMID);
	msgctl(msg, IPC_RMID, NULL);
	return nr_wrong > 0;
}
"""

KINDS = ["waitpid", "waitid", "flock", "fcntl", "semop", "msgrcv",
         "mq_receive", "splice"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_handoff(weft, compile_c, kind):
    program = compile_c("-pthread", source=PROGRAM)
    result = weft("run", "--vps", "1", "--stats", program, kind)
    assert result.returncode == 0, result.stderr
    found = re.search(r"taken from blocked carriers: (\d+)", result.stderr)
    # A page fault may cause one handoff; 60 threads in plain calls cause 60.
    assert int(found.group(1)) < 20


# Two threads that pass a semaphore or a message to each other.
PAIR = """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/sem.h>
enum { NR = 5000 };
static int ids[2], has_messages;
static void move(int i, int by)
{
	struct { long type; char text; } message = { 1, 'x' };
	struct sembuf op = { 0, (short)by, 0 };
	if (!has_messages ? semop(ids[i], &op, 1) < 0 :
	    by > 0 ? msgsnd(ids[i], &message, 1, 0) < 0 :
		     msgrcv(ids[i], &message, 1, 0, 0) < 0)
		abort();
}
static void *run(void *arg)
{
	int i = arg != NULL;
	for (int n = 0; n < NR; n++) {
		move(i, -1);
		move(!i, 1);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[2];
	has_messages = strcmp(argv[1], "messages") == 0;
	for (int i = 0; i < 2; i++)
		ids[i] = has_messages ? msgget(IPC_PRIVATE, 0600) :
					semget(IPC_PRIVATE, 1, 0600);
	pthread_create(&threads[0], NULL, run, NULL);
	pthread_create(&threads[1], NULL, run, threads);
	move(0, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		has_messages ? msgctl(ids[i], IPC_RMID, NULL) :
			       semctl(ids[i], 0, IPC_RMID);
	return 0;
}
"""


@pytest.mark.parametrize("kind", ["semaphores", "messages"])
def test_two_threads_need_no_worker(weft, compile_c, kind):
    program = compile_c("-pthread", source=PAIR)
    result = weft("run", "--vps", "1", "--stats", program, kind)
    assert result.returncode == 0, result.stderr
    found = re.search(r"requests to I/O workers: (\d+)", result.stderr)
    assert int(found.group(1)) < 500  # of 10000 waits
