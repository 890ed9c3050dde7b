/* SPDX-License-Identifier: MIT */
/*
 * Message queues: threads that wait for them keep no other thread from running;
 * the events that end their waits.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <stdio.h>

#include "waiting.h"

enum { BYTES = 16, ROOM = 4 };

static mqd_t queue;
static _Atomic int nr_waiting, nr_done;

static mqd_t open_queue(int flags)
{
	struct mq_attr attr = { .mq_maxmsg = ROOM, .mq_msgsize = BYTES };
	char name[64];
	mqd_t q;

	snprintf(name, sizeof(name), "/weft-test-%d", (int)getpid());
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL | flags, 0600, &attr);
	if (q < 0 && errno == ENOSYS)
		SKIP("no message queues");
	CHECK(q >= 0);
	CHECK_EQ(mq_unlink(name), 0);
	return q;
}

static void *receive(void *arg)
{
	char text[BYTES];
	unsigned int priority = 77;
	ssize_t n;

	is_ready = 1;
	nr_waiting++;
	n = mq_receive(queue, text, sizeof(text), &priority);
	if (n == 1)
		CHECK_EQ(priority, (unsigned int)text[0]);
	nr_done++;
	return outcome(n);
}

static void send_one(void)
{
	char text = (char)(nr_done % 8);

	CHECK_EQ(mq_send(queue, &text, 1, (unsigned int)text), 0);
}

TEST(many_receive)
{
	pthread_t threads[40];

	queue = open_queue(0);
	threads_start(threads, 40, receive, NULL);
	await_count(&nr_waiting, 40);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	for (int i = 0; i < 40; i++)
		send_one();
	threads_join(threads, 40);
	CHECK_EQ(mq_close(queue), 0);
}

static void *send_many(void *arg)
{
	nr_waiting++;
	for (int i = 0; i < 10; i++)
		CHECK_EQ(mq_send(queue, "x", 1, (unsigned int)i), 0);
	nr_done++;
	return arg;
}

TEST(many_send)
{
	pthread_t threads[20];
	unsigned int priority;
	char text[BYTES];

	queue = open_queue(0);
	threads_start(threads, 20, send_many, NULL);
	await_count(&nr_waiting, 20);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	for (int i = 0; i < 200; i++)
		CHECK_EQ(mq_receive(queue, text, sizeof(text), &priority), 1);
	threads_join(threads, 20);
}

TEST(limits_of_time)
{
	struct timespec soon = deadline_ms(CLOCK_REALTIME, 20);
	struct timespec past = deadline_ms(CLOCK_REALTIME, -20);
	struct timespec none = { 1, NS_PER_S };
	char text[BYTES];

	have_threads();
	queue = open_queue(0);
	CHECK_ERRNO(mq_timedreceive(queue, text, BYTES, NULL, &soon),
		    ETIMEDOUT);
	CHECK_ERRNO(mq_timedreceive(queue, text, BYTES, NULL, &past),
		    ETIMEDOUT);
	CHECK_ERRNO(mq_timedreceive(queue, text, BYTES, NULL, &none), EINVAL);
	for (int i = 0; i < ROOM; i++)
		CHECK_EQ(mq_timedsend(queue, "x", 1, 0, &past), 0);
	soon = deadline_ms(CLOCK_REALTIME, 20);
	CHECK_ERRNO(mq_timedsend(queue, "x", 1, 0, &soon), ETIMEDOUT);
	CHECK_ERRNO(mq_timedsend(queue, "x", 1, 0, &past), ETIMEDOUT);
	CHECK_ERRNO(mq_timedsend(queue, "x", 1, 0, &none), EINVAL);
	CHECK_EQ(mq_timedreceive(queue, text, BYTES, NULL, &past), 1);
}

TEST(errors_of_queues)
{
	char text[BYTES];

	have_threads();
	queue = open_queue(O_NONBLOCK);
	CHECK_ERRNO(mq_receive(queue, text, BYTES, NULL), EAGAIN);
	CHECK_ERRNO(mq_receive(queue, text, 1, NULL), EMSGSIZE);
	CHECK_ERRNO(mq_send(queue, text, BYTES + 1, 0), EMSGSIZE);
	CHECK_ERRNO(mq_send(queue, text, 1, 1 << 20), EINVAL);
	for (int i = 0; i < ROOM; i++)
		CHECK_EQ(mq_send(queue, "x", 1, 0), 0);
	CHECK_ERRNO(mq_send(queue, "x", 1, 0), EAGAIN);
	CHECK_ERRNO(mq_send(-1, "x", 1, 0), EBADF);
	CHECK_ERRNO(mq_receive(0, text, BYTES, NULL), EBADF);
}

TEST(handlers_end_a_receive)
{
	queue = open_queue(0);
	CHECK_EQ(after_handler(receive, 0, send_one), -EINTR);
	CHECK_EQ(result_of(thread_start(receive, NULL)), 1);
	CHECK_EQ(after_handler(receive, SA_RESTART, send_one), 1);
}

TEST(cancellation_ends_a_receive)
{
	queue = open_queue(0);
	is_cancelled_in(receive, NULL);
	send_one();
	CHECK_EQ(result_of(thread_start(receive, NULL)), 1);
}

static void ask_for_notice(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGUSR2 };

	CHECK_EQ(mq_notify(queue, &event), 0);
}

/* If the receiver does not wait yet, the kernel notifies the process. */
static bool is_told_to_receiver_alone(void)
{
	pthread_t thread;

	is_ready = 0;
	thread = thread_start(receive, NULL);
	let_it_wait(&is_ready);
	send_one();
	CHECK_EQ(result_of(thread), 1);
	await_rest();
	return nr_handled == 0;
}

/*
 * A message goes to the thread that waits for it, without a notification. On a
 * busy machine it may take several attempts until that thread waits.
 */
TEST(notice_of_a_message)
{
	enum { MOST = 20 };

	handle(SIGUSR2, on_signal, SA_RESTART);
	queue = open_queue(0);
	ask_for_notice();
	CHECK_ERRNO(mq_notify(queue,
			      &(struct sigevent){ .sigev_notify = SIGEV_NONE }),
		    EBUSY);
	for (int i = 1; !is_told_to_receiver_alone(); i++) {
		CHECK(i < MOST);
		nr_handled = 0;
		ask_for_notice();
	}
	send_one();
	await_count(&nr_handled, 1);
}

static sem_t told;

static void on_message(union sigval value)
{
	char text[BYTES];

	CHECK_EQ(value.sival_int, 5);
	CHECK_EQ(mq_receive(queue, text, BYTES, NULL), 1);
	CHECK_EQ(sem_post(&told), 0);
}

TEST(notice_by_a_thread)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD,
				  .sigev_notify_function = on_message,
				  .sigev_value.sival_int = 5 };

	have_threads();
	CHECK_EQ(sem_init(&told, 0, 0), 0);
	queue = open_queue(0);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(mq_notify(queue, &event), 0);
		send_one();
		CHECK_EQ(sem_wait(&told), 0);
	}
}
