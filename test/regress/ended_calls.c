/* SPDX-License-Identifier: MIT */
/*
 * Threads wait for as long as it takes in system calls that are compiled into
 * the program and that the kernel never starts again: weft's own signals do not
 * end them, a handler of the program's does.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/syscall.h>

#include "busy.h"

enum { NR_CPU_BOUND = 2, NR_CALLS = 200, NR_ENDED = 50 };

static int ends[2], epoll, semaphores;
static _Atomic int nr_begun, is_over;

/* Each call has its number and constants inline, like a program's own code. */
#define CALL(nr, a, b, c, d)                                           \
	({                                                             \
		register long fourth __asm__("r10") = (long)(d);       \
		register long fifth __asm__("r8") = 0;                 \
		register long sixth __asm__("r9") = 8;                 \
		long rc;                                               \
                                                                       \
		__asm__ volatile("mov %[n], %%eax\n\t"                 \
				 "syscall"                             \
				 : "=&a"(rc)                           \
				 : [n] "i"(nr), "D"((long)(a)),        \
				   "S"((long)(b)), "d"((long)(c)),     \
				   "r"(fourth), "r"(fifth), "r"(sixth) \
				 : "rcx", "r11", "memory");            \
		rc;                                                    \
	})

static long by_poll(void)
{
	struct pollfd pollfd = { ends[0], POLLIN, 0 };

	return CALL(SYS_poll, &pollfd, 1, -1, 0);
}

static long by_epoll(void)
{
	struct epoll_event event;

	return CALL(SYS_epoll_wait, epoll, &event, 1, -1);
}

static long by_semaphore(void)
{
	struct sembuf down = { 0, -1, 0 };
	long rc = CALL(SYS_semop, semaphores, &down, 1, 0);

	return rc == 0 ? 1 : rc;
}

static void *come_after_a_while(void *arg)
{
	struct sembuf up = { 0, 1, 0 };

	for (int i = 0; i < NR_CALLS; i++) {
		await_count(&nr_begun, i + 1);
		sleep_ms(1);
		if (arg == by_semaphore)
			CHECK_EQ(semop(semaphores, &up, 1), 0);
		else
			CHECK_EQ(write(ends[1], "", 1), 1);
	}
	return arg;
}

/* Waits NR_CALLS times and takes the byte of each wait with a read. */
static void wait_often(long (*wait)(void))
{
	pthread_t thread;
	char byte;

	nr_begun = 0;
	thread = thread_start(come_after_a_while, wait);
	for (int i = 0; i < NR_CALLS; i++) {
		busy_for_us(i % 10 * 20);
		nr_begun = i + 1;
		CHECK_EQ(wait(), 1);
		if (wait != by_semaphore)
			CHECK_EQ(read(ends[0], &byte, 1), 1);
	}
	thread_join(thread);
}

/* --- io_uring_enter ------------------------------------------------------- */

struct ring {
	int fd;
	char *rings;
	struct io_uring_sqe *sqes;
	struct io_uring_params params;
};

static _Atomic uint32_t *word_at(const struct ring *r, uint32_t offset)
{
	return (_Atomic uint32_t *)(r->rings + offset);
}

static void *map(int fd, size_t bytes, off_t what)
{
	void *at =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, what);

	CHECK(at != MAP_FAILED);
	return at;
}

/* Returns false if there is no io_uring. */
static bool make_ring(struct ring *r)
{
	*r = (struct ring){ .fd = (int)syscall(SYS_io_uring_setup, 4,
					       &r->params) };
	if (r->fd < 0 || !(r->params.features & IORING_FEAT_SINGLE_MMAP))
		return false;
	r->rings = map(r->fd, 4096, IORING_OFF_SQ_RING);
	r->sqes = map(r->fd, 4096, IORING_OFF_SQES);
	return true;
}

static void wait_by_ring(void)
{
	const struct __kernel_timespec {
		long long sec, nsec;
	} ts = { 0, 1000000 };
	struct ring r;

	if (!make_ring(&r))
		return;
	for (int i = 0; i < NR_CALLS; i++) {
		busy_for_us(i % 10 * 20);
		r.sqes[0] = (struct io_uring_sqe){
			.opcode = IORING_OP_TIMEOUT,
			.fd = -1,
			.addr = (uintptr_t)&ts,
			.len = 1,
		};
		*word_at(&r, r.params.sq_off.array +
				     4 * (*word_at(&r, r.params.sq_off.tail) &
					  3)) = 0;
		(*word_at(&r, r.params.sq_off.tail))++;
		CHECK_EQ(syscall(SYS_io_uring_enter, r.fd, 1, 0, 0, NULL, 0),
			 1);
		CHECK_EQ(CALL(SYS_io_uring_enter, r.fd, 0, 1,
			      IORING_ENTER_GETEVENTS),
			 0);
		(*word_at(&r, r.params.cq_off.head))++;
	}
	CHECK_EQ(close(r.fd), 0);
}

/* --- handlers ------------------------------------------------------------- */

static void handle(int sig)
{
}

static void *be_ended(void *arg)
{
	for (int i = 0; i < NR_ENDED; i++) {
		CHECK_EQ(by_poll(), -EINTR);
		CHECK_EQ(by_epoll(), -EINTR);
		CHECK_EQ(by_semaphore(), -EINTR);
	}
	is_over = 1;
	return arg;
}

/* SA_RESTART makes no difference to these calls. */
static void end_by_handlers(void)
{
	struct sigaction action = { .sa_handler = handle,
				    .sa_flags = SA_RESTART };
	pthread_t thread;

	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	is_over = 0;
	thread = thread_start(be_ended, NULL);
	while (!is_over) {
		usleep(300);
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
	}
	thread_join(thread);
}

int main(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	CHECK_EQ(pipe(ends), 0);
	epoll = epoll_create1(0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	CHECK(epoll >= 0 && semaphores >= 0);
	CHECK_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event), 0);
	busy_start(busy_computing, NR_CPU_BOUND);
	wait_often(by_poll);
	wait_often(by_epoll);
	wait_often(by_semaphore);
	wait_by_ring();
	end_by_handlers();
	busy_stop();
	CHECK_EQ(semctl(semaphores, 0, IPC_RMID), 0);
	printf("the calls ended by what they waited for\n");
	return 0;
}
