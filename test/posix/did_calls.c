/* SPDX-License-Identifier: MIT */
/*
 * Which way each kind of wait goes, by weft's counters: the thread parks, and
 * its VP is neither taken from a blocked carrier nor given up by a kernel
 * thread of the thread's own. Natively the tests check that the waits end.
 */
#include <errno.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "check.h"
#include "did.h"
#include "files.h"
#include "signalling.h"
#include "threading.h"

static _Atomic int is_ready;

static void begin(void)
{
	is_ready = 1;
}

/*
 * `end` ends the waiter. main does not park before that, so all parks counted
 * are the waiter's.
 */
static struct did parks_until(void *(*waiter)(void *), void (*end)(pthread_t))
{
	struct did before = did_begin();
	pthread_t thread = thread_start(waiter, NULL);

	await_count(&is_ready, 1);
	did_await_parks(before, 1);
	CHECK_DID(before, parks, >=, 1);
	end(thread);
	thread_join(thread);
	CHECK_DID(before, handoffs, ==, 0);
	CHECK_DID(before, binds, ==, 0);
	return before;
}

/* --- threads and signals -------------------------------------------------- */

static pthread_t other;
static _Atomic uint32_t futex_word;

static void *wait_for_word(void *arg)
{
	begin();
	while (futex_word == 0)
		syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, NULL);
	return arg;
}

static void wake_word(pthread_t thread)
{
	futex_word = 1;
	CHECK(syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1) <= 1);
}

TEST(futexes_park)
{
	parks_until(wait_for_word, wake_word);
}

static void *join_other(void *arg)
{
	begin();
	thread_join(other);
	return arg;
}

TEST(joins_park)
{
	other = thread_start(wait_for_word, NULL);
	/* so that this thread's park is counted before */
	let_it_wait(&is_ready);
	is_ready = 0;
	parks_until(join_other, wake_word);
}

static void *sigwait_usr1(void *arg)
{
	sigset_t set = block(SIGUSR1);
	int sig;

	begin();
	CHECK_EQ(sigwait(&set, &sig), 0);
	CHECK_EQ(sig, SIGUSR1);
	return arg;
}

static void send_usr1(pthread_t thread)
{
	CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
}

TEST(sigwaits_park)
{
	parks_until(sigwait_usr1, send_usr1);
}

static void on_usr1(int sig, siginfo_t *info, void *context)
{
}

static void *pause_once(void *arg)
{
	begin();
	CHECK_ERRNO(pause(), EINTR);
	return arg;
}

/*
 * On weft the thread waits because its park was counted; natively it waits at
 * the latest when the process is at rest.
 */
static void send_at_rest(pthread_t thread)
{
	await_rest();
	send_usr1(thread);
}

TEST(pauses_park)
{
	handle(SIGUSR1, on_usr1, 0);
	parks_until(pause_once, send_at_rest);
}

/* --- descriptors ---------------------------------------------------------- */

static int peer;

static void *read_number(void *arg)
{
	uint64_t number;

	begin();
	CHECK_EQ(read(fd, &number, sizeof(number)), sizeof(number));
	return arg;
}

static void write_number(pthread_t thread)
{
	uint64_t number = 1;

	CHECK_EQ(write(fd, &number, sizeof(number)), sizeof(number));
}

TEST(reads_of_eventfds_park)
{
	fd = eventfd(0, EFD_CLOEXEC);
	CHECK(fd >= 0);
	parks_until(read_number, write_number);
}

static void set_timer(pthread_t thread)
{
	struct itimerspec soon = { .it_value = { 0, 1 } };

	CHECK_EQ(timerfd_settime(fd, 0, &soon, NULL), 0);
}

TEST(reads_of_timerfds_park)
{
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	CHECK(fd >= 0);
	parks_until(read_number, set_timer);
}

static void *accept_one(void *arg)
{
	int accepted;

	begin();
	accepted = accept(fd, NULL, NULL);
	CHECK(accepted >= 0);
	CHECK_EQ(close(accepted), 0);
	return arg;
}

static void connect_to_it(pthread_t thread)
{
	struct sockaddr_in address;
	socklen_t bytes = sizeof(address);

	CHECK_EQ(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
	peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(peer >= 0);
	CHECK_EQ(connect(peer, (struct sockaddr *)&address, bytes), 0);
}

TEST(accepts_park)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
				   .sin_addr = { htonl(INADDR_LOOPBACK) } };

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0);
	CHECK_EQ(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	CHECK_EQ(listen(fd, 1), 0);
	parks_until(accept_one, connect_to_it);
}

/* --- calls that block their carrier --------------------------------------- */

/* The thread parks, and an I/O worker makes the call. */
static void is_served(void *(*waiter)(void *), void (*end)(pthread_t))
{
	struct did before = parks_until(waiter, end);

	CHECK_DID(before, served, >=, 1);
}

static void *lock_file(void *arg)
{
	begin();
	CHECK_EQ(flock(peer, LOCK_EX), 0);
	return arg;
}

static void unlock_file(pthread_t thread)
{
	CHECK_EQ(flock(fd, LOCK_UN), 0);
}

TEST(locks_of_files_are_served)
{
	make_file();
	peer = open_again();
	CHECK_EQ(flock(fd, LOCK_EX), 0);
	is_served(lock_file, unlock_file);
}

static int queue;

static void *receive_message(void *arg)
{
	struct {
		long type;
		char text;
	} message;

	begin();
	CHECK_EQ(msgrcv(queue, &message, 1, 0, 0), 1);
	return arg;
}

static void send_message(pthread_t thread)
{
	struct {
		long type;
		char text;
	} message = { 1, 'x' };

	CHECK_EQ(msgsnd(queue, &message, 1, 0), 0);
}

static void remove_queue(void)
{
	msgctl(queue, IPC_RMID, NULL);
}

TEST(messages_are_served)
{
	queue = msgget(IPC_PRIVATE, 0600 | IPC_CREAT);
	CHECK(queue >= 0);
	check_at_end(remove_queue);
	is_served(receive_message, send_message);
}

/* --- calls that bind the thread ------------------------------------------- */

static void *lock_inheriting(void *mutex)
{
	CHECK_EQ(pthread_mutex_lock(mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
	return mutex;
}

/*
 * Each thread that locks a process-shared mutex with inheritance is bound to a
 * kernel thread: between processes the kernel boosts kernel threads.
 */
TEST(shared_inheriting_mutexes_bind)
{
	struct did before = did_begin();
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;

	CHECK_EQ(pthread_mutexattr_init(&attr), 0);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT), 0);
	CHECK_EQ(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED),
		 0);
	CHECK_EQ(pthread_mutex_init(&mutex, &attr), 0);
	for (int i = 0; i < 3; i++)
		thread_join(thread_start(lock_inheriting, &mutex));
	CHECK_DID(before, binds, ==, 3);
}
