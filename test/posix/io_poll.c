/* SPDX-License-Identifier: MIT */
/* poll, select and epoll by threads, also with masks of signals. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

static int ends[2], epfd;
static _Atomic int is_ready;

static void *write_at_rest(void *arg)
{
	await_rest();
	CHECK_EQ(write(ends[1], "x", 1), 1);
	return arg;
}

/*
 * A fixed time: the test checks the time left of a second, and a wait for rest
 * may take too long.
 */
static void *write_soon(void *arg)
{
	usleep(30000);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	return arg;
}

/* --- poll ---------------------------------------------------------------- */

TEST(poll_times_out)
{
	struct pollfd fd = { .events = POLLIN };
	int64_t start = now_ns();

	have_threads();
	CHECK_EQ(pipe(ends), 0);
	fd.fd = ends[0];
	CHECK_EQ(poll(&fd, 1, 0), 0);
	CHECK_EQ(poll(&fd, 1, 30), 0);
	CHECK_EQ(poll(NULL, 0, 30), 0);
	fd.fd = -1;
	CHECK_EQ(poll(&fd, 1, 30), 0);
	CHECK(now_ns() - start >= 90 * NS_PER_MS);
}

TEST(poll_reports_ready_descriptors)
{
	struct pollfd fds[4];
	pthread_t thread;
	int others[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(pipe(others), 0);
	thread = thread_start(write_at_rest, NULL);
	fds[0] = (struct pollfd){ others[0], POLLIN, 9 };
	fds[1] = (struct pollfd){ ends[0], POLLIN | POLLPRI, 9 };
	fds[2] = (struct pollfd){ -1, POLLIN, 9 };
	fds[3] = (struct pollfd){ others[0], POLLPRI, 9 };
	CHECK_EQ(poll(fds, 4, 5000), 1);
	CHECK_EQ(fds[0].revents, 0);
	CHECK_EQ(fds[1].revents, POLLIN);
	CHECK_EQ(fds[2].revents, 0);
	close(others[1]);
	CHECK_EQ(poll(fds, 4, 5000), 3);
	CHECK_EQ(fds[0].revents, POLLHUP);
	CHECK_EQ(fds[3].revents, POLLHUP);
	fds[0].fd = 9999;
	CHECK_EQ(poll(fds, 1, 5000), 1);
	CHECK_EQ(fds[0].revents, POLLNVAL);
	thread_join(thread);
}

enum { NR_FDS = 400 };

TEST(poll_of_many)
{
	static struct pollfd fds[NR_FDS + 1];
	static int pipes[NR_FDS][2];
	pthread_t thread;

	for (int i = 0; i < NR_FDS; i++) {
		CHECK_EQ(pipe(pipes[i]), 0);
		fds[i] = (struct pollfd){ pipes[i][0], POLLIN, 0 };
	}
	/* The array may name one descriptor a second time. */
	fds[NR_FDS] = (struct pollfd){ pipes[7][0], POLLIN, 0 };
	for (int i = 0; i < 5; i++) {
		int at = i == 0 ? 7 : i * 77;
		char c;

		ends[1] = pipes[at][1];
		thread = thread_start(write_at_rest, NULL);
		CHECK_EQ(poll(fds, NR_FDS + 1, 5000), i == 0 ? 2 : 1);
		CHECK_EQ(fds[at].revents, POLLIN);
		CHECK_EQ(read(pipes[at][0], &c, 1), 1);
		thread_join(thread);
	}
	CHECK_EQ(poll(fds, NR_FDS + 1, 30), 0);
}

static void *poll_and_echo(void *arg)
{
	int *pair = arg;
	char c;

	for (int i = 0; i < 20; i++) {
		struct pollfd fd = { pair[0], POLLIN, 0 };

		CHECK_EQ(poll(&fd, 1, -1), 1);
		CHECK_EQ(read(pair[0], &c, 1), 1);
		CHECK_EQ(write(pair[0], &c, 1), 1);
	}
	return NULL;
}

TEST(many_threads_poll)
{
	static int pairs[200][2];
	pthread_t threads[200];
	char c = 'p';

	for (int i = 0; i < 200; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
		threads[i] = thread_start(poll_and_echo, pairs[i]);
	}
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 200; i++)
			CHECK_EQ(write(pairs[i][1], &c, 1), 1);
		for (int i = 0; i < 200; i++)
			CHECK_EQ(read(pairs[i][1], &c, 1), 1);
	}
	threads_join(threads, 200);
}

static void on_signal(int sig)
{
}

static void *poll_for_ever(void *arg)
{
	struct pollfd fd = { ends[0], POLLIN, 0 };

	is_ready = 1;
	CHECK_ERRNO(poll(&fd, 1, -1), EINTR);
	return arg;
}

/* SA_RESTART never restarts poll. */
TEST(handler_ends_a_poll)
{
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART };
	pthread_t thread;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(pipe(ends), 0);
	thread = thread_start(poll_for_ever, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	thread_join(thread);
}

/* --- calls with a signal mask -------------------------------------------- */

static _Atomic int nr_handled;

static void count_signal(int sig)
{
	sigset_t set;

	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &set), 0);
	CHECK(sigismember(&set, SIGUSR1));
	nr_handled++;
}

static void *wait_open(void *how)
{
	struct pollfd fd = { ends[0], POLLIN, 0 };
	struct timespec second = { 20, 0 };
	struct epoll_event event;
	sigset_t closed, open;
	fd_set reads;
	int n;

	sigemptyset(&open);
	sigemptyset(&closed);
	sigaddset(&closed, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &closed, NULL), 0);
	FD_ZERO(&reads);
	FD_SET(ends[0], &reads);
	is_ready = 1;
	switch ((intptr_t)how) {
	case 0:
		n = ppoll(&fd, 1, &second, &open);
		break;
	case 1:
		n = pselect(ends[0] + 1, &reads, NULL, NULL, &second, &open);
		break;
	default:
		n = epoll_pwait(epfd, &event, 1, 20000, &open);
		break;
	}
	CHECK_EQ(n, -1);
	CHECK_EQ(errno, EINTR);
	CHECK_EQ(nr_handled, 1);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &open), 0);
	CHECK(sigismember(&open, SIGUSR1));
	return NULL;
}

TEST(mask_of_a_wait)
{
	CHECK_EQ(pipe(ends), 0);
	epfd = epoll_create1(0);
	signal(SIGUSR1, count_signal);
	for (intptr_t how = 0; how < 3; how++) {
		pthread_t thread;

		nr_handled = is_ready = 0;
		thread = thread_start(wait_open, (void *)how);
		let_it_wait(&is_ready);
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		thread_join(thread);
	}
}

static void *wait_with_one_pending(void *arg)
{
	struct pollfd fd = { ends[0], POLLIN, 0 };
	sigset_t closed, open;

	sigemptyset(&open);
	sigemptyset(&closed);
	sigaddset(&closed, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &closed, NULL), 0);
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(nr_handled, 0);
	CHECK_ERRNO(ppoll(&fd, 1, NULL, &open), EINTR);
	CHECK_EQ(nr_handled, 1);
	/* A mask that blocks the pending signal. */
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK_EQ(ppoll(&fd, 1, NULL, &closed), 1);
	CHECK_EQ(nr_handled, 1);
	return arg;
}

TEST(signal_that_waits_for_the_mask)
{
	CHECK_EQ(pipe(ends), 0);
	signal(SIGUSR1, count_signal);
	thread_join(thread_start(wait_with_one_pending, NULL));
}

static int wait_with_mask(int how, int fd, int ms, const sigset_t *mask)
{
	struct pollfd p = { fd, POLLIN, 0 };
	struct timespec limit = { 0, ms * NS_PER_MS };
	struct epoll_event event;
	fd_set reads;

	FD_ZERO(&reads);
	FD_SET(fd, &reads);
	switch (how) {
	case 0:
		return ppoll(&p, 1, &limit, mask);
	case 1:
		return pselect(fd + 1, &reads, NULL, NULL, &limit, mask);
	default:
		return epoll_pwait(epfd, &event, 1, ms, mask);
	}
}

/*
 * A signal that the mask lets in is handled only if nothing is ready. poll and
 * select do so even if they do not wait.
 */
static void *wait_beside_one_pending(void *arg)
{
	sigset_t closed, open;
	char c;

	sigemptyset(&open);
	sigemptyset(&closed);
	sigaddset(&closed, SIGUSR1);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &closed, NULL), 0);
	for (int how = 0; how < 3; how++) {
		int ms = how < 2 ? 0 : 900;

		nr_handled = 0;
		CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		CHECK_EQ(wait_with_mask(how, ends[0], 0, &open), 1);
		CHECK_EQ(wait_with_mask(how, ends[0], 900, &open), 1);
		CHECK_EQ(read(ends[0], &c, 1), 1);
		if (how == 2)
			CHECK_EQ(wait_with_mask(how, ends[0], 0, &open), 0);
		CHECK_EQ(nr_handled, 0);
		CHECK_ERRNO(wait_with_mask(how, ends[0], ms, &open), EINTR);
		CHECK_EQ(nr_handled, 1);
	}
	return arg;
}

TEST(signal_waits_until_nothing_is_ready)
{
	struct epoll_event event = { .events = EPOLLIN };

	CHECK_EQ(pipe(ends), 0);
	epfd = epoll_create1(0);
	CHECK_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, ends[0], &event), 0);
	signal(SIGUSR1, count_signal);
	thread_join(thread_start(wait_beside_one_pending, NULL));
}

/* --- select -------------------------------------------------------------- */

TEST(select_reports_ready_descriptors)
{
	struct timeval timeout = { 5, 0 };
	pthread_t thread;
	fd_set reads, writes;
	int others[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(pipe(others), 0);
	thread = thread_start(write_soon, NULL);
	FD_ZERO(&reads);
	FD_ZERO(&writes);
	FD_SET(ends[0], &reads);
	FD_SET(others[0], &reads);
	CHECK_EQ(select(FD_SETSIZE, &reads, NULL, NULL, &timeout), 1);
	CHECK(FD_ISSET(ends[0], &reads) && !FD_ISSET(others[0], &reads));
	CHECK(timeout.tv_sec == 4 && timeout.tv_usec > 0);
	FD_SET(others[1], &writes);
	CHECK_EQ(select(FD_SETSIZE, &reads, &writes, NULL, NULL), 2);
	CHECK(FD_ISSET(others[1], &writes));
	thread_join(thread);
}

TEST(select_times_out)
{
	struct timeval timeout = { 0, 30000 };
	struct timespec ts = { 0, 30000000 };
	int64_t start = now_ns();
	fd_set reads;

	have_threads();
	CHECK_EQ(pipe(ends), 0);
	FD_ZERO(&reads);
	FD_SET(ends[0], &reads);
	CHECK_EQ(select(ends[0] + 1, &reads, NULL, NULL, &timeout), 0);
	CHECK(!FD_ISSET(ends[0], &reads));
	CHECK(timeout.tv_sec == 0 && timeout.tv_usec == 0);
	FD_SET(ends[0], &reads);
	CHECK_EQ(pselect(ends[0] + 1, &reads, NULL, NULL, &ts, NULL), 0);
	CHECK(now_ns() - start >= 60 * NS_PER_MS);
	timeout.tv_usec = -1;
	CHECK_ERRNO(select(ends[0] + 1, &reads, NULL, NULL, &timeout), EINVAL);
	CHECK_ERRNO(select(-1, &reads, NULL, NULL, NULL), EINVAL);
	CHECK_EQ(close(ends[0]), 0);
	FD_SET(ends[0], &reads);
	timeout.tv_usec = 1;
	CHECK_ERRNO(select(ends[0] + 1, &reads, NULL, NULL, &timeout), EBADF);
}

/* As many descriptors as fit into the sets, of different kinds. */
TEST(select_of_many)
{
	static int pipes[NR_FDS][2];
	struct timeval timeout = { 0, 30000 };
	fd_set reads, writes;
	int most = 0;

	for (int i = 0; i < NR_FDS; i++) {
		CHECK_EQ(pipe(pipes[i]), 0);
		most = pipes[i][1] > most ? pipes[i][1] : most;
	}
	CHECK(most < FD_SETSIZE);
	for (int i = 0; i < 5; i++) {
		int at = i * 77;
		pthread_t thread;
		char c;

		FD_ZERO(&reads);
		for (int k = 0; k < NR_FDS; k++)
			FD_SET(pipes[k][0], &reads);
		ends[1] = pipes[at][1];
		thread = thread_start(write_at_rest, NULL);
		CHECK_EQ(select(most + 1, &reads, NULL, NULL, NULL), 1);
		CHECK(FD_ISSET(pipes[at][0], &reads));
		CHECK_EQ(read(pipes[at][0], &c, 1), 1);
		thread_join(thread);
	}
	FD_ZERO(&reads);
	FD_ZERO(&writes);
	for (int k = 0; k < NR_FDS; k++)
		FD_SET(pipes[k][0], &reads);
	CHECK_EQ(select(most + 1, &reads, NULL, NULL, &timeout), 0);
	for (int k = 0; k < NR_FDS; k++) {
		CHECK(!FD_ISSET(pipes[k][0], &reads));
		FD_SET(pipes[k][0], &reads);
		FD_SET(pipes[k][1], &writes);
	}
	CHECK_EQ(select(most + 1, &reads, &writes, NULL, NULL), NR_FDS);
	CHECK(FD_ISSET(pipes[7][1], &writes) && !FD_ISSET(pipes[7][0], &reads));
}

/* --- epoll --------------------------------------------------------------- */

enum { NR_WORKERS = 20, NR_ITEMS = 2000 };
static _Atomic int nr_items;

static void *serve(void *arg)
{
	for (;;) {
		struct epoll_event event;
		char c;

		CHECK_EQ(epoll_wait(epfd, &event, 1, -1), 1);
		CHECK_EQ(read(event.data.fd, &c, 1), 1);
		if (c == 'q')
			return arg;
		nr_items++;
		event.events = EPOLLIN | EPOLLONESHOT;
		CHECK_EQ(epoll_ctl(epfd, EPOLL_CTL_MOD, event.data.fd, &event),
			 0);
	}
}

/* Many threads wait on one set; each event goes to one thread. */
TEST(workers_on_one_epoll_set)
{
	static int pairs[50][2];
	pthread_t threads[NR_WORKERS];

	epfd = epoll_create1(0);
	for (int i = 0; i < 50; i++) {
		struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT };

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
		event.data.fd = pairs[i][0];
		CHECK_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, pairs[i][0], &event),
			 0);
	}
	threads_start_numbered(threads, NR_WORKERS, serve);
	for (int i = 0; i < NR_ITEMS; i++)
		CHECK_EQ(write(pairs[i % 50][1], "i", 1), 1);
	while (nr_items < NR_ITEMS)
		usleep(1000);
	for (int i = 0; i < NR_WORKERS; i++)
		CHECK_EQ(write(pairs[i][1], "q", 1), 1);
	threads_join(threads, NR_WORKERS);
	CHECK_EQ(nr_items, NR_ITEMS);
}

/* Edge-triggered: one event per change, then none. */
TEST(edge_triggered_epoll)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	pthread_t thread;

	CHECK_EQ(pipe(ends), 0);
	epfd = epoll_create1(0);
	CHECK_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, ends[0], &event), 0);
	for (int i = 0; i < 3; i++) {
		thread = thread_start(write_at_rest, NULL);
		CHECK_EQ(epoll_wait(epfd, &event, 1, 5000), 1);
		CHECK_EQ(epoll_wait(epfd, &event, 1, 20), 0);
		thread_join(thread);
	}
	CHECK_ERRNO(epoll_wait(ends[0], &event, 1, 20), EINVAL);
	CHECK_ERRNO(epoll_wait(epfd, &event, 0, 20), EINVAL);
	CHECK_ERRNO(epoll_wait(-1, &event, 1, 20), EBADF);
}
