/* SPDX-License-Identifier: MIT */
/*
 * Each way out of a wait for signals, children, time and messages.
 */
#include <aio.h>
#include <mqueue.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>

#include "check.h"
#include "ways_out.h"

static void prepare_nothing(void)
{
}

static void check_nothing(void)
{
}

/* --- signals -------------------------------------------------------------- */

static void do_pause(void)
{
	pause();
}

static void do_suspend(void)
{
	sigset_t mask = set_of(SIGUSR2);

	sigsuspend(&mask);
}

static void do_sigwait(void)
{
	sigset_t set = set_of(SIGUSR2);
	int sig;

	sigwait(&set, &sig);
}

static void do_sleep(void)
{
	struct timespec ts = { 1000000, 0 };

	nanosleep(&ts, &ts);
}

static void block_usr2(void)
{
	block(SIGUSR2);
}

/* The signal goes to the next waiter. */
static void check_sigwait(void)
{
	sigset_t set = set_of(SIGUSR2);
	int sig = 0;

	CHECK_EQ(kill(getpid(), SIGUSR2), 0);
	CHECK_EQ(sigwait(&set, &sig), 0);
	CHECK_EQ(sig, SIGUSR2);
}

TEST(pause_and_sleep)
{
	static void (*const waits[])(void) = { do_pause, do_suspend, do_sleep };

	for (int i = 0; i < 3; i++)
		leave_by_all_ways(
			&(struct way_wait){ .prepare = prepare_nothing,
					    .wait = waits[i],
					    .check = check_nothing,
					    .changes_mask = true });
}

TEST(sigwait_takes_nothing)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = block_usr2,
					      .wait = do_sigwait,
					      .check = check_sigwait });
}

/* --- children ------------------------------------------------------------- */

static pid_t child;

static void make_child(void)
{
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		for (;;)
			pause();
	}
}

static void do_waitpid(void)
{
	waitpid(child, NULL, 0);
}

static void do_waitid(void)
{
	siginfo_t info;

	waitid(P_PID, (id_t)child, &info, WEXITED);
}

static void check_child(void)
{
	int status = 0;

	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status));
}

TEST(waits_for_children_take_none)
{
	static void (*const waits[])(void) = { do_waitpid, do_waitid };

	for (int i = 0; i < 2; i++)
		leave_by_all_ways(&(struct way_wait){ .prepare = make_child,
						      .wait = waits[i],
						      .check = check_child,
						      .is_no_fork = true });
}

/* --- System V and POSIX queues -------------------------------------------- */

struct message {
	long type;
	char text[16];
};

static int queue;

static void make_queue(void)
{
	queue = msgget(IPC_PRIVATE, 0600);
	CHECK(queue >= 0);
}

static void do_msgrcv(void)
{
	struct message m;

	(void)msgrcv(queue, &m, sizeof(m.text), 0, 0);
}

static void check_queue(void)
{
	struct message m = { 1, "text" };

	CHECK_EQ(msgsnd(queue, &m, sizeof(m.text), 0), 0);
	CHECK_EQ(msgrcv(queue, &m, sizeof(m.text), 0, IPC_NOWAIT), 16);
	CHECK_EQ(msgctl(queue, IPC_RMID, NULL), 0);
}

static void make_set(void)
{
	queue = semget(IPC_PRIVATE, 1, 0600);
	CHECK(queue >= 0);
}

static void do_semop(void)
{
	struct sembuf op = { 0, -1, 0 };

	semop(queue, &op, 1);
}

static void check_set(void)
{
	struct sembuf op = { 0, 1, 0 };

	CHECK_EQ(semop(queue, &op, 1), 0);
	CHECK_EQ(semctl(queue, 0, GETVAL), 1);
	CHECK_EQ(semctl(queue, 0, IPC_RMID), 0);
}

TEST(queues_and_sets_of_system_v)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = make_queue,
					      .wait = do_msgrcv,
					      .check = check_queue });
	leave_by_all_ways(&(struct way_wait){ .prepare = make_set,
					      .wait = do_semop,
					      .check = check_set,
					      .is_no_cancel_point = true });
}

static mqd_t messages;

static void open_messages(void)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 16 };
	char name[64];

	snprintf(name, sizeof(name), "/ways_waits_%d", getpid());
	messages = mq_open(name, O_RDWR | O_CREAT, 0600, &attr);
	if (messages == (mqd_t)-1)
		SKIP("there are no message queues");
	CHECK_EQ(mq_unlink(name), 0);
}

static void do_mq_receive(void)
{
	char text[16];

	(void)mq_receive(messages, text, sizeof(text), NULL);
}

static void check_messages(void)
{
	char text[16] = "text";

	CHECK_EQ(mq_send(messages, text, sizeof(text), 0), 0);
	CHECK_EQ(mq_receive(messages, text, sizeof(text), NULL), 16);
	CHECK_EQ(mq_close(messages), 0);
}

TEST(message_queues)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = open_messages,
					      .wait = do_mq_receive,
					      .check = check_messages });
}

/* --- asynchronous I/O ----------------------------------------------------- */

static int fds[2];
static char byte;
static struct aiocb block_of_read;

static void start_read(void)
{
	CHECK_EQ(pipe(fds), 0);
	block_of_read = (struct aiocb){ .aio_fildes = fds[0],
					.aio_buf = &byte,
					.aio_nbytes = 1 };
	CHECK_EQ(aio_read(&block_of_read), 0);
}

/* The list lies in the frame that is left. */
static void do_suspend_for_io(void)
{
	const struct aiocb *list[1] = { &block_of_read };

	aio_suspend(list, 1, NULL);
}

/* When the read ends, another function uses the left frame. */
static void end_read_over_canary(void)
{
	volatile char canary[4096];

	memset((char *)canary, 7, sizeof(canary));
	CHECK_EQ(aio_error(&block_of_read), EINPROGRESS);
	CHECK_EQ(write(fds[1], "1", 1), 1);
	while (aio_error(&block_of_read) == EINPROGRESS)
		sched_yield();
	await_rest(); /* also libc's I/O thread */
	for (size_t i = 0; i < sizeof(canary); i++)
		CHECK_EQ(canary[i], 7);
}

static void check_read(void)
{
	CHECK_EQ(aio_return(&block_of_read), 1);
	CHECK_EQ(close(fds[0]), 0);
	CHECK_EQ(close(fds[1]), 0);
}

TEST(asynchronous_io)
{
	leave_by_all_ways(&(struct way_wait){ .prepare = start_read,
					      .wait = do_suspend_for_io,
					      .after = end_read_over_canary,
					      .check = check_read,
					      .is_no_fork = true,
					      .is_never_async = true });
}
