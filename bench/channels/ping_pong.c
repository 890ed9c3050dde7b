/* SPDX-License-Identifier: MIT */
/*
 * Two processes send 8 bytes back and forth, each from a thread of its own.
 *
 *     usage: ping_pong WAY CPU CPU ROUNDS
 *
 * Prints "one_way_ns N" and "cpu_ns N", the CPU time that both sides together
 * spend on a message. With equal CPU numbers both sides share one CPU. Then
 * cpu_ns is the better figure, as other processes on that CPU lengthen
 * one_way_ns but not cpu_ns. WAY is one of
 *
 *     bare      two cache lines at which both spin: the least there is
 *     channel   weft_channel_send and weft_channel_receive
 *     pipe, unix, mqueue
 *     futex     a word in shared memory, FUTEX_WAIT and FUTEX_WAKE
 *     signal    real-time signals: sigqueue and sigwaitinfo
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/channel.h>

#include "../lib/clock.h"

#define WARM_UP 1000
#define IMPOSSIBLE 77

/*
 * Side 0 begins. Each side sends by the line, word, pipe or queue with its own
 * number.
 */
struct line {
	_Alignas(64) _Atomic uint64_t value;
};
struct shared {
	struct line line[2];
	_Alignas(64) _Atomic uint32_t word[2];
	_Atomic pid_t pid[2];
	_Atomic int nr_ready;
	double cpu_ns[2];
};

static struct shared *shared;
static int channel_fd[2], pipe_fd[2][2], socket_fd[2];
static mqd_t queue[2];
static struct weft_channel *out, *in;
static int me;

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static void require(int holds, const char *what)
{
	if (!holds)
		die(what);
}

static void bare_send(uint64_t value)
{
	atomic_store_explicit(&shared->line[me].value, value,
			      memory_order_release);
}

static uint64_t bare_receive(uint64_t seen)
{
	uint64_t value;

	do
		value = atomic_load_explicit(&shared->line[!me].value,
					     memory_order_acquire);
	while (value == seen);
	return value;
}

static void channel_begin(void)
{
	for (int i = 0; i < 2; i++) {
		struct weft_channel_attr attr = { .message_size = 8,
						  .messages = 7 };

		require(weft_channel_create(&attr, &channel_fd[i]) == 0,
			"weft_channel_create");
	}
}

static void channel_enter(void)
{
	require(weft_channel_open(channel_fd[me], WEFT_CHANNEL_SENDER, &out) ==
				0 &&
			weft_channel_open(channel_fd[!me],
					  WEFT_CHANNEL_RECEIVER, &in) == 0,
		"weft_channel_open");
}

static void channel_send(uint64_t value)
{
	require(weft_channel_send(out, &value, sizeof(value)) == 0, "send");
}

static uint64_t channel_receive(uint64_t seen)
{
	uint64_t value;
	size_t size;

	(void)seen;
	require(weft_channel_receive(in, &value, sizeof(value), &size) == 0,
		"receive");
	return value;
}

static void pipe_begin(void)
{
	require(pipe(pipe_fd[0]) == 0 && pipe(pipe_fd[1]) == 0, "pipe");
}

static void pipe_send(uint64_t value)
{
	require(write(pipe_fd[me][1], &value, 8) == 8, "write");
}

static uint64_t pipe_receive(uint64_t seen)
{
	uint64_t value;

	(void)seen;
	require(read(pipe_fd[!me][0], &value, 8) == 8, "read");
	return value;
}

static void unix_begin(void)
{
	require(socketpair(AF_UNIX, SOCK_STREAM, 0, socket_fd) == 0,
		"socketpair");
}

static void unix_send(uint64_t value)
{
	require(write(socket_fd[me], &value, 8) == 8, "write");
}

static uint64_t unix_receive(uint64_t seen)
{
	uint64_t value;

	(void)seen;
	require(read(socket_fd[me], &value, 8) == 8, "read");
	return value;
}

static void mqueue_begin(void)
{
	for (int i = 0; i < 2; i++) {
		struct mq_attr attr = { .mq_maxmsg = 8, .mq_msgsize = 8 };
		char name[64];

		snprintf(name, sizeof(name), "/weft-bench-%d-%d", getpid(), i);
		queue[i] =
			mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
		if (queue[i] == (mqd_t)-1) {
			printf("impossible: mq_open: %s\n", strerror(errno));
			exit(IMPOSSIBLE);
		}
		mq_unlink(name);
	}
}

static void mqueue_send(uint64_t value)
{
	require(mq_send(queue[me], (char *)&value, 8, 0) == 0, "mq_send");
}

static uint64_t mqueue_receive(uint64_t seen)
{
	uint64_t value;

	(void)seen;
	require(mq_receive(queue[!me], (char *)&value, 8, NULL) == 8,
		"mq_receive");
	return value;
}

static void futex_send(uint64_t value)
{
	atomic_store(&shared->word[me], (uint32_t)value);
	syscall(SYS_futex, &shared->word[me], FUTEX_WAKE, 1, NULL, NULL, 0);
}

static uint64_t futex_receive(uint64_t seen)
{
	for (;;) {
		uint32_t value = atomic_load(&shared->word[!me]);

		if (value != (uint32_t)seen)
			return value;
		syscall(SYS_futex, &shared->word[!me], FUTEX_WAIT, value, NULL,
			NULL, 0);
	}
}

static void signal_begin(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void signal_send(uint64_t value)
{
	union sigval sent = { .sival_int = (int)value };

	require(sigqueue(shared->pid[!me], SIGRTMIN, sent) == 0, "sigqueue");
}

static uint64_t signal_receive(uint64_t seen)
{
	siginfo_t info;
	sigset_t set;

	(void)seen;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	while (sigwaitinfo(&set, &info) < 0)
		require(errno == EINTR, "sigwaitinfo");
	return (uint64_t)info.si_value.sival_int;
}

static void nothing(void)
{
}

static const struct way {
	const char *name;
	void (*begin)(void); /* runs before the fork */
	void (*enter)(void); /* runs on each side */
	void (*send)(uint64_t value);
	uint64_t (*receive)(uint64_t seen);
} ways[] = {
	{ "bare", nothing, nothing, bare_send, bare_receive },
	{ "channel", channel_begin, channel_enter, channel_send,
	  channel_receive },
	{ "pipe", pipe_begin, nothing, pipe_send, pipe_receive },
	{ "unix", unix_begin, nothing, unix_send, unix_receive },
	{ "mqueue", mqueue_begin, nothing, mqueue_send, mqueue_receive },
	{ "futex", nothing, nothing, futex_send, futex_receive },
	{ "signal", signal_begin, nothing, signal_send, signal_receive },
};

static const struct way *way;
static long nr_rounds;

static void *play(void *unused)
{
	uint64_t start = 0, cpu = 0, seen = 0;

	(void)unused;
	way->enter();
	shared->pid[me] = getpid();
	shared->nr_ready++;
	while (shared->nr_ready < 2)
		sched_yield();
	for (long i = 1; i <= WARM_UP + nr_rounds; i++) {
		if (i == WARM_UP + 1) {
			start = clock_ns(CLOCK_MONOTONIC);
			cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		}
		if (me == 0)
			way->send((uint64_t)i);
		seen = way->receive(seen);
		require(seen == (uint64_t)i, "the other side's answer");
		if (me == 1)
			way->send((uint64_t)i);
	}
	shared->cpu_ns[me] = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	if (me == 0)
		printf("one_way_ns %.1f\n",
		       (double)(clock_ns(CLOCK_MONOTONIC) - start) / 2 /
			       (double)nr_rounds);
	return NULL;
}

/*
 * Puts the process on the given CPU before it has threads, and plays on a new
 * thread.
 */
static void settle(int cpu)
{
	pthread_t thread;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	require(sched_setaffinity(0, sizeof(set), &set) == 0, "affinity");
	require(pthread_create(&thread, NULL, play, NULL) == 0, "thread");
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int status;
	pid_t child;

	if (argc != 5)
		return 2;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, argv[1]) == 0)
			way = &ways[i];
	}
	if (way == NULL)
		return 2;
	if (strcmp(way->name, "bare") == 0 && atoi(argv[2]) == atoi(argv[3])) {
		puts("impossible: each would spin for its whole time slice");
		return IMPOSSIBLE;
	}
	nr_rounds = atol(argv[4]);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require(shared != MAP_FAILED, "mmap");
	way->begin();
	child = fork();
	require(child >= 0, "fork");
	me = child == 0;
	settle(atoi(argv[2 + me]));
	if (child == 0)
		return 0;
	require(waitpid(child, &status, 0) == child, "waitpid");
	if (status != 0)
		return 1;
	printf("cpu_ns %.1f\n",
	       (shared->cpu_ns[0] + shared->cpu_ns[1]) / 2 / (double)nr_rounds);
	return 0;
}
