/* SPDX-License-Identifier: MIT */
/*
 * Wait words in memory that is unmapped, beside signals, cancellation and fork;
 * the rest of weft.h.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "words.h"

#define PAGE 4096

/* --- memory that is gone ------------------------------------------------ */

static void *map_page(int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	CHECK(page != MAP_FAILED);
	return page;
}

static void *await_fault(void *arg)
{
	const struct weft_word any[] = { { cell, 8, UINT64_MAX, 0 },
					 { arg, 8, UINT64_MAX, 0 } };
	size_t which = 9;

	is_ready = 1;
	CHECK_EQ(weft_word_wait_any_until(any, 2, &which, NULL), EFAULT);
	return (void *)(intptr_t)which;
}

TEST(not_there)
{
	char *page = map_page(-1);

	CHECK_EQ(wait_8(NULL, 0), EFAULT);
	CHECK_EQ(munmap(page, PAGE), 0);
	CHECK_EQ(wait_4(page + 4, 0), EFAULT);
}

TEST(not_there_and_faults_blocked)
{
	sigset_t all;

	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
	have_threads();
	CHECK_EQ(wait_8(NULL, 0), EFAULT);
}

TEST(unmapped_while_it_waits)
{
	char *page = map_page(-1);
	pthread_t thread = thread_start(await_fault, page + 16);

	let_it_wait(&is_ready);
	CHECK_EQ(munmap(page, PAGE), 0);
	CHECK(thread_join(thread) == (void *)1);
}

TEST(cut_off_while_it_waits)
{
	int fd = memfd_create("word", 0);
	char *page;
	pthread_t thread;

	CHECK_EQ(ftruncate(fd, PAGE), 0);
	page = map_page(fd);
	thread = thread_start(await_fault, page);
	let_it_wait(&is_ready);
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK(thread_join(thread) == (void *)1);
}

static void read_nothing(void)
{
	have_threads();
	*(volatile int *)NULL;
}

/* Faults of the program itself still raise SIGSEGV. */
TEST(own_faults)
{
	CHECK_EQ(child_signal(read_nothing), SIGSEGV);
}

/* --- beside other ways to wait ------------------------------------------- */

TEST(a_handler_does_not_end_it)
{
	pthread_t thread = thread_start(await_cell, cell);

	handle(SIGUSR1, on_signal, 0);
	let_it_wait(&is_ready);
	for (int i = 1; i <= 3; i++) {
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		await_count(&nr_handled, i);
	}
	CHECK_EQ(nr_woken, 0);
	set_8(cell, 1);
	thread_join(thread);
}

/* The thread that polls the word must not block the signals of faults. */
TEST(faults_that_others_send)
{
	pthread_t thread = thread_start(await_cell, cell);
	pid_t child;

	handle(SIGSEGV, on_signal, 0);
	handle(SIGBUS, on_signal, 0);
	let_it_wait(&is_ready);
	for (int i = 1; i <= 40; i++) {
		child = fork();
		if (child == 0) {
			kill(getppid(), i % 2 == 0 ? SIGSEGV : SIGBUS);
			_exit(0);
		}
		CHECK_EQ(child_wait(child), 0);
		await_count(&nr_handled, i);
	}
	CHECK_EQ(nr_woken, 0);
	set_8(cell, 1);
	thread_join(thread);
}

TEST(cancelled)
{
	uint32_t *word = weft_word_new(0);

	is_cancelled_in(await_own, word);
	is_cancelled_in(await_own_bell, word);
	is_cancelled_in(await_cell, cell);
	is_cancelled_in(await_bell, cell);
	/* Other threads can wait there afterwards. */
	set_4(word, 1);
	CHECK_EQ(wait_4(word, 0), 0);
	weft_word_free(word);
}

static void wait_in_child(void)
{
	static uint32_t *word;
	pthread_t thread;

	word = weft_word_new(0);
	is_ready = 0;
	thread = thread_start(await_own, word);
	let_it_wait(&is_ready);
	set_4(word, 1);
	thread_join(thread);
}

TEST(in_a_fork_child)
{
	uint32_t *word = weft_word_new(0);
	pthread_t threads[] = { thread_start(await_own, word),
				thread_start(await_cell, cell) };

	let_it_wait(&is_ready);
	CHECK_EQ(child_exit_status(wait_in_child), 0);
	set_4(word, 1);
	set_8(cell, 1);
	threads_join(threads, 2);
	weft_word_free(word);
}

static void *await_while_polled(void *arg)
{
	int err;

	is_ready = 1;
	do {
		err = weft_word_wait_until(arg, 8 | WEFT_WORD_POLLED,
					   UINT64_MAX, 0, NULL);
	} while (err == EAGAIN);
	CHECK_EQ(err, 0);
	return NULL;
}

TEST(polled_while_the_program_polls)
{
	struct timespec later = deadline_ms(CLOCK_MONOTONIC, 10000);
	uint32_t *word = weft_word_new(0);
	pthread_t thread = thread_start(await_while_polled, cell);

	await_count(&is_ready, 1);
	/* without weft the library polls and never rests */
	if (weft_is_active())
		await_rest();
	set_8(cell, 1);
	thread_join(thread);
	CHECK_EQ(weft_word_wait_until(word, 4 | WEFT_WORD_POLLED, UINT32_MAX, 0,
				      &later),
		 EAGAIN);
	weft_word_free(word);
}

/* --- the rest of the header --------------------------------------------- */

static int pipe_ends[2];

static void *block_unseen(void *arg)
{
	char byte;

	weft_block_begin();
	/* A raw system call, which weft does not see. */
	while (syscall(0 /* read */, pipe_ends[0], &byte, 1) != 1)
		;
	weft_block_end();
	return (void *)(intptr_t)byte;
}

TEST(blocking_hints)
{
	pthread_t threads[4];

	CHECK_EQ(pipe(pipe_ends), 0);
	threads_start(threads, 4, block_unseen, NULL);
	await_rest();
	CHECK_EQ(write(pipe_ends[1], "abcd", 4), 4);
	for (int i = 0; i < 4; i++)
		CHECK(thread_join(threads[i]) != NULL);
	weft_block_end(); /* no weft_block_begin before this */
}

TEST(policies)
{
	struct weft_stats stats;
	bool is_weft;

	have_threads();
	is_weft = weft_is_active();
	CHECK_EQ(weft_agent_set(WEFT_AGENT_POLL, 1), is_weft ? 0 : ENOTSUP);
	two_waits(is_weft);
	weft_stats(&stats, sizeof(stats));
	CHECK(!is_weft || stats.polls > 0);
	CHECK_EQ(weft_agent_set(WEFT_AGENT_POLL, 0), is_weft ? 0 : ENOTSUP);
	set_8(cell, 0);
	is_ready = nr_woken = 0;
	two_waits(is_weft);
	CHECK_EQ(weft_agent_set(WEFT_AGENT_ADAPTIVE, 1), is_weft ? 0 : ENOTSUP);
	if (is_weft) {
		CHECK_EQ(weft_agent_set(WEFT_AGENT_POLL, 100000), EINVAL);
		CHECK_EQ(weft_agent_set((enum weft_agent_policy)3, 1), EINVAL);
	}
}

static uint64_t polls_of_two_waits(void)
{
	struct weft_stats before, after;

	weft_stats(&before, sizeof(before));
	set_8(cell, 0);
	is_ready = nr_woken = 0;
	two_waits(false);
	weft_stats(&after, sizeof(after));
	return after.polls - before.polls;
}

TEST(a_policy_without_polling)
{
	have_threads();
	if (weft_agent_set(WEFT_AGENT_PARK, 0) != 0)
		SKIP("no agents here");
	CHECK_EQ(polls_of_two_waits(), 0);
}

static void ring_one(void)
{
	pthread_t thread;

	set_8(cell, 0);
	is_ready = 0;
	thread = thread_start(await_bell, cell);
	let_it_wait(&is_ready);
	set_8(cell, 1);
	weft_word_ring(cell);
	thread_join(thread);
}

TEST(statistics)
{
	struct weft_stats stats, part;

	memset(&part, 0xff, sizeof(part));
	have_threads();
	two_waits(false);
	weft_stats(&stats, sizeof(stats));
	weft_stats(&part, sizeof(part.threads));
	if (weft_is_active()) {
		CHECK_EQ(part.threads, 3);
		CHECK_EQ(stats.threads, 3);
		CHECK(stats.word_waits >= 2);
		CHECK(stats.word_hits >= 2);
		CHECK(stats.word_rings == 0);
		ring_one();
		weft_stats(&stats, sizeof(stats));
		CHECK_EQ(stats.word_rings, 1);
	} else {
		CHECK_EQ(stats.threads + stats.word_waits, 0);
	}
	CHECK(part.switches == UINT64_MAX);
}
