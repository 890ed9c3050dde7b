/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous I/O: many operations at once, each kind of notification, and the
 * waits for them.
 */
#include <aio.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "files.h"
#include "waiting.h"

enum { NR = 16, BYTES = 4096 };

static _Atomic int nr_waiting, nr_done;
static char blocks[NR][BYTES];

static void fill(char *block, int number)
{
	for (int i = 0; i < BYTES; i++)
		block[i] = (char)(number * 31 + i);
}

static struct aiocb block_of(int number)
{
	struct aiocb b = {
		.aio_fildes = fd,
		.aio_buf = blocks[number],
		.aio_nbytes = BYTES,
		.aio_offset = (off_t)number * BYTES,
	};

	b.aio_sigevent.sigev_notify = SIGEV_NONE;
	return b;
}

static void await(const struct aiocb *b, ssize_t result)
{
	while (aio_error(b) == EINPROGRESS)
		CHECK_EQ(aio_suspend(&b, 1, NULL), 0);
	CHECK_EQ(aio_error(b), 0);
	CHECK_EQ(aio_return((struct aiocb *)b), result);
}

/* --- reading and writing -------------------------------------------------- */

/* libc's I/O thread should run the request with the caller's policy. */
static void *write_by_own_policy(void *arg)
{
	const struct sched_param *own = arg;
	struct aiocb b = block_of(0);
	int policy = own->sched_priority > 0 ? SCHED_FIFO : SCHED_OTHER;

	for (int i = 0; i < 3; i++) {
		b.__policy = b.__abs_prio = 77;
		CHECK_EQ(aio_write(&b), 0);
		await(&b, BYTES);
		CHECK_EQ(b.__policy, policy);
		CHECK_EQ(b.__abs_prio, own->sched_priority);
		sched_yield();
	}
	return arg;
}

static void write_with_policy(int priority, bool by_attributes)
{
	struct sched_param param = { .sched_priority = priority };
	pthread_attr_t attr;
	pthread_t thread;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	if (by_attributes) {
		CHECK_EQ(pthread_attr_setinheritsched(&attr,
						      PTHREAD_EXPLICIT_SCHED),
			 0);
		CHECK_EQ(pthread_attr_setschedpolicy(&attr, SCHED_FIFO), 0);
		CHECK_EQ(pthread_attr_setschedparam(&attr, &param), 0);
	}
	CHECK_EQ(pthread_create(&thread, &attr, write_by_own_policy, &param),
		 0);
	thread_join(thread);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
}

TEST(policy_of_the_caller)
{
	make_file();
	for (int i = 0; i < 3; i++)
		write_with_policy(0, false);
}

TEST(policy_of_a_realtime_thread)
{
	struct sched_param param = { .sched_priority = 2 };

	if (geteuid() != 0)
		SKIP("only root may have SCHED_FIFO");
	make_file();
	write_with_policy(0, false);
	write_with_policy(1, true);
	write_with_policy(0, false);
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) != 0)
		SKIP("SCHED_FIFO is refused");
	write_by_own_policy(&param);
	write_with_policy(2, false);
}

static void *write_and_read(void *arg)
{
	int number = (int)(intptr_t)arg;
	struct aiocb b = block_of(number);
	char expected[BYTES];

	fill(expected, number);
	for (int i = 0; i < 10; i++) {
		fill(blocks[number], number);
		CHECK_EQ(aio_write(&b), 0);
		await(&b, BYTES);
		CHECK_EQ(aio_fsync(O_DSYNC, &b), 0);
		await(&b, 0);
		memset(blocks[number], 0, BYTES);
		CHECK_EQ(aio_read(&b), 0);
		await(&b, BYTES);
		CHECK(memcmp(blocks[number], expected, BYTES) == 0);
	}
	return NULL;
}

TEST(many_threads)
{
	pthread_t threads[NR];

	make_file();
	threads_start_numbered(threads, NR, write_and_read);
	threads_join(threads, NR);
	CHECK_EQ(lseek(fd, 0, SEEK_END), NR * BYTES);
}

TEST(errors)
{
	struct aiocb b, *list[1] = { &b };
	struct timespec none = { 0, -1 };

	have_threads();
	make_file();
	b = block_of(0);
	b.aio_fildes = -1;
	CHECK_EQ(aio_read(&b), 0);
	while (aio_error(&b) == EINPROGRESS)
		CHECK_EQ(aio_suspend((const struct aiocb *const *)list, 1,
				     NULL),
			 0);
	CHECK_EQ(aio_error(&b), EBADF);
	CHECK_EQ(aio_return(&b), -1);
	CHECK_ERRNO(aio_fsync(77, &b), EINVAL);
	CHECK_ERRNO(aio_cancel(-1, NULL), EBADF);
	CHECK_EQ(aio_cancel(fd, NULL), AIO_ALLDONE);
	CHECK_ERRNO(aio_suspend((const struct aiocb *const *)list, -1, NULL),
		    EINVAL);
	CHECK_EQ(aio_suspend((const struct aiocb *const *)list, 1, &none), 0);
	CHECK_ERRNO(lio_listio(77, list, 1, NULL), EINVAL);
	b.aio_lio_opcode = LIO_READ;
	CHECK_ERRNO(lio_listio(LIO_WAIT, list, 1, NULL), EIO);
	CHECK_EQ(aio_error(&b), EBADF);
}

/* --- lists ---------------------------------------------------------------- */

static void *list_of_writes(void *arg)
{
	struct aiocb b[NR + 1], *list[NR + 2];

	for (int i = 0; i < NR; i++) {
		fill(blocks[i], i);
		b[i] = block_of(i);
		b[i].aio_lio_opcode = LIO_WRITE;
		list[i] = &b[i];
	}
	b[NR].aio_lio_opcode = LIO_NOP;
	list[NR] = &b[NR];
	list[NR + 1] = NULL;
	CHECK_EQ(lio_listio(LIO_WAIT, list, NR + 2, NULL), 0);
	for (int i = 0; i < NR; i++) {
		CHECK_EQ(aio_error(&b[i]), 0);
		CHECK_EQ(aio_return(&b[i]), BYTES);
	}
	return arg;
}

TEST(lists)
{
	pthread_t threads[NR];
	char expected[BYTES], found[BYTES];

	make_file();
	threads_start(threads, NR, list_of_writes, NULL);
	threads_join(threads, NR);
	for (int i = 0; i < NR; i++) {
		fill(expected, i);
		CHECK_EQ(pread(fd, found, BYTES, (off_t)i * BYTES), BYTES);
		CHECK(memcmp(found, expected, BYTES) == 0);
	}
}

static sem_t told;

static void on_notice(union sigval value)
{
	nr_done += value.sival_int;
	CHECK_EQ(sem_post(&told), 0);
}

TEST(list_with_notification)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD,
				  .sigev_notify_function = on_notice,
				  .sigev_value.sival_int = 5 };
	struct aiocb b[NR], *list[NR];

	have_threads();
	make_file();
	CHECK_EQ(sem_init(&told, 0, 0), 0);
	for (int i = 0; i < NR; i++) {
		b[i] = block_of(i);
		b[i].aio_lio_opcode = LIO_WRITE;
		list[i] = &b[i];
	}
	CHECK_EQ(lio_listio(LIO_NOWAIT, list, NR, &event), 0);
	CHECK_EQ(sem_wait(&told), 0);
	CHECK_EQ(nr_done, 5);
	for (int i = 0; i < NR; i++)
		await(&b[i], BYTES);
}

/* --- notice --------------------------------------------------------------- */

static _Atomic int value_seen;

static void on_value(int sig, siginfo_t *info, void *context)
{
	CHECK_EQ(info->si_code, SI_ASYNCIO);
	value_seen = info->si_value.sival_int;
	nr_handled++;
}

TEST(notice_by_signal)
{
	struct aiocb b;

	have_threads();
	make_file();
	handle(SIGRTMIN, on_value, SA_RESTART);
	b = block_of(0);
	b.aio_sigevent.sigev_notify = SIGEV_SIGNAL;
	b.aio_sigevent.sigev_signo = SIGRTMIN;
	b.aio_sigevent.sigev_value.sival_int = 9;
	CHECK_EQ(aio_write(&b), 0);
	await_count(&nr_handled, 1);
	CHECK_EQ(value_seen, 9);
	await(&b, BYTES);
}

TEST(notice_by_a_thread)
{
	struct aiocb b;

	have_threads();
	make_file();
	CHECK_EQ(sem_init(&told, 0, 0), 0);
	for (int i = 1; i <= 5; i++) {
		b = block_of(0);
		b.aio_sigevent.sigev_notify = SIGEV_THREAD;
		b.aio_sigevent.sigev_notify_function = on_notice;
		b.aio_sigevent.sigev_value.sival_int = 3;
		CHECK_EQ(aio_write(&b), 0);
		CHECK_EQ(sem_wait(&told), 0);
		CHECK_EQ(nr_done, 3 * i);
		await(&b, BYTES);
	}
}

/* --- waits ---------------------------------------------------------------- */

/*
 * Operations on one descriptor come one after another. The first reads an empty
 * pipe, so it waits until take_back writes a byte. The others have not begun,
 * and can be cancelled.
 */
enum { NR_LONG = 20 };
static struct aiocb many[NR_LONG];
static int long_ends[2];

static void begin_long_wait(void)
{
	CHECK_EQ(pipe(long_ends), 0);
	fd = long_ends[0];
	for (int i = 0; i < NR_LONG; i++) {
		many[i] = block_of(0);
		many[i].aio_nbytes = 1;
		CHECK_EQ(aio_read(&many[i]), 0);
	}
}

static void take_back(void)
{
	int nr_taken = 0;

	CHECK(aio_cancel(fd, NULL) != -1);
	CHECK_EQ(write(long_ends[1], "x", 1), 1);
	for (int i = 0; i < NR_LONG; i++) {
		const struct aiocb *b = &many[i];

		while (aio_error(b) == EINPROGRESS)
			CHECK_EQ(aio_suspend(&b, 1, NULL), 0);
		if (aio_error(b) == ECANCELED) {
			CHECK_EQ(aio_return(&many[i]), -1);
			nr_taken++;
		} else {
			CHECK_EQ(aio_return(&many[i]), 1);
		}
	}
	CHECK(nr_taken > 0);
}

static void *wait_for_last(void *arg)
{
	const struct aiocb *list[2] = { NULL, &many[NR_LONG - 1] };

	is_ready = 1;
	nr_waiting++;
	return outcome(aio_suspend(list, 2, arg));
}

TEST(others_run_meanwhile)
{
	pthread_t threads[NR];

	begin_long_wait();
	threads_start(threads, NR, wait_for_last, NULL);
	await_count(&nr_waiting, NR);
	others_go_on();
	for (int i = 0; i < NR; i++)
		CHECK_EQ(pthread_tryjoin_np(threads[i], NULL), EBUSY);
	take_back();
	for (int i = 0; i < NR; i++)
		CHECK_EQ(result_of(threads[i]), 0);
}

TEST(limits_of_time)
{
	struct timespec now = { 0, 0 }, soon = { 0, NS_PER_MS };

	begin_long_wait();
	CHECK_EQ(result_of(thread_start(wait_for_last, &now)), -EAGAIN);
	CHECK_EQ(result_of(thread_start(wait_for_last, &soon)), -EAGAIN);
	take_back();
	CHECK_EQ(result_of(thread_start(wait_for_last, &soon)), 0);
}

TEST(handlers_end_a_wait)
{
	begin_long_wait();
	CHECK_EQ(after_handler(wait_for_last, 0, take_back), -EINTR);
}

TEST(handlers_with_restart_do_not)
{
	begin_long_wait();
	CHECK_EQ(after_handler(wait_for_last, SA_RESTART, take_back), 0);
}

TEST(cancellation_ends_a_wait)
{
	begin_long_wait();
	is_cancelled_in(wait_for_last, NULL);
	take_back();
}

static void *wait_for_list(void *arg)
{
	static struct aiocb *list[NR_LONG];

	for (int i = 0; i < NR_LONG; i++) {
		list[i] = &many[i];
		many[i].aio_lio_opcode = LIO_READ;
	}
	is_ready = 1;
	return outcome(lio_listio(LIO_WAIT, list, NR_LONG, NULL));
}

TEST(a_list_that_is_waited_for)
{
	pthread_t thread;

	begin_long_wait();
	take_back();
	thread = thread_start(wait_for_list, NULL);
	let_it_wait(&is_ready);
	others_go_on();
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
	take_back();
	CHECK_EQ(result_of(thread), -EIO);
}

TEST(a_list_is_no_cancellation_point)
{
	pthread_t thread;

	begin_long_wait();
	take_back();
	thread = thread_start(wait_for_list, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(pthread_cancel(thread), 0);
	await_rest();
	take_back();
	CHECK_EQ(result_of(thread), -EIO);
}
