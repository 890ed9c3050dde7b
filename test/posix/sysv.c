/* SPDX-License-Identifier: MIT */
/*
 * Semaphores and messages of System V: threads that wait for them keep no other
 * thread from running; the events that end their waits.
 */
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>

#include "waiting.h"

enum { BYTES = 16 };

static int id;
static _Atomic int nr_waiting, nr_done;

/* --- semaphores ----------------------------------------------------------- */

static void make_semaphores(void)
{
	id = semget(IPC_PRIVATE, 2, 0600);
	if (id < 0 && errno == ENOSYS)
		SKIP("no semaphores");
	CHECK(id >= 0);
}

static void remove_semaphores(void)
{
	CHECK_EQ(semctl(id, 0, IPC_RMID), 0);
}

static int sem_change(int number, int by, int flags)
{
	struct sembuf op = { (unsigned short)number, (short)by, (short)flags };

	return semop(id, &op, 1);
}

static void *take(void *arg)
{
	is_ready = 1;
	nr_waiting++;
	if (sem_change(0, -1, 0) < 0)
		return outcome(-1);
	nr_done++;
	return NULL;
}

static void give(void)
{
	CHECK_EQ(sem_change(0, 1, 0), 0);
}

TEST(many_take_semaphores)
{
	pthread_t threads[40];

	make_semaphores();
	threads_start(threads, 40, take, NULL);
	await_count(&nr_waiting, 40);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	for (int i = 0; i < 40; i++)
		give();
	threads_join(threads, 40);
	CHECK_EQ(nr_done, 40);
	remove_semaphores();
}

TEST(errors_of_semaphores)
{
	struct timespec soon = { 0, 20 * NS_PER_MS }, none = { 0, -1 };
	struct sembuf take_both[] = { { 0, -1, 0 }, { 1, -1, IPC_NOWAIT } };

	have_threads();
	make_semaphores();
	CHECK_ERRNO(sem_change(0, -1, IPC_NOWAIT), EAGAIN);
	CHECK_ERRNO(sem_change(2, 1, 0), EFBIG);
	CHECK_ERRNO(semtimedop(id, take_both, 1, &soon), EAGAIN);
	CHECK_ERRNO(semtimedop(id, take_both, 2, &soon), EAGAIN);
	give();
	CHECK_ERRNO(semop(id, take_both, 2), EAGAIN);
	CHECK_ERRNO(semtimedop(id, take_both, 1, &none), EINVAL);
	CHECK_EQ(semtimedop(id, take_both, 1, &soon), 0);
	CHECK_ERRNO(semop(id, take_both, 0), EINVAL);
	remove_semaphores();
	CHECK_ERRNO(sem_change(0, 1, 0), EINVAL);
}

TEST(removal_ends_a_take)
{
	pthread_t thread;

	make_semaphores();
	thread = thread_start(take, NULL);
	let_it_wait(&is_ready);
	remove_semaphores();
	CHECK_EQ(result_of(thread), -EIDRM);
}

/* Handlers end the call with EINTR, even with SA_RESTART. */
TEST(handlers_end_a_take)
{
	make_semaphores();
	CHECK_EQ(after_handler(take, 0, give), -EINTR);
	CHECK_EQ(sem_change(0, -1, IPC_NOWAIT), 0);
	CHECK_EQ(after_handler(take, SA_RESTART, give), -EINTR);
	remove_semaphores();
}

static void *take_and_end(void *arg)
{
	CHECK_EQ(sem_change(0, -1, SEM_UNDO), 0);
	return arg;
}

/* The kernel undoes it at the end of the process, whichever thread waited. */
TEST(semaphore_undo_at_exit)
{
	pthread_t thread;
	int status;
	pid_t child;

	make_semaphores();
	child = fork();
	if (child == 0) {
		nr_waiting = 0;
		thread = thread_start(take_and_end, NULL);
		await_rest();
		give();
		thread_join(thread);
		_exit(semctl(id, 0, GETVAL));
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(semctl(id, 0, GETVAL), 1);
	remove_semaphores();
}

/* --- messages ------------------------------------------------------------- */

struct message {
	long type;
	char text[BYTES];
};

static void make_messages(void)
{
	id = msgget(IPC_PRIVATE, 0600);
	if (id < 0 && errno == ENOSYS)
		SKIP("no messages");
	CHECK(id >= 0);
}

static void remove_messages(void)
{
	CHECK_EQ(msgctl(id, IPC_RMID, NULL), 0);
}

static void post(long type)
{
	struct message m = { .type = type };

	CHECK_EQ(msgsnd(id, &m, BYTES, 0), 0);
}

static void post_first(void)
{
	post(1);
}

/* Receives the message of the type arg + 1. */
static void *fetch(void *arg)
{
	long type = (intptr_t)arg + 1;
	struct message m = { 0 };
	ssize_t n;

	is_ready = 1;
	nr_waiting++;
	n = msgrcv(id, &m, BYTES, type, 0);
	if (n >= 0)
		CHECK_EQ(m.type, type);
	nr_done++;
	return outcome(n);
}

TEST(each_fetches_its_message)
{
	pthread_t threads[40];

	make_messages();
	threads_start_numbered(threads, 40, fetch);
	await_count(&nr_waiting, 40);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	for (int i = 40; i > 0; i--)
		post(i);
	threads_join(threads, 40);
	remove_messages();
}

enum { NR_POSTS = 1500 };

static void *post_many(void *arg)
{
	for (int i = 0; i < NR_POSTS; i++)
		post(1);
	return arg;
}

TEST(a_full_queue)
{
	struct message m = { .type = 1 };
	pthread_t threads[4];
	int nr_left = 4 * NR_POSTS;

	make_messages();
	threads_start(threads, 4, post_many, NULL);
	while (msgsnd(id, &m, BYTES, IPC_NOWAIT) == 0)
		nr_left++;
	CHECK_EQ(errno, EAGAIN);
	others_go_on();
	while (nr_left-- > 0)
		CHECK_EQ(msgrcv(id, &m, BYTES, 0, 0), BYTES);
	threads_join(threads, 4);
	remove_messages();
}

TEST(errors_of_messages)
{
	struct message m = { .type = 0 };

	have_threads();
	make_messages();
	CHECK_ERRNO(msgrcv(id, &m, BYTES, 1, IPC_NOWAIT), ENOMSG);
	CHECK_ERRNO(msgrcv(id, &m, BYTES, 0, MSG_COPY), EINVAL);
	CHECK_ERRNO(msgsnd(id, &m, BYTES, 0), EINVAL);
	post(3);
	CHECK_ERRNO(msgrcv(id, &m, 1, 3, 0), E2BIG);
	CHECK_EQ(msgrcv(id, &m, 1, 3, MSG_NOERROR), 1);
	remove_messages();
	CHECK_ERRNO(msgrcv(id, &m, BYTES, 1, 0), EINVAL);
}

TEST(events_that_end_a_fetch)
{
	pthread_t thread;

	make_messages();
	CHECK_EQ(after_handler(fetch, 0, post_first), -EINTR);
	CHECK_EQ(result_of(thread_start(fetch, NULL)), BYTES);
	CHECK_EQ(after_handler(fetch, SA_RESTART, post_first), -EINTR);
	CHECK_EQ(result_of(thread_start(fetch, NULL)), BYTES);
	is_cancelled_in(fetch, NULL);
	is_ready = 0;
	thread = thread_start(fetch, NULL);
	let_it_wait(&is_ready);
	remove_messages();
	CHECK_EQ(result_of(thread), -EIDRM);
}
