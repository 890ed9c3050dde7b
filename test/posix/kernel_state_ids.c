/* SPDX-License-Identifier: MIT */
/*
 * System calls that take a thread's id, or a process's where a thread's is also
 * valid; and values that the kernel keeps for the calling thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_THREADS = 8, NR_YIELDS = 100 };

static void *ask_by_own_id(void *arg)
{
	char from[] = "here", to[sizeof(from)] = "";
	struct iovec here = { to, sizeof(to) }, there = { from, sizeof(from) };
	struct rlimit now, by_id;
	void *page = from;
	int node;
	pid_t id = gettid();

	CHECK_EQ(getpgid(id), getpgrp());
	CHECK_EQ(getsid(id), getsid(0));
	CHECK_EQ(syscall(SYS_getpgid, id), getpgrp());
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &now), 0);
	CHECK_EQ(prlimit(id, RLIMIT_NOFILE, NULL, &by_id), 0);
	CHECK_EQ(by_id.rlim_cur, now.rlim_cur);
	CHECK_EQ(syscall(SYS_prlimit64, id, RLIMIT_NOFILE, NULL, &by_id), 0);
	CHECK_EQ(process_vm_readv(id, &here, 1, &there, 1, 0), sizeof(to));
	CHECK(strcmp(from, to) == 0);
	from[0] = 'H';
	CHECK_EQ(process_vm_writev(id, &there, 1, &here, 1, 0), sizeof(to));
	CHECK(strcmp(to, "Here") == 0);
	if (syscall(SYS_kcmp, id, getpid(), KCMP_VM, 0, 0) < 0)
		CHECK(errno == ENOSYS || errno == EPERM);
	else
		CHECK_EQ(syscall(SYS_kcmp, getpid(), id, KCMP_FILES, 0, 0), 0);
	if (syscall(SYS_move_pages, id, 1, &page, NULL, &node, 0) != 0)
		CHECK(errno == ENOSYS || errno == EPERM);
	return arg;
}

TEST(process_of_a_thread)
{
	pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, ask_by_own_id, NULL);
	threads_join(threads, NR_THREADS);
	ask_by_own_id(NULL);
	/* These calls do not accept 0 for the caller. */
	CHECK_ERRNO(syscall(SYS_kcmp, 0, 0, KCMP_VM, 0, 0), ESRCH);
}

static void *return_id(void *arg)
{
	*(pid_t *)arg = gettid();
	return arg;
}

TEST(process_of_a_thread_that_has_ended)
{
	pid_t id;

	thread_join(thread_start(return_id, &id));
	/* Natively the kernel may need a moment to remove the thread. */
	while (getpgid(id) >= 0)
		sched_yield();
	CHECK_EQ(errno, ESRCH);
	CHECK_ERRNO(prlimit(id, RLIMIT_NOFILE, NULL, NULL), ESRCH);
}

/* --- a descriptor of a thread --------------------------------------------- */

enum { OF_THREAD = 0200 }; /* PIDFD_THREAD, in Linux from 6.9 on */

static _Atomic pid_t others_id;
static _Atomic int may_end;

static void *wait_for_end(void *arg)
{
	others_id = gettid();
	while (!may_end)
		sleep_ms(1);
	return arg;
}

static int open_thread(pid_t id)
{
	int fd = (int)syscall(SYS_pidfd_open, id, OF_THREAD);

	if (fd < 0)
		SKIP("the kernel has no descriptors of threads");
	return fd;
}

TEST(descriptor_of_a_thread)
{
	pthread_t thread;
	struct pollfd p = { .events = POLLIN };

	may_end = others_id = 0;
	thread = thread_start(wait_for_end, NULL);
	while (others_id == 0)
		sched_yield();
	p.fd = open_thread(others_id);
	CHECK_EQ(poll(&p, 1, 10), 0);
	may_end = 1;
	thread_join(thread);
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(close(p.fd), 0);
	have_threads();
}

/* --- a file that only its thread may write -------------------------------- */

static void write_login(const char *path, int value)
{
	char text[16], now[16];
	int fd = open(path, O_RDWR), n;

	if (fd < 0)
		SKIP("the kernel has no users of logins");
	for (int i = 0; i < NR_YIELDS; i++)
		sched_yield();
	n = snprintf(text, sizeof(text), "%d", value);
	if (pwrite(fd, text, (size_t)n, 0) < 0 && geteuid() != 0)
		SKIP("needs root");
	for (int i = 0; i < NR_YIELDS; i++) {
		memset(now, 0, sizeof(now));
		CHECK(pread(fd, now, sizeof(now), 0) >= n);
		CHECK_EQ(atoi(now), value);
		sched_yield();
	}
	CHECK_EQ(close(fd), 0);
}

static void *log_in(void *arg)
{
	char path[64];

	write_login("/proc/thread-self/loginuid", 1000 + (int)(intptr_t)arg);
	snprintf(path, sizeof(path), "/proc/self/task/%d/loginuid", gettid());
	write_login(path, 2000 + (int)(intptr_t)arg);
	return arg;
}

TEST(files_that_their_thread_writes)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, log_in);
	write_login("/proc/self/loginuid", 3000);
	threads_join(threads, NR_THREADS);
	write_login("/proc/self/loginuid", 3001);
}

/* --- rings that a thread has registered ----------------------------------- */

static long enter(unsigned int ring)
{
	return syscall(SYS_io_uring_enter, ring, 0, 0,
		       IORING_ENTER_REGISTERED_RING, NULL, 0);
}

static void *register_ring(void *arg)
{
	struct io_uring_params p = { 0 };
	struct io_uring_rsrc_update update = { .offset = -1U };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p);

	if (ring < 0)
		SKIP("there are no rings");
	update.data = (uint64_t)ring;
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_RING_FDS,
		    &update, 1) != 1)
		SKIP("rings cannot be registered");
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(enter(update.offset), 0);
		sched_yield();
	}
	close(ring);
	return arg;
}

static void *has_no_ring(void *arg)
{
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK(enter(0) < 0);
		sched_yield();
	}
	return arg;
}

TEST(registered_rings)
{
	pthread_t threads[NR_THREADS], others[NR_THREADS];

	threads_start(others, NR_THREADS, has_no_ring, NULL);
	threads_start(threads, NR_THREADS, register_ring, NULL);
	threads_join(threads, NR_THREADS);
	threads_join(others, NR_THREADS);
	thread_join(thread_start(has_no_ring, NULL));
}

TEST(registered_ring_from_before_the_first_thread)
{
	pthread_t others[NR_THREADS];
	struct io_uring_params p = { 0 };
	struct io_uring_rsrc_update update = { .offset = -1U };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p);

	update.data = (uint64_t)ring;
	if (ring < 0 || syscall(SYS_io_uring_register, ring,
				IORING_REGISTER_RING_FDS, &update, 1) != 1)
		SKIP("rings cannot be registered");
	threads_start(others, NR_THREADS, has_no_ring, NULL);
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(enter(update.offset), 0);
		sched_yield();
	}
	threads_join(others, NR_THREADS);
}

/* --- system calls that the program itself handles ------------------------- */

static _Thread_local volatile sig_atomic_t nr_dispatched;

static void count(int sig)
{
	(void)sig;
	nr_dispatched++;
}

enum { CODE = 0x10000000, CODE_END = CODE + 4096, DISPATCH = 59 };

/* Calls getpid() by an instruction outside of all libraries. */
static long call_from_page(void)
{
	return ((long (*)(void))CODE)();
}

static void make_page(void)
{
	static const unsigned char code[] = { 0xb8, SYS_getpid, 0,    0,
					      0,    0x0f,	0x05, 0xc3 };
	void *page =
		mmap((void *)CODE, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (page != (void *)CODE)
		SKIP("there is no room for code");
	memcpy(page, code, sizeof(code));
	signal(SIGSYS, count);
}

static void *dispatch_own(void *arg)
{
	if (prctl(DISPATCH, 1, (unsigned long)CODE_END, 0x7fffUL << 32, 0) != 0)
		SKIP("the kernel has no dispatch to programs");
	for (int i = 0; i < NR_YIELDS; i++) {
		call_from_page();
		CHECK_EQ(nr_dispatched, i + 1);
		sched_yield();
	}
	CHECK_EQ(prctl(DISPATCH, 0, 0, 0, 0), 0);
	CHECK_EQ(call_from_page(), getpid());
	return arg;
}

static void *dispatch_nothing(void *arg)
{
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(call_from_page(), getpid());
		CHECK_EQ(nr_dispatched, 0);
		sched_yield();
	}
	return arg;
}

TEST(dispatch_of_system_calls)
{
	pthread_t threads[NR_THREADS], others[NR_THREADS];

	make_page();
	threads_start(others, NR_THREADS, dispatch_nothing, NULL);
	threads_start(threads, NR_THREADS, dispatch_own, NULL);
	threads_join(threads, NR_THREADS);
	threads_join(others, NR_THREADS);
	thread_join(thread_start(dispatch_nothing, NULL));
}
