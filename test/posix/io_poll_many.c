/* SPDX-License-Identifier: MIT */
/* poll of more descriptors than a wait has requests for. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"
#include "pollers.h"
#include "threading.h"

static int ends[2];
static _Atomic int is_ready;

enum { NR_CROWD = 40 };

static struct pollfd crowd[NR_CROWD];

static void make_crowd(void)
{
	for (int i = 0; i < NR_CROWD; i++) {
		CHECK_EQ(pipe(ends), 0);
		crowd[i] = (struct pollfd){ ends[0], POLLIN, 0 };
	}
}

static void *poll_crowd(void *arg)
{
	is_ready = 1;
	CHECK_EQ(poll(crowd, NR_CROWD, -1), 1);
	return arg;
}

/*
 * A waiting poll must not take a descriptor number, which another thread could
 * get otherwise.
 */
static void take_no_number(void)
{
	int next, again;
	pthread_t thread;

	have_threads();
	make_crowd();
	next = dup(0);
	CHECK_EQ(close(next), 0);
	thread = thread_start(poll_crowd, NULL);
	let_it_wait(&is_ready);
	again = dup(0);
	CHECK_EQ(again, next);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	thread_join(thread);
	CHECK_EQ(fcntl(again, F_GETFD), 0);
}

TEST(poll_of_many_takes_no_number)
{
	take_no_number();
}

TEST(poll_of_many_takes_no_number_beside_pollers)
{
	others_poll();
	take_no_number();
}

static sigjmp_buf back;

static void jump_back(int sig)
{
	siglongjmp(back, 1);
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	CHECK(dir != NULL);
	while (readdir(dir) != NULL)
		nr++;
	CHECK_EQ(closedir(dir), 0);
	return nr;
}

static void leave_polls(int nr_polls)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 3000 } };

	for (volatile int i = 0; i < nr_polls; i++) {
		if (sigsetjmp(back, 1) != 0)
			continue;
		CHECK_EQ(setitimer(ITIMER_REAL, &soon, NULL), 0);
		poll(crowd, NR_CROWD, -1);
		CHECK(!"it ended");
	}
}

static void leave_by_a_jump(void)
{
	enum { NR_POLLS = 60 };
	int before;

	have_threads();
	make_crowd();
	CHECK(signal(SIGALRM, jump_back) != SIG_ERR);
	leave_polls(3);
	before = count_descriptors();
	leave_polls(NR_POLLS);
	/* weft may keep a few descriptors for itself. */
	CHECK(count_descriptors() < before + NR_POLLS / 3);
}

TEST(poll_of_many_left_by_a_jump)
{
	leave_by_a_jump();
}

TEST(poll_of_many_left_by_a_jump_beside_pollers)
{
	others_poll();
	leave_by_a_jump();
}

static _Atomic int nr_polls;

/* The poll ends because the socket is shut down or its number is closed. */
static void *poll_until_end(void *arg)
{
	nr_polls++;
	CHECK_EQ(poll(crowd, NR_CROWD, -1), 1);
	CHECK(crowd[NR_CROWD - 1].revents != 0);
	return arg;
}

static void begin_when_one_is_closed(void)
{
	enum { NR_ROUNDS = 900 };
	int sockets[2];

	make_crowd();
	for (int round = 0; round < NR_ROUNDS; round++) {
		pthread_t thread;

		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
		crowd[NR_CROWD - 1].fd = sockets[0];
		nr_polls = 0;
		thread = thread_start(poll_until_end, NULL);
		while (nr_polls == 0)
			;
		for (volatile int i = 0; i < round % 300 * 50; i++)
			;
		CHECK_EQ(shutdown(sockets[0], SHUT_RDWR), 0);
		CHECK_EQ(close(sockets[0]), 0);
		thread_join(thread);
		CHECK_EQ(close(sockets[1]), 0);
	}
}

TEST(poll_of_many_just_when_one_is_closed)
{
	begin_when_one_is_closed();
}

TEST(poll_of_many_just_when_one_is_closed_beside_pollers)
{
	others_poll();
	begin_when_one_is_closed();
}
