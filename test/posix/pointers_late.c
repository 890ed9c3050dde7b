/* SPDX-License-Identifier: MIT */
/*
 * Invalid pointers for results that a call stores after its wait; errors that
 * the kernel finds before it reads the pointers; a child's invalid pointers.
 */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

enum { PAGE = 4096 };

static int packets[2], file;
static char byte = 'x';

static char *map(int access)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	memset(page, 'x', PAGE);
	CHECK_EQ(mprotect(page, PAGE, access), 0);
	return page;
}

static _Atomic int is_ready, is_over;

static void on_signal(int sig)
{
}

static void *sleep_long(void *p)
{
	const struct timespec hour = { 3600, 0 };

	CHECK_ERRNO(nanosleep(&hour, p), EFAULT);
	CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, p), EFAULT);
	is_over = 1;
	return NULL;
}

TEST(time_left_of_a_sleep)
{
	pthread_t t;

	CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
	t = thread_start(sleep_long, map(PROT_READ));
	while (!is_over) {
		CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		sleep_ms(5);
	}
	thread_join(t);
}

static void *receive(void *p)
{
	struct sockaddr_un from;

	is_ready = 1;
	CHECK_ERRNO(recvfrom(packets[0], &byte, 1, 0, (void *)&from, p),
		    EFAULT);
	return NULL;
}

TEST(the_length_of_an_address)
{
	char *pages[] = { map(PROT_NONE), map(PROT_READ) };

	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, packets), 0);
	for (int i = 0; i < 2; i++) {
		pthread_t t;

		is_ready = 0;
		t = thread_start(receive, pages[i]);
		let_it_wait(&is_ready);
		CHECK_EQ(send(packets[1], &byte, 1, 0), 1);
		thread_join(t);
	}
}

static void *select_constant(void *arg)
{
	struct page {
		fd_set set;
		struct timespec time;
	} *page = (void *)map(PROT_READ | PROT_WRITE);
	struct iovec part = { &byte, 1 };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &part,
						.msg_iovlen = 1 } };
	const struct timespec tick = { 0, NS_PER_MS };
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, packets), 0);
	FD_ZERO(&page->set);
	FD_SET(ends[1], &page->set);
	page->time = tick;
	CHECK_EQ(mprotect(page, PAGE, PROT_READ), 0);
	CHECK_ERRNO(pselect(ends[1] + 1, NULL, &page->set, NULL, NULL, NULL),
		    EFAULT);
	CHECK_ERRNO(pselect(ends[1] + 1, &page->set, NULL, NULL, &tick, NULL),
		    EFAULT);
	CHECK_EQ(send(packets[1], &byte, 1, 0), 1);
	CHECK_ERRNO(recvmmsg(packets[0], &message, 1, 0, &page->time), EFAULT);
	return NULL;
}

TEST(results_in_constant_memory)
{
	thread_join(thread_start(select_constant, NULL));
}

/* Errors that the kernel finds before it reads the memory. */
static void *pass_wrong(void *arg)
{
	/* volatile hides it from the compiler's warning */
	volatile int too_few = -1;
	void *volatile nowhere = NULL;

	CHECK_ERRNO(sched_setparam(0, NULL), EINVAL);
	CHECK_ERRNO(sched_getparam(0, NULL), EINVAL);
	CHECK_ERRNO(sched_setscheduler(0, SCHED_OTHER, NULL), EINVAL);
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_OTHER, nowhere),
		 EINVAL);
	CHECK_ERRNO(readv(-1, arg, 1), EBADF);
	CHECK_ERRNO(writev(-1, arg, 1), EBADF);
	CHECK_ERRNO(writev(file, arg, too_few), EINVAL);
	CHECK_ERRNO(select(-1, arg, NULL, NULL, NULL), EINVAL);
	return NULL;
}

TEST(errors_found_before_the_pointer)
{
	CHECK((file = memfd_create("file", 0)) >= 0);
	thread_join(thread_start(pass_wrong, (void *)8));
}

/* Sizes above SSIZE_MAX. */
static void *exceed(void *p)
{
	/* volatile hides it from the compiler's warning */
	volatile size_t much = (size_t)-1;
	const struct iovec part = { p, much };
	int ends[2], fds[3];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, packets), 0);
	CHECK((file = memfd_create("file", 0)) >= 0);
	fds[0] = file;
	fds[1] = packets[0];
	fds[2] = ends[1];
	for (int i = 0; i < 3; i++) {
		CHECK_ERRNO(writev(fds[i], &part, 1), EINVAL);
		CHECK_ERRNO(write(fds[i], p, much), EFAULT);
	}
	fds[2] = ends[0];
	for (int i = 0; i < 3; i++) {
		CHECK_ERRNO(readv(fds[i], &part, 1), EINVAL);
		CHECK_ERRNO(read(fds[i], p, much), EFAULT);
	}
	CHECK_ERRNO(preadv(file, &part, 1, 0), EINVAL);
	CHECK_ERRNO(pwritev(file, &part, 1, 0), EINVAL);
	CHECK_ERRNO(pread(file, p, much, 0), EFAULT);
	CHECK_ERRNO(pwrite(file, p, much, 0), EFAULT);
	return NULL;
}

TEST(sizes_too_large)
{
	thread_join(thread_start(exceed, map(PROT_READ | PROT_WRITE)));
}

/* --- names of programs ---------------------------------------------------- */

/* The child reads the name, and fails; its caller continues. */
static void *start_programs_without_names(void *p)
{
	const char *names[] = { NULL, p };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		pid_t pid;

		if (posix_spawnp(&pid, names[i], NULL, NULL,
				 (char *[]){ "x", NULL }, environ) == 0)
			CHECK(child_wait(pid) != 0);
	}
	return NULL;
}

static void start_them_everywhere(void)
{
	char *p = map(PROT_NONE);

	start_programs_without_names(p);
	thread_join(thread_start(start_programs_without_names, p));
	_exit(0);
}

TEST(names_of_programs)
{
	CHECK_EQ(child_exit_status(start_them_everywhere), 0);
}
