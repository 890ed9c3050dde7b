/* SPDX-License-Identifier: MIT */
/*
 * Latency or power: another process writes a word in shared memory and polls
 * for the answer. Of n threads here the first waits for the word. The threads
 * pass a token on by wait words, and the last writes the answer.
 *
 * usage: bench_outside PERCENT N PAUSE_US
 *
 * Prints the median time from word to answer by n + 1 hand-overs, and the CPU
 * seconds that this process uses in each second.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "../../micro/bench.h"

enum { MESSAGES = 2000, MOST_MESSAGES = 100000, USUAL_US = 4000000 };

/* The words lie on pages of their own; the samples follow. */
static struct shared {
	_Atomic uint32_t request __attribute__((aligned(4096)));
	_Atomic uint32_t answer __attribute__((aligned(4096)));
	double samples[MOST_MESSAGES];
} * shared;

static uint32_t **words;
static long nr_members;

static void *member(void *arg)
{
	long me = (long)(intptr_t)arg;
	const volatile void *mine = me == 0 ? (void *)&shared->request :
					      (void *)words[me];

	for (uint32_t turn = 1;; turn++) {
		if (weft_word_wait_until(mine, sizeof(uint32_t), UINT32_MAX,
					 turn - 1, NULL) != 0)
			abort();
		if (me == nr_members - 1)
			shared->answer = turn;
		else
			__atomic_store_n(words[me + 1], turn, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Runs in the other process. */
static void ask(long nr_messages, long pause_us)
{
	for (long i = 0; i < nr_messages; i++) {
		uint64_t start = bench_now_ns();

		shared->request = (uint32_t)i + 1;
		while (shared->answer != (uint32_t)i + 1)
			;
		shared->samples[i] = (double)(bench_now_ns() - start);
		/* During a sleep the clock of this CPU could slow down. */
		while (bench_now_ns() - start < (uint64_t)pause_us * 1000)
			;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	long nr_messages = bench_scale(argc, argv, MESSAGES), pause_us;
	uint64_t start, cpu;
	pid_t child;
	int status;

	nr_members = bench_count(argc, argv, 5);
	if (argc != 4 || nr_messages > MOST_MESSAGES) {
		fprintf(stderr, "usage: %s PERCENT N PAUSE_US\n", argv[0]);
		return 2;
	}
	pause_us = atol(argv[3]);
	if (pause_us > 0 &&
	    nr_messages > bench_scale(argc, argv, USUAL_US) / pause_us)
		nr_messages = bench_scale(argc, argv, USUAL_US) / pause_us + 1;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	words = calloc((size_t)nr_members, sizeof(*words));
	if (shared == MAP_FAILED || words == NULL)
		return 1;
	for (long i = 1; i < nr_members; i++)
		words[i] = weft_word_new(0);
	child = fork();
	if (child == 0) {
		while (shared->answer != UINT32_MAX)
			usleep(1000);
		shared->answer = 0;
		ask(nr_messages, pause_us);
	}
	for (long i = 0; i < nr_members; i++) {
		pthread_t thread;

		bench_create(&thread, member, (void *)(intptr_t)i);
	}
	start = bench_now_ns();
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	shared->answer = UINT32_MAX;
	if (waitpid(child, &status, 0) != child || status != 0)
		return 1;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	start = bench_now_ns() - start;
	bench_print("latency",
		    bench_percentile(shared->samples, nr_messages, 50) /
			    (double)(nr_members + 1));
	bench_print("cpu", (double)cpu / (double)start);
	return 0;
}
