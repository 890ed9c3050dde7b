/* SPDX-License-Identifier: MIT */
/* signalfd in programs with threads. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "signalling.h"
#include "threading.h"

enum { NR_READERS = 8, NR_ROUNDS = 50 };

static _Atomic int nr_ready;
static _Atomic int nr_handled;
static _Atomic int is_quiet;

static int make_fd(int sig, int flags)
{
	sigset_t set = block(sig);
	int fd = signalfd(-1, &set, flags);

	CHECK(fd >= 0);
	return fd;
}

static struct signalfd_siginfo read_one(int fd)
{
	struct signalfd_siginfo info;

	CHECK_EQ(read(fd, &info, sizeof(info)), (ssize_t)sizeof(info));
	return info;
}

static void *read_own(void *arg)
{
	int fd = *(int *)arg;
	struct signalfd_siginfo info;

	CHECK_EQ(raise(SIGUSR1), 0);
	info = read_one(fd);
	CHECK_EQ(info.ssi_signo, SIGUSR1);
	CHECK_EQ(info.ssi_code, SI_TKILL);
	CHECK_EQ((int)info.ssi_pid, getpid());
	CHECK_EQ(info.ssi_uid, getuid());
	CHECK_ERRNO((int)read(fd, &info, sizeof(info)), EAGAIN);
	return NULL;
}

TEST(raised_signals)
{
	int fd = make_fd(SIGUSR1, SFD_NONBLOCK);

	thread_join(thread_start(read_own, &fd));
	read_own(&fd);
}

static void *sleep_long(void *arg)
{
	pause();
	return arg;
}

TEST(signals_to_others_are_not_seen)
{
	int fd = make_fd(SIGUSR1, SFD_NONBLOCK | SFD_CLOEXEC);
	struct signalfd_siginfo info;
	pthread_t t;

	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	/* The thread blocks the signal and sleeps. */
	t = thread_start(sleep_long, NULL);
	CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
	CHECK_ERRNO((int)read(fd, &info, sizeof(info)), EAGAIN);
	CHECK_EQ(pthread_cancel(t), 0);
	thread_join(t);
}

TEST(process_signals)
{
	int fd = make_fd(SIGUSR1, 0);
	struct signalfd_siginfo info;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	thread_join(thread_start(thread_nothing, NULL));
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	CHECK_EQ(poll(&p, 1, 10000), 1);
	info = read_one(fd);
	CHECK_EQ(info.ssi_signo, SIGUSR1);
	CHECK_EQ(info.ssi_code, SI_USER);
	CHECK_EQ(poll(&p, 1, 0), 0);
}

TEST(queued_values)
{
	int fd = make_fd(SIGRTMIN, SFD_NONBLOCK);
	struct signalfd_siginfo infos[4];

	thread_join(thread_start(thread_nothing, NULL));
	for (int i = 0; i < 3; i++) {
		union sigval value = { .sival_int = i };

		CHECK_EQ(pthread_sigqueue(pthread_self(), SIGRTMIN, value), 0);
	}
	CHECK_EQ(read(fd, infos, sizeof(infos)), 3 * (ssize_t)sizeof(*infos));
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(infos[i].ssi_code, SI_QUEUE);
		CHECK_EQ(infos[i].ssi_int, i);
	}
	CHECK_ERRNO((int)read(fd, infos, sizeof(*infos) - 1), EINVAL);
}

static void *read_many(void *arg)
{
	int fd = *(int *)arg;

	nr_ready++;
	for (int i = 0; i < NR_ROUNDS; i++) {
		struct signalfd_siginfo info = read_one(fd);

		CHECK_EQ(info.ssi_signo, SIGRTMIN);
		CHECK_EQ(info.ssi_int, i);
	}
	return NULL;
}

/*
 * Each thread gets the signals sent to it, in order, whether it waits or not.
 */
TEST(readers_get_their_own)
{
	int fd = make_fd(SIGRTMIN, 0);
	pthread_t threads[NR_READERS];

	threads_start(threads, NR_READERS, read_many, &fd);
	await_count(&nr_ready, NR_READERS);
	for (int i = 0; i < NR_ROUNDS; i++) {
		union sigval value = { .sival_int = i };

		for (int k = 0; k < NR_READERS; k++)
			CHECK_EQ(pthread_sigqueue(threads[k], SIGRTMIN, value),
				 0);
		if (i % 3 == 0)
			await_rest();
		else if (i % 3 == 1)
			sched_yield();
	}
	threads_join(threads, NR_READERS);
}

/* On one VP, too: a reader must not block other threads. */
TEST(process_signal_ends_a_read)
{
	int fd = make_fd(SIGRTMIN, 0);
	union sigval value = { .sival_int = 0 };
	pthread_t t = thread_start(read_many, &fd);

	await_count(&nr_ready, 1);
	for (; value.sival_int < NR_ROUNDS; value.sival_int++) {
		CHECK_EQ(sigqueue(getpid(), SIGRTMIN, value), 0);
		if (value.sival_int % 8 == 0)
			await_rest();
	}
	thread_join(t);
}

static void count(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	nr_handled++;
}

static void *read_one_of(void *fd)
{
	nr_ready = 1;
	CHECK_EQ(read_one(*(int *)fd).ssi_signo, SIGUSR1);
	return NULL;
}

static void *read_interrupted(void *arg)
{
	int fd = *(int *)arg;
	struct signalfd_siginfo info;

	nr_ready = 1;
	CHECK_ERRNO((int)read(fd, &info, sizeof(info)), EINTR);
	nr_ready = 2;
	await_count(&is_quiet, 1); /* no further SIGUSR2 comes */
	info = read_one(fd);
	CHECK_EQ(info.ssi_signo, SIGUSR1);
	return NULL;
}

TEST(handlers_interrupt_a_read)
{
	int fd = make_fd(SIGUSR1, 0);
	pthread_t t;

	handle(SIGUSR2, count, 0);
	handle(SIGHUP, count, SA_RESTART);
	t = thread_start(read_interrupted, &fd);
	await_count(&nr_ready, 1);
	/* The first signal may come before the read. */
	while (nr_ready == 1) {
		CHECK_EQ(pthread_kill(t, SIGUSR2), 0);
		sleep_ms(2);
	}
	nr_handled = 0;
	is_quiet = 1;
	await_rest(); /* the thread reads again */
	CHECK_EQ(pthread_kill(t, SIGHUP), 0);
	await_count(&nr_handled, 1);
	CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
	thread_join(t);
}

static void wait_in_handler(int sig, siginfo_t *info, void *context)
{
	const struct timespec tick = { 0, NS_PER_MS };
	sigset_t other = set_of(SIGRTMIN);

	CHECK_ERRNO(sigtimedwait(&other, NULL, &tick), EAGAIN);
	nr_handled++;
	while (!is_quiet)
		sched_yield();
}

/* The second signal comes after the handler has returned, or while it runs. */
TEST(handlers_that_wait_interrupt_a_read)
{
	int fd = make_fd(SIGUSR1, 0);

	block(SIGRTMIN);
	handle(SIGHUP, wait_in_handler, SA_RESTART);
	for (int i = 0; i < 20; i++) {
		pthread_t t;

		nr_ready = nr_handled = 0;
		is_quiet = i % 2;
		t = thread_start(read_one_of, &fd);
		let_it_wait(&nr_ready);
		CHECK_EQ(pthread_kill(t, SIGHUP), 0);
		await_count(&nr_handled, 1);
		if (is_quiet)
			await_rest();
		CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
		is_quiet = 1;
		thread_join(t);
	}
}

static sigjmp_buf out;

static void leave_read(int sig, siginfo_t *info, void *context)
{
	siglongjmp(out, 1);
}

/* A jump out of the read: its signal must not end a later wait. */
static void *leave_and_wait(void *arg)
{
	struct signalfd_siginfo info;
	volatile bool has_left = false;

	if (sigsetjmp(out, 1) == 0) {
		nr_ready = 1;
		read(*(int *)arg, &info, sizeof(info));
	} else {
		has_left = true;
	}
	CHECK(has_left);
	nr_ready = 2;
	CHECK_EQ(poll(NULL, 0, 30), 0);
	CHECK_EQ(read_one(*(int *)arg).ssi_signo, SIGUSR1);
	return NULL;
}

TEST(read_left_by_a_jump)
{
	int fd = make_fd(SIGUSR1, 0);
	pthread_t t;

	handle(SIGHUP, leave_read, 0);
	t = thread_start(leave_and_wait, &fd);
	let_it_wait(&nr_ready);
	CHECK_EQ(pthread_kill(t, SIGHUP), 0);
	await_count(&nr_ready, 2);
	await_rest();
	CHECK_EQ(pthread_kill(t, SIGUSR1), 0);
	thread_join(t);
}

TEST(read_is_a_cancellation_point)
{
	int fd = make_fd(SIGRTMIN, 0);
	pthread_t t = thread_start(read_many, &fd);

	await_count(&nr_ready, 1);
	CHECK_EQ(pthread_cancel(t), 0);
	CHECK(thread_join(t) == PTHREAD_CANCELED);
}

TEST(number_used_again)
{
	int fd = make_fd(SIGUSR1, 0);
	int ends[2];
	char byte = 0;

	thread_join(thread_start(thread_nothing, NULL));
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(ends[0], fd);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK_EQ(read(fd, &byte, 1), 1);
	CHECK_EQ(byte, 'x');
}

static void *wait_for_one(void *arg)
{
	sigset_t set = set_of(SIGUSR2);
	int sig;

	CHECK_EQ(sigwait(&set, &sig), 0);
	return arg;
}

/*
 * When a sigwait has just ended by the signal, the next one goes to a reader.
 */
TEST(reads_after_a_sigwait)
{
	int fd = make_fd(SIGUSR2, 0);

	for (int i = 0; i < 300; i++) {
		pthread_t t = thread_start(wait_for_one, NULL);

		CHECK_EQ(pthread_kill(t, SIGUSR2), 0);
		thread_join(t);
		CHECK_EQ(kill(getpid(), SIGUSR2), 0);
		CHECK_EQ(read_one(fd).ssi_signo, SIGUSR2);
	}
}

/* A child sends the signal while all threads of this process wait. */
static void send_later(int sig)
{
	pid_t parent = getpid(), child = fork();
	int status = -1;

	if (child == 0) {
		await_rest_of(parent);
		_exit(kill(parent, sig) != 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* While the main thread does not block the signal, it alone takes it. */
TEST(polled_after_it_was_open)
{
	sigset_t all, before;
	struct pollfd p = { .events = POLLIN };
	pthread_t t;

	sigfillset(&all);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &all, &before), 0);
	t = thread_start(sleep_long, NULL);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);

	p.fd = make_fd(SIGUSR1, 0);
	for (int i = 0; i < 3; i++) {
		send_later(SIGUSR1);
		CHECK_EQ(poll(&p, 1, 5000), 1);
		CHECK_EQ(read_one(p.fd).ssi_signo, SIGUSR1);
		/* Unblock it and block it again while the descriptor exists. */
		CHECK_EQ(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
		block(SIGUSR1);
	}
	/* This signal is pending before there is a descriptor. */
	block(SIGUSR2);
	send_later(SIGUSR2);
	p.fd = make_fd(SIGUSR2, 0);
	CHECK_EQ(poll(&p, 1, 5000), 1);
	CHECK_EQ(read_one(p.fd).ssi_signo, SIGUSR2);
	CHECK_EQ(pthread_cancel(t), 0);
	thread_join(t);
}

/* --- contents of a record ------------------------------------------------- */

/* The thread sends to itself, so it may use codes reserved for the kernel. */
static struct signalfd_siginfo record_of(int fd, int sig, int code)
{
	siginfo_t info;
	unsigned char *rest = (unsigned char *)&info.si_pid;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = code;
	for (unsigned char i = 0; i < 32; i++)
		rest[i] = i + 1;
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), sig, &info),
		 0);
	return read_one(fd);
}

/* The bytes of a siginfo_t that record_of fills in, in order. */
#define BYTES_1_TO_4 0x04030201U
#define BYTES_1_TO_8 0x0807060504030201UL
#define BYTES_9_TO_12 0x0c0b0a09U

static void *check_records(void *arg)
{
	int fd = *(int *)arg;
	struct signalfd_siginfo r = record_of(fd, SIGIO, POLL_HUP);

	CHECK_EQ(r.ssi_band, BYTES_1_TO_4);
	CHECK_EQ(r.ssi_fd, BYTES_9_TO_12);
	CHECK_EQ(r.ssi_pid, 0);
	r = record_of(fd, SIGRTMIN, POLL_IN);
	CHECK_EQ(r.ssi_fd, BYTES_9_TO_12);
	r = record_of(fd, SIGRTMIN, SI_SIGIO);
	CHECK_EQ(r.ssi_fd, BYTES_9_TO_12);
	CHECK_EQ(r.ssi_int, 0);
	r = record_of(fd, SIGBUS, BUS_MCEERR_AO);
	CHECK_EQ(r.ssi_addr, BYTES_1_TO_8);
	CHECK_EQ(r.ssi_addr_lsb, BYTES_9_TO_12 & 0xffff);
	CHECK_EQ(r.ssi_pid, 0);
	r = record_of(fd, SIGBUS, BUS_ADRALN);
	CHECK_EQ(r.ssi_addr, BYTES_1_TO_8);
	CHECK_EQ(r.ssi_addr_lsb, 0);
	r = record_of(fd, SIGCHLD, CLD_EXITED);
	CHECK_EQ(r.ssi_pid, BYTES_1_TO_4);
	CHECK_EQ(r.ssi_status, BYTES_9_TO_12);
	r = record_of(fd, SIGCHLD, SI_KERNEL);
	CHECK_EQ(r.ssi_pid, BYTES_1_TO_4);
	CHECK_EQ(r.ssi_status, 0);
	r = record_of(fd, SIGUSR1, SI_QUEUE);
	CHECK_EQ(r.ssi_int, BYTES_9_TO_12);
	r = record_of(fd, SIGUSR1, SI_USER);
	CHECK_EQ(r.ssi_pid, BYTES_1_TO_4);
	CHECK_EQ(r.ssi_int, 0);
	return NULL;
}

TEST(records_by_code)
{
	sigset_t set;
	int fd;

	sigfillset(&set);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	fd = signalfd(-1, &set, 0);
	CHECK(fd >= 0);
	thread_join(thread_start(check_records, &fd));
}
