/* SPDX-License-Identifier: MIT */
/*
 * Waits for descriptors that another thread closes or replaces meanwhile. A
 * wait is on the files, and the next event ends it. A thread that begins to
 * wait too late finds the files closed, so on a busy machine a case may need
 * several attempts.
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "pollers.h"
#include "waiting.h"

enum { NR_PIPES = 40, LIMIT_MS = 20000 };

static int pipes[NR_PIPES][2];
static int epfd;
static struct epoll_event event;

static void make_pipes(void)
{
	for (int i = 0; i < NR_PIPES; i++)
		CHECK_EQ(pipe(pipes[i]), 0);
}

static void fill(int i)
{
	CHECK_EQ(write(pipes[i][1], "x", 1), 1);
}

static void close_pipes(void)
{
	for (int i = 0; i < NR_PIPES; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

/* Each attempt has new pipes and returns whether the waiter was in time. */
static void succeeds(bool (*attempt)(void))
{
	enum { MOST = 20 };
	bool is_done = false;

	for (int i = 0; i < MOST && !is_done; i++) {
		make_pipes();
		is_done = attempt();
		close_pipes();
	}
	CHECK(is_done);
}

static pthread_t start(void *(*waiter)(void *), int *nr)
{
	pthread_t thread;

	is_ready = 0;
	thread = thread_start(waiter, nr);
	let_it_wait(&is_ready);
	return thread;
}

/* --- epoll --------------------------------------------------------------- */

static int make_set(uint32_t events, int i)
{
	struct epoll_event e = { .events = events, .data.u32 = (uint32_t)i };
	int set = epoll_create1(0);

	CHECK_EQ(epoll_ctl(set, EPOLL_CTL_ADD, pipes[i][0], &e), 0);
	return set;
}

static void *wait_for_event(void *arg)
{
	is_ready = 1;
	return outcome(epoll_wait(epfd, &event, 1, LIMIT_MS));
}

static bool closed(void)
{
	pthread_t thread;

	epfd = make_set(EPOLLIN, 3);
	thread = start(wait_for_event, NULL);
	CHECK_EQ(close(epfd), 0);
	fill(3);
	return result_of(thread) == 1 && event.data.u32 == 3;
}

TEST(epoll_set_is_closed)
{
	succeeds(closed);
}

static bool replaced(void)
{
	int other = make_set(EPOLLIN, 4);
	pthread_t thread;
	bool is_done;

	fill(4);
	epfd = make_set(EPOLLIN, 3);
	thread = start(wait_for_event, NULL);
	CHECK_EQ(dup2(other, epfd), epfd);
	fill(3);
	CHECK_EQ(result_of(thread), 1);
	is_done = event.data.u32 == 3;
	CHECK_EQ(epoll_wait(epfd, &event, 1, 0), 1);
	CHECK_EQ(event.data.u32, 4);
	close(epfd);
	close(other);
	return is_done;
}

TEST(epoll_set_is_replaced)
{
	succeeds(replaced);
}

/* Closes the set with all other descriptors above the pipes. */
static bool closed_with_others(void)
{
	pthread_t thread;

	epfd = make_set(EPOLLIN, 0);
	CHECK(epfd > pipes[NR_PIPES - 1][1]);
	thread = start(wait_for_event, NULL);
	CHECK_EQ(close_range((unsigned int)pipes[NR_PIPES - 1][1] + 1, ~0U, 0),
		 0);
	fill(0);
	return result_of(thread) == 1 && event.data.u32 == 0;
}

TEST(epoll_set_is_closed_with_others)
{
	succeeds(closed_with_others);
}

static void *wait_a_little(void *arg)
{
	is_ready = 1;
	return outcome(epoll_wait(epfd, &event, 1, 300));
}

static bool closed_in_vain(void)
{
	pthread_t thread;

	epfd = make_set(EPOLLIN, 0);
	thread = start(wait_a_little, NULL);
	CHECK_EQ(close(epfd), 0);
	return result_of(thread) == 0;
}

TEST(closed_epoll_set_times_out)
{
	succeeds(closed_in_vain);
}

/* Many threads wait for one set, and each event wakes one of them. */
static bool closed_on_many(void)
{
	enum { NR = 20 };
	pthread_t threads[NR];
	int nr_events = 0;

	epfd = make_set(EPOLLIN | EPOLLONESHOT, 0);
	for (int i = 1; i < NR; i++) {
		struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT };

		CHECK_EQ(epoll_ctl(epfd, EPOLL_CTL_ADD, pipes[i][0], &e), 0);
	}
	for (int i = 0; i < NR; i++)
		threads[i] = start(wait_for_event, NULL);
	CHECK_EQ(close(epfd), 0);
	for (int i = 0; i < NR; i++)
		fill(i);
	for (int i = 0; i < NR; i++)
		nr_events += result_of(threads[i]) == 1;
	return nr_events == NR;
}

TEST(closed_epoll_set_of_many)
{
	succeeds(closed_on_many);
}

/* --- select and poll ----------------------------------------------------- */

static fd_set reads, errors;

/* Selects the first *arg pipes. */
static void *select_some(void *arg)
{
	int nr = *(int *)arg;

	FD_ZERO(&reads);
	FD_ZERO(&errors);
	for (int i = 0; i < nr; i++)
		FD_SET(pipes[i][0], &reads);
	FD_SET(pipes[1][0], &errors);
	is_ready = 1;
	return outcome(select(pipes[nr - 1][0] + 1, &reads, NULL, &errors,
			      &(struct timeval){ .tv_sec = LIMIT_MS / 1000 }));
}

/* A closed descriptor counts as ready in each set that names it. */
static bool select_beside(int nr)
{
	pthread_t thread = start(select_some, &nr);

	CHECK_EQ(close(pipes[1][0]), 0);
	fill(0);
	return result_of(thread) == 3 && FD_ISSET(pipes[0][0], &reads) &&
	       FD_ISSET(pipes[1][0], &reads) && FD_ISSET(pipes[1][0], &errors);
}

static bool select_few(void)
{
	return select_beside(3);
}

TEST(select_beside_closed)
{
	succeeds(select_few);
}

static bool select_many(void)
{
	return select_beside(NR_PIPES);
}

TEST(select_of_many_beside_closed)
{
	succeeds(select_many);
}

TEST(select_of_many_beside_closed_beside_pollers)
{
	others_poll();
	succeeds(select_many);
}

/* The writer's end of the closed pipe is closed too, which is an event. */
static bool select_gone(int nr)
{
	pthread_t thread = start(select_some, &nr);

	CHECK_EQ(close(pipes[1][0]), 0);
	CHECK_EQ(close(pipes[1][1]), 0);
	return result_of(thread) == 2 && !FD_ISSET(pipes[0][0], &reads) &&
	       FD_ISSET(pipes[1][0], &reads) && FD_ISSET(pipes[1][0], &errors);
}

static bool select_gone_of_few(void)
{
	return select_gone(3);
}

TEST(select_of_closed)
{
	succeeds(select_gone_of_few);
}

static bool select_gone_of_many(void)
{
	return select_gone(NR_PIPES);
}

TEST(select_of_many_of_closed)
{
	succeeds(select_gone_of_many);
}

TEST(select_of_many_of_closed_beside_pollers)
{
	others_poll();
	succeeds(select_gone_of_many);
}

static struct pollfd polled[NR_PIPES];

static void *poll_some(void *arg)
{
	int nr = *(int *)arg;

	for (int i = 0; i < nr; i++)
		polled[i] = (struct pollfd){ pipes[i][0], POLLIN, 0 };
	is_ready = 1;
	return outcome(poll(polled, (nfds_t)nr, LIMIT_MS));
}

static bool poll_beside(int nr)
{
	pthread_t thread = start(poll_some, &nr);

	CHECK_EQ(close(pipes[1][0]), 0);
	fill(0);
	return result_of(thread) == 2 && polled[0].revents == POLLIN &&
	       polled[1].revents == POLLNVAL;
}

static bool poll_few(void)
{
	return poll_beside(3);
}

TEST(poll_beside_closed)
{
	succeeds(poll_few);
}

static bool poll_many(void)
{
	return poll_beside(NR_PIPES);
}

TEST(poll_of_many_beside_closed)
{
	succeeds(poll_many);
}

TEST(poll_of_many_beside_closed_beside_pollers)
{
	others_poll();
	succeeds(poll_many);
}

/* Of two closed pipes one has an event. */
static bool poll_gone(int nr)
{
	pthread_t thread = start(poll_some, &nr);

	CHECK_EQ(close(pipes[1][0]), 0);
	CHECK_EQ(close(pipes[2][0]), 0);
	CHECK_EQ(close(pipes[2][1]), 0);
	return result_of(thread) == 2 && polled[0].revents == 0 &&
	       polled[1].revents == POLLNVAL && polled[2].revents == POLLNVAL;
}

static bool poll_gone_of_few(void)
{
	return poll_gone(3);
}

TEST(poll_of_closed)
{
	succeeds(poll_gone_of_few);
}

static bool poll_gone_of_many(void)
{
	return poll_gone(NR_PIPES);
}

TEST(poll_of_many_of_closed)
{
	succeeds(poll_gone_of_many);
}

TEST(poll_of_many_of_closed_beside_pollers)
{
	others_poll();
	succeeds(poll_gone_of_many);
}
