/* SPDX-License-Identifier: MIT */
/*
 * Kernel objects that belong to one kernel thread: a traced process, a counter
 * of the thread's events, a ring. The kernel accepts calls on them from no
 * other thread.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_OTHERS = 8, NR_YIELDS = 100 };

static void *trace(void *arg)
{
	pid_t pid = *(pid_t *)arg;
	int status;

	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0)
		SKIP("tracing is not allowed");
	CHECK_EQ(waitpid(pid, &status, __WALL), pid);
	CHECK(WIFSTOPPED(status));
	for (int i = 0; i < NR_YIELDS; i++) {
		sched_yield();
		errno = 0;
		ptrace(PTRACE_PEEKUSER, pid, NULL, NULL);
		CHECK_EQ(errno, 0);
	}
	CHECK_EQ(ptrace(PTRACE_DETACH, pid, NULL, NULL), 0);
	return NULL;
}

TEST(tracer)
{
	pthread_t others[NR_OTHERS];
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	threads_start(others, NR_OTHERS, thread_yield_often, NULL);
	thread_join(thread_start(trace, &pid));
	threads_join(others, NR_OTHERS);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void spin(void)
{
	for (volatile int i = 0; i < 10000000; i++)
		;
}

static void *spin_beside(void *arg)
{
	for (int i = 0; i < 5; i++)
		spin();
	return NULL;
}

/* The counter counts the CPU time of the thread that opened it. */
static void *count_own(void *arg)
{
	struct perf_event_attr attr;
	uint64_t idle_ns, busy_ns;
	long id = arg != NULL ? gettid() : 0;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	fd = (int)syscall(SYS_perf_event_open, &attr, id, -1, -1, 0);
	if (fd < 0)
		SKIP("perf events are not allowed");
	thread_join(thread_start(spin_beside, NULL));
	CHECK_EQ(read(fd, &idle_ns, sizeof(idle_ns)), sizeof(idle_ns));
	for (int i = 0; i < 10; i++)
		spin();
	CHECK_EQ(read(fd, &busy_ns, sizeof(busy_ns)), sizeof(busy_ns));
	CHECK(busy_ns - idle_ns > idle_ns);
	CHECK_EQ(close(fd), 0);
	return NULL;
}

TEST(counter_of_events)
{
	thread_join(thread_start(count_own, NULL));
	thread_join(thread_start(count_own, "by its id"));
}

static int ring;

/* The kernel accepts this call from the ring's own thread only. */
static int ring_error(void)
{
	CHECK(syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_EVENTFD,
		      NULL, 0) < 0);
	return errno;
}

static void *is_not_mine(void *arg)
{
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(ring_error(), EEXIST);
		sched_yield();
	}
	return arg;
}

static void *have_own_ring(void *arg)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SINGLE_ISSUER };
	pthread_t others[NR_OTHERS];

	ring = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (ring < 0)
		SKIP("there are no rings of one thread");
	threads_start(others, NR_OTHERS, is_not_mine, NULL);
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(ring_error(), ENXIO);
		sched_yield();
	}
	threads_join(others, NR_OTHERS);
	close(ring);
	return arg;
}

TEST(ring_of_one_thread)
{
	thread_join(thread_start(have_own_ring, NULL));
}
