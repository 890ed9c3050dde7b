/* SPDX-License-Identifier: MIT */
/*
 * A thread sleeps in the kernel without interruption, like one that waits for a
 * disk. Other threads of its VP began to wait before that. They must get their
 * data and answer: streams, connections, messages and a process-shared
 * semaphore.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kernel.h"
#include "threading.h"

enum { NR_READERS = 8, NR_ROUNDS = 5, SLEEP_MS = 1000 };

static int asked[NR_READERS][2], answers[2];
static int listener, receiver;
static struct sockaddr_in listens, receives;
static sem_t *posts;
static _Atomic int nr_before; /* rounds that end during the sleep */
static _Atomic bool is_asleep, is_over;

static void answer(void)
{
	CHECK_EQ(send(answers[0], "a", 1, 0), 1);
}

static void *answer_stream(void *i)
{
	char c;

	while (recv(asked[(intptr_t)i][1], &c, 1, 0) == 1)
		answer();
	return NULL;
}

static void *answer_connections(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK(accept(listener, NULL, NULL) >= 0);
		answer();
	}
	return arg;
}

static void *answer_messages(void *arg)
{
	char c;

	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(recv(receiver, &c, 1, 0), 1);
		answer();
	}
	return arg;
}

static void *answer_posts(void *arg)
{
	for (int i = 0; i < NR_ROUNDS; i++) {
		CHECK_EQ(sem_wait(posts), 0);
		answer();
	}
	return arg;
}

/* Like vfork: only a fatal signal ends the wait for the child. */
static void *sleep_uninterrupted(void *arg)
{
	const struct timespec nap = { SLEEP_MS / 1000,
				      SLEEP_MS % 1000 * NS_PER_MS };
	long pid;

	is_asleep = true;
	pid = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		syscall(SYS_nanosleep, &nap, NULL);
		syscall(SYS_exit_group, 0);
	}
	is_over = true;
	CHECK(pid > 0);
	CHECK_EQ(waitpid((pid_t)pid, NULL, 0), (pid_t)pid);
	return arg;
}

static void ask_all(void)
{
	int connection = socket(AF_INET, SOCK_STREAM, 0);
	int sender = socket(AF_INET, SOCK_DGRAM, 0);
	char c;

	for (int i = 0; i < NR_READERS; i++)
		CHECK_EQ(send(asked[i][0], "q", 1, 0), 1);
	CHECK_EQ(connect(connection, (struct sockaddr *)&listens,
			 sizeof(listens)),
		 0);
	CHECK_EQ(sendto(sender, "q", 1, 0, (struct sockaddr *)&receives,
			sizeof(receives)),
		 1);
	CHECK_EQ(sem_post(posts), 0);
	for (int i = 0; i < NR_READERS + 3; i++)
		CHECK_EQ(recv(answers[1], &c, 1, 0), 1);
	close(connection);
	close(sender);
}

static void *ask(void *arg)
{
	while (!is_asleep)
		sched_yield();
	for (int round = 0; round < NR_ROUNDS; round++) {
		sleep_ms(100);
		ask_all();
		if (!is_over)
			nr_before++;
	}
	return arg;
}

static int bound(int kind, struct sockaddr_in *address)
{
	int fd = socket(AF_INET, kind, 0);
	socklen_t bytes = sizeof(*address);

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	CHECK_EQ(bind(fd, (struct sockaddr *)address, bytes), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)address, &bytes), 0);
	return fd;
}

int main(void)
{
	pthread_t readers[NR_READERS], others[3], sleeper, asker;

	posts = mmap(NULL, sizeof(*posts), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(posts != MAP_FAILED);
	CHECK_EQ(sem_init(posts, 1, 0), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, answers), 0);
	for (int i = 0; i < NR_READERS; i++)
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, asked[i]), 0);
	listener = bound(SOCK_STREAM, &listens);
	CHECK_EQ(listen(listener, NR_ROUNDS), 0);
	receiver = bound(SOCK_DGRAM, &receives);
	threads_start_numbered(readers, NR_READERS, answer_stream);
	others[0] = thread_start(answer_connections, NULL);
	others[1] = thread_start(answer_messages, NULL);
	others[2] = thread_start(answer_posts, NULL);
	await_rest();
	asker = thread_start(ask, NULL);
	sleeper = thread_start(sleep_uninterrupted, NULL);
	thread_join(asker);
	thread_join(sleeper);
	threads_join(others, 3);
	for (int i = 0; i < NR_READERS; i++)
		shutdown(asked[i][0], SHUT_WR);
	threads_join(readers, NR_READERS);
	/*
	 * On older kernels they notice it when the sleeper continues:
	 * docs/guide/limits.md.
	 */
	printf("%s\n", nr_before > 1 || kernel_is_before(6, 14) ?
			       "answers while it sleeps" :
			       "no answers");
	return 0;
}
