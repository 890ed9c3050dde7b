/* SPDX-License-Identifier: MIT */
/* Short forms of the calls that tests of signals make; each must succeed. */
#ifndef SIGNALLING_H
#define SIGNALLING_H

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "check.h"

static inline sigset_t set_of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

/*
 * Blocks the signal in the calling thread; returns a set with this signal only.
 */
static inline sigset_t block(int sig)
{
	sigset_t set = set_of(sig);

	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	return set;
}

/* flags: in addition to SA_SIGINFO */
static inline void handle(int sig, void (*fn)(int, siginfo_t *, void *),
			  int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = fn;
	action.sa_flags = flags | SA_SIGINFO;
	CHECK_EQ(sigaction(sig, &action, NULL), 0);
}

#endif
