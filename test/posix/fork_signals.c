/* SPDX-License-Identifier: MIT */
/*
 * Signals and fork: pending signals stay with the parent, the child gets a copy
 * of the mask.
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "signalling.h"
#include "threading.h"

static int pending(void)
{
	sigset_t set;

	CHECK_EQ(sigpending(&set), 0);
	return sigismember(&set, SIGUSR1) | sigismember(&set, SIGUSR2) << 1;
}

static void in_child(void)
{
	sigset_t now;

	CHECK_EQ(pending(), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
	CHECK(sigismember(&now, SIGUSR1) && sigismember(&now, SIGUSR2));
	/* The parent's signals are not pending in the child, also not after the
	 * child has made threads. */
	have_threads();
	CHECK_EQ(pending(), 0);
	CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &now, NULL), 0);
}

static void *fork_with_pending(void *arg)
{
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
	CHECK_EQ(kill(getpid(), SIGUSR2), 0);
	CHECK_EQ(pending(), 3);
	CHECK_EQ(child_exit_status(in_child), 0);
	CHECK_EQ(pending(), 3);
	return arg;
}

static void block_both(void)
{
	block(SIGUSR1);
	block(SIGUSR2);
}

TEST(pending_signals_stay_with_the_parent)
{
	block_both();
	thread_join(thread_start(fork_with_pending, NULL));
}

TEST(of_the_first_thread_too)
{
	block_both();
	have_threads();
	fork_with_pending(NULL);
}
