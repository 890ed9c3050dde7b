/* SPDX-License-Identifier: MIT */
/*
 * A signalfd is for all signals, as in daemons. A signal that waits to be read
 * there must not keep the process busy.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "threading.h"

enum { NAP_MS = 50 };

static long cpu_ms(void)
{
	struct timespec t;

	CHECK_EQ(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *be_nobody(void *arg)
{
	return arg;
}

int main(void)
{
	struct pollfd fd = { .events = POLLIN };
	sigset_t all;

	CHECK_EQ(sigfillset(&all), 0);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
	fd.fd = signalfd(-1, &all, SFD_CLOEXEC);
	CHECK(fd.fd >= 0);
	thread_join(thread_start(be_nobody, NULL));
	for (int sig = 1; sig < 32; sig++) {
		struct signalfd_siginfo info;
		struct timespec nap = { 0, NAP_MS * 1000000 };
		long before;

		if (sig == SIGKILL || sig == SIGSTOP)
			continue;
		CHECK_EQ(kill(getpid(), sig), 0);
		CHECK_EQ(poll(&fd, 1, -1), 1);
		before = cpu_ms();
		CHECK_EQ(nanosleep(&nap, NULL), 0);
		CHECK(cpu_ms() - before < NAP_MS / 2);
		CHECK_EQ(read(fd.fd, &info, sizeof(info)), sizeof(info));
		CHECK_EQ(info.ssi_signo, sig);
	}
	printf("nobody was busy\n");
	return 0;
}
