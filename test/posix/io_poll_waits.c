/* SPDX-License-Identifier: MIT */
/*
 * poll and select of many descriptors that have to wait: the events that end
 * them, and those that do not. Each case also runs beside other threads in the
 * same calls.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "pollers.h"
#include "waiting.h"

enum { NR_PIPES = 40, LAST = NR_PIPES - 1 };

static int pipes[NR_PIPES][2];
static sigset_t mask; /* for the calls that take one */

static void make_pipes(void)
{
	for (int i = 0; i < NR_PIPES; i++)
		CHECK_EQ(pipe(pipes[i]), 0);
}

static void fill(int i)
{
	CHECK_EQ(write(pipes[i][1], "x", 1), 1);
}

static void drain(int i)
{
	char c;

	CHECK_EQ(read(pipes[i][0], &c, 1), 1);
}

static void fill_last(void)
{
	fill(LAST);
}

/* --- the calls; each returns what the call does, or -errno ---------------- */

static int list_pipes(struct pollfd fds[NR_PIPES])
{
	for (int i = 0; i < NR_PIPES; i++)
		fds[i] = (struct pollfd){ pipes[i][0], POLLIN, 0 };
	is_ready = 1;
	return NR_PIPES;
}

/* Returns the highest number plus one. */
static int set_pipes(fd_set *reads)
{
	FD_ZERO(reads);
	for (int i = 0; i < NR_PIPES; i++)
		FD_SET(pipes[i][0], reads);
	is_ready = 1;
	return pipes[LAST][0] + 1;
}

static void *poll_all(void *arg)
{
	struct pollfd fds[NR_PIPES];
	int nr = list_pipes(fds);

	return outcome(poll(fds, (nfds_t)nr, -1));
}

static void *ppoll_all(void *arg)
{
	const struct timespec timeout = { 1000, 0 };
	struct pollfd fds[NR_PIPES];
	int nr = list_pipes(fds);

	return outcome(ppoll(fds, (nfds_t)nr, &timeout, &mask));
}

static void *select_all(void *arg)
{
	fd_set reads;
	int nr = set_pipes(&reads);

	return outcome(select(nr, &reads, NULL, NULL, NULL));
}

static void *pselect_all(void *arg)
{
	fd_set reads;
	int nr = set_pipes(&reads);

	return outcome(pselect(nr, &reads, NULL, NULL, NULL, &mask));
}

static void *(*const calls[])(void *) = { poll_all, ppoll_all, select_all,
					  pselect_all };
enum { NR_CALLS = 4 };

/* --- handlers and cancellation -------------------------------------------- */

static void check_handlers(void)
{
	make_pipes();
	for (int i = 0; i < NR_CALLS; i++) {
		CHECK_EQ(after_handler(calls[i], 0, fill_last), -EINTR);
		drain(LAST);
		CHECK_EQ(after_handler(calls[i], SA_RESTART, fill_last),
			 -EINTR);
		drain(LAST);
		is_cancelled_in(calls[i], NULL);
	}
}

TEST(handlers_and_cancellation_end_waits_for_many)
{
	check_handlers();
}

TEST(handlers_and_cancellation_beside_pollers)
{
	others_poll();
	check_handlers();
}

/* --- signal masks --------------------------------------------------------- */

static void *block_and_call(void *call)
{
	long n;

	block(SIGUSR1);
	nr_handled = 0;
	n = (long)(*(void *(**)(void *))call)(NULL);
	CHECK(n < 0 || nr_handled == 0);
	return (void *)n;
}

static long after_signal(void *(*const *call)(void *), bool is_let_in)
{
	pthread_t thread;

	is_ready = 0;
	thread = thread_start(block_and_call, (void *)call);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	await_rest();
	if (!is_let_in)
		fill_last();
	return result_of(thread);
}

/* poll and select use the thread's mask, the other calls their own. */
static void check_masks(void)
{
	make_pipes();
	handle(SIGUSR1, on_signal, 0);
	for (int i = 0; i < NR_CALLS; i++) {
		sigemptyset(&mask);
		if (calls[i] == ppoll_all || calls[i] == pselect_all)
			CHECK_EQ(after_signal(&calls[i], true), -EINTR);
		mask = set_of(SIGUSR1);
		CHECK_EQ(after_signal(&calls[i], false), 1);
		drain(LAST);
	}
}

/*
 * Data and a signal arrive at once: the handler runs, or the call returns data.
 */
static void check_both_at_once(void)
{
	make_pipes();
	handle(SIGUSR1, on_signal, 0);
	sigemptyset(&mask);
	for (int i = 0; i < 200; i++) {
		void *(*const *call)(void *) = &calls[i % NR_CALLS];
		pthread_t thread;

		is_ready = 0;
		thread = thread_start(block_and_call, (void *)call);
		await_count(&is_ready, 1);
		usleep(i * 10);
		fill_last();
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		result_of(thread);
		drain(LAST);
	}
}

TEST(masks_of_waits_for_many)
{
	check_masks();
}

TEST(masks_beside_pollers)
{
	others_poll();
	check_masks();
}

TEST(handlers_and_results_of_waits_for_many)
{
	check_both_at_once();
}

TEST(handlers_and_results_beside_pollers)
{
	others_poll();
	check_both_at_once();
}

/* --- time-outs ------------------------------------------------------------ */

static void *fill_at_rest(void *arg)
{
	await_rest();
	fill_last();
	return arg;
}

static void check_times(void)
{
	const struct timespec some = { 0, 20 * NS_PER_MS };
	struct timeval left = { 0, 20000 };
	struct pollfd fds[NR_PIPES];
	int64_t start = now_ns();
	fd_set reads;
	pthread_t thread;
	int nr;

	make_pipes();
	nr = list_pipes(fds);
	CHECK_EQ(poll(fds, (nfds_t)nr, 20), 0);
	CHECK_EQ(ppoll(fds, (nfds_t)nr, &some, NULL), 0);
	nr = set_pipes(&reads);
	CHECK_EQ(select(nr, &reads, NULL, NULL, &left), 0);
	CHECK(left.tv_sec == 0 && left.tv_usec == 0);
	CHECK(!FD_ISSET(pipes[0][0], &reads));
	nr = set_pipes(&reads);
	CHECK_EQ(pselect(nr, &reads, NULL, NULL, &some, NULL), 0);
	CHECK(now_ns() - start >= 80 * NS_PER_MS);
	thread = thread_start(fill_at_rest, NULL);
	nr = set_pipes(&reads);
	left = (struct timeval){ .tv_sec = 1000 };
	CHECK_EQ(select(nr, &reads, NULL, NULL, &left), 1);
	CHECK(FD_ISSET(pipes[LAST][0], &reads));
	CHECK(left.tv_sec > 0 && left.tv_sec < 1000);
	thread_join(thread);
}

TEST(times_of_waits_for_many)
{
	have_threads();
	check_times();
}

TEST(times_beside_pollers)
{
	others_poll();
	check_times();
}

/* --- other files ---------------------------------------------------------- */

/* If a polled number gets another file, the wait neither ends nor hangs. */
static void check_replaced(void)
{
	make_pipes();
	for (int i = 0; i < NR_CALLS; i++) {
		pthread_t thread;

		is_ready = 0;
		thread = thread_start(calls[i], NULL);
		let_it_wait(&is_ready);
		CHECK_EQ(dup2(pipes[1][0], pipes[i + 2][0]), pipes[i + 2][0]);
		fill_last();
		CHECK_EQ(result_of(thread), 1);
		drain(LAST);
	}
}

TEST(replaced_among_many)
{
	check_replaced();
}

TEST(replaced_beside_pollers)
{
	others_poll();
	check_replaced();
}

static void *poll_with(void *fd)
{
	struct pollfd fds[NR_PIPES];
	int nr = list_pipes(fds), n;

	fds[5].fd = *(int *)fd;
	n = poll(fds, (nfds_t)nr, -1);
	CHECK(n != 1 || fds[5].revents == POLLIN);
	return outcome(n);
}

/* The child ends when its parent waits for that. */
static void end_at_rest(void)
{
	await_rest_of(getppid());
}

static void check_special(void)
{
	sigset_t usr2 = block(SIGUSR2);
	pid_t child = child_start(end_at_rest);
	int fd = (int)syscall(SYS_pidfd_open, child, 0);
	pthread_t thread;

	make_pipes();
	CHECK_EQ((long)poll_with(&fd), 1);
	CHECK_EQ(child_wait(child), 0);
	fd = signalfd(-1, &usr2, SFD_CLOEXEC);
	CHECK(fd >= 0);
	is_ready = 0;
	thread = thread_start(poll_with, &fd);
	let_it_wait(&is_ready);
	CHECK_EQ(kill(getpid(), SIGUSR2), 0);
	CHECK_EQ(result_of(thread), 1);
}

TEST(children_and_signals_among_many)
{
	have_threads();
	check_special();
}

TEST(children_and_signals_beside_pollers)
{
	block(SIGUSR2);
	others_poll();
	check_special();
}

/* --- waits of several processes ------------------------------------------- */

static void poll_in_child(void)
{
	pthread_t thread = thread_start(fill_at_rest, NULL);

	CHECK_EQ((long)poll_all(NULL), 1);
	thread_join(thread);
	drain(LAST);
	others_poll();
	thread = thread_start(fill_at_rest, NULL);
	CHECK_EQ((long)select_all(NULL), 1);
	thread_join(thread);
}

TEST(child_of_a_poller)
{
	make_pipes();
	others_poll();
	CHECK_EQ(child_exit_status(poll_in_child), 0);
}

/* --- waits of many threads ------------------------------------------------ */

enum { NR_CROWD = 150, NR_ROUNDS = 10 };

static void *answer(void *number)
{
	int own[2], back = pipes[(intptr_t)number % NR_PIPES][1];
	struct pollfd fds[20];

	CHECK_EQ(pipe(own), 0);
	for (int i = 0; i < 20; i++)
		fds[i] = (struct pollfd){ pipes[0][0], POLLPRI, 0 };
	fds[17] = (struct pollfd){ own[0], POLLIN, 0 };
	for (int round = 0; round < NR_ROUNDS; round++) {
		char c;

		CHECK_EQ(poll(fds, 20, 1), 0);
		CHECK_EQ(write(own[1], "x", 1), 1);
		CHECK_EQ(poll(fds, 20, -1), 1);
		CHECK_EQ(read(own[0], &c, 1), 1);
		CHECK_EQ(write(back, &c, 1), 1);
	}
	return NULL;
}

TEST(more_threads_poll_many_than_there_are_workers)
{
	pthread_t threads[NR_CROWD];

	make_pipes();
	threads_start_numbered(threads, NR_CROWD, answer);
	for (int i = 0; i < NR_CROWD * NR_ROUNDS; i++)
		drain(i % NR_CROWD % NR_PIPES);
	threads_join(threads, NR_CROWD);
}
