/* SPDX-License-Identifier: MIT */
/*
 * Signal masks: their changes, and the signals that are blocked while handlers
 * run.
 */
#include <pthread.h>
#include <signal.h>

#include "check.h"
#include "signalling.h"
#include "threading.h"

static sigset_t set_of_two(int a, int b)
{
	sigset_t set = set_of(a);

	sigaddset(&set, b);
	return set;
}

/* Which of SIGUSR1, SIGUSR2 and SIGHUP the thread blocks, as bits 0 to 2. */
static int blocked(void)
{
	sigset_t now;

	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
	return sigismember(&now, SIGUSR1) | sigismember(&now, SIGUSR2) << 1 |
	       sigismember(&now, SIGHUP) << 2;
}

static void *change_mask(void *arg)
{
	sigset_t both = set_of_two(SIGUSR1, SIGUSR2), more = set_of(SIGHUP);
	sigset_t first = set_of(SIGUSR1), before;

	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &both, NULL), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &more, &before), 0);
	CHECK(sigismember(&before, SIGUSR1) && !sigismember(&before, SIGHUP));
	CHECK_EQ(blocked(), 7);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &first, NULL), 0);
	CHECK_EQ(blocked(), 6);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &first, NULL), 0);
	CHECK_EQ(blocked(), 1);
	CHECK_EQ(pthread_sigmask(12345, &both, NULL), EINVAL);
	CHECK_EQ(blocked(), 1);
	return arg;
}

TEST(masks_add_up)
{
	thread_join(thread_start(change_mask, NULL));
	CHECK_EQ(blocked(), 0);
	change_mask(NULL);
}

/* --- handlers ------------------------------------------------------------- */

static _Atomic int blocked_inside, nr_inside, most_inside, nr_handled;

static void look(int sig)
{
	int inside = ++nr_inside;

	if (inside > most_inside)
		most_inside = inside;
	if (blocked_inside < 0) {
		blocked_inside = blocked();
		CHECK_EQ(pthread_kill(pthread_self(), SIGUSR2), 0);
		CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	}
	nr_inside--;
	nr_handled++;
}

static void *be_signalled(void *arg)
{
	blocked_inside = -1;
	most_inside = 0;
	nr_handled = 0;
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(nr_handled, 3);
	CHECK_EQ(blocked(), 0);
	return arg;
}

/* Checks on a thread of weft's, then on the first thread. */
static void in_both(int flags, sigset_t mask, int expected, int most)
{
	struct sigaction action = { .sa_handler = look,
				    .sa_flags = flags,
				    .sa_mask = mask };

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(sigaction(SIGUSR2, &action, NULL), 0);
	thread_join(thread_start(be_signalled, NULL));
	CHECK_EQ(blocked_inside, expected);
	CHECK_EQ(most_inside, most);
	be_signalled(NULL);
	CHECK_EQ(blocked_inside, expected);
	CHECK_EQ(most_inside, most);
}

TEST(handlers_block_their_signal)
{
	in_both(0, set_of(SIGHUP), 5, 2);
}

TEST(handlers_block_their_mask)
{
	in_both(0, set_of_two(SIGUSR2, SIGHUP), 7, 1);
}

TEST(handlers_that_do_not_defer)
{
	in_both(SA_NODEFER, set_of(SIGHUP), 4, 2);
}

TEST(handlers_that_defer_others_only)
{
	in_both(SA_NODEFER, set_of_two(SIGUSR2, SIGHUP), 6, 2);
}
