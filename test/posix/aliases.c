/* SPDX-License-Identifier: MIT */
/* Other names of functions, which old programs call. */
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "waiting.h"

/* --- scheduling ----------------------------------------------------------- */

int __sched_setscheduler(pid_t id, int policy, const struct sched_param *param);
int __sched_getscheduler(pid_t id);
int __sched_getparam(pid_t id, struct sched_param *ret_param);

static void *change_policy(void *arg)
{
	struct sched_param param = { .sched_priority = 0 };

	CHECK_EQ(__sched_setscheduler(0, SCHED_BATCH, &param), 0);
	CHECK_EQ(sched_getscheduler(0), SCHED_BATCH);
	CHECK_EQ(__sched_getscheduler(gettid()), SCHED_BATCH);
	param.sched_priority = 1;
	CHECK_EQ(__sched_getparam(gettid(), &param), 0);
	CHECK_EQ(param.sched_priority, 0);
	return arg;
}

TEST(policies)
{
	thread_join(thread_start(change_policy, NULL));
	CHECK_EQ(__sched_getscheduler(0), SCHED_OTHER);
}

/* --- signals -------------------------------------------------------------- */

/* BSD's sigpause, which the headers hide. */
int sigpause_of_bsd(int mask) __asm__("sigpause");
int sigpause_of_xpg(int sig) __asm__("__xpg_sigpause");

static void *pause_by_bsd(void *arg)
{
	is_ready = 1;
	return outcome(sigpause_of_bsd(0));
}

static void *pause_by_xpg(void *arg)
{
	is_ready = 1;
	return outcome(sigpause_of_xpg(SIGUSR2));
}

static void nothing(void)
{
}

TEST(pauses)
{
	block(SIGUSR1);
	CHECK_EQ(after_handler(pause_by_bsd, 0, nothing), -EINTR);
	is_cancelled_in(pause_by_bsd, NULL);
	is_cancelled_in(pause_by_xpg, NULL);
}

/* --- children ------------------------------------------------------------- */

pid_t __vfork(void);

/*
 * __vfork must not share signal masks: the child's change stays in the child.
 */
static void *fork_and_block(void *arg)
{
	sigset_t now;
	pid_t pid = __vfork();

	if (pid == 0) {
		block(SIGUSR1);
		_exit(7);
	}
	CHECK(pid > 0);
	CHECK_EQ(WEXITSTATUS(child_wait(pid)), 7);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
	CHECK_EQ(sigismember(&now, SIGUSR1), 0);
	return arg;
}

TEST(children)
{
	thread_join(thread_start(fork_and_block, NULL));
	fork_and_block(NULL);
}

/* --- descriptors ---------------------------------------------------------- */

static int event;

static void *read_event(void *arg)
{
	eventfd_t value = 0;

	is_ready = 1;
	if (eventfd_read(event, &value) != 0)
		return outcome(-1);
	return outcome((long)value);
}

TEST(events)
{
	eventfd_t value;
	pthread_t thread;

	event = eventfd(0, 0);
	CHECK(event >= 0);
	thread = thread_start(read_event, NULL);
	let_it_wait(&is_ready);
	others_go_on();
	CHECK_EQ(eventfd_write(event, 5), 0);
	CHECK_EQ(result_of(thread), 5);
	is_cancelled_in(read_event, NULL);
	CHECK_ERRNO(eventfd_write(event, UINT64_MAX), EINVAL);
	CHECK_ERRNO(eventfd_read(-1, &value), EBADF);
}
