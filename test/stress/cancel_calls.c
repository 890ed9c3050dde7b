/* SPDX-License-Identifier: MIT */
/*
 * Threads in all kinds of calls that wait are cancelled, at any time before, in
 * and after the call. Meanwhile other threads end the waits, close the
 * descriptors, or send signals. Each thread ends by its cancellation or with
 * its call's result, and its cleanup handler runs once.
 */
#include "stress.h"

#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define NR_WORKERS 6
#define NOTHING ((void *)1)

struct victim {
	uint64_t random;
	long kind;
	int ends[2];
	int message_queue;
	sem_t sem, shared;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_t other; /* the thread that this one joins */
	bool is_joined;
	pid_t child;
	_Atomic int nr_cleanups, is_over;
};

static _Atomic long nr_cancelled, nr_returned;
static long nr_rounds;

/* --- the calls ------------------------------------------------------------ */

static void by_read(struct victim *v)
{
	char bytes[8];

	read(v->ends[0], bytes, sizeof(bytes));
}

static void by_readv(struct victim *v)
{
	char bytes[8];
	struct iovec iov = { bytes, sizeof(bytes) };

	readv(v->ends[0], &iov, 1);
}

static void by_recv(struct victim *v)
{
	char bytes[8];

	recv(v->ends[0], bytes, sizeof(bytes), 0);
}

static void by_recv_all(struct victim *v)
{
	char bytes[100];

	recv(v->ends[0], bytes, sizeof(bytes), MSG_WAITALL);
}

static void by_recvmsg(struct victim *v)
{
	char bytes[100];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	recvmsg(v->ends[0], &msg, 0);
}

static void by_write(struct victim *v)
{
	static char bytes[1 << 16];

	for (int i = 0; i < 100; i++) {
		if (send(v->ends[0], bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
			break;
	}
}

static void by_poll(struct victim *v)
{
	poll(&(struct pollfd){ v->ends[0], POLLIN, 0 }, 1, 1000);
}

static void by_select(struct victim *v)
{
	struct timeval time = { 1, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(v->ends[0], &set);
	select(v->ends[0] + 1, &set, NULL, NULL, &time);
}

static void close_set(void *set)
{
	CHECK_EQ(close(*(int *)set), 0);
}

static void by_epoll(struct victim *v)
{
	struct epoll_event event = { .events = EPOLLIN };
	int state, set;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	set = epoll_create1(EPOLL_CLOEXEC);
	CHECK(set >= 0);
	epoll_ctl(set, EPOLL_CTL_ADD, v->ends[0], &event);
	pthread_cleanup_push(close_set, &set);
	pthread_setcancelstate(state, NULL);
	epoll_wait(set, &event, 1, 1000);
	pthread_cleanup_pop(1);
}

static void by_sem(struct victim *v)
{
	sem_wait(&v->sem);
}

static void by_shared_sem(struct victim *v)
{
	sem_wait(&v->shared);
}

static void unlock(void *mutex)
{
	CHECK_EQ(pthread_mutex_unlock(mutex), 0);
}

static void by_cond(struct victim *v)
{
	struct timespec ts = deadline_ms(CLOCK_REALTIME, 1000);

	CHECK_EQ(pthread_mutex_lock(&v->mutex), 0);
	pthread_cleanup_push(unlock, &v->mutex);
	if (!v->is_over)
		pthread_cond_timedwait(&v->cond, &v->mutex, &ts);
	pthread_cleanup_pop(1);
}

static void by_join(struct victim *v)
{
	struct timespec ts = deadline_ms(CLOCK_REALTIME, 1000);

	v->is_joined = pthread_timedjoin_np(v->other, NULL, &ts) == 0;
}

static void by_sigtimedwait(struct victim *v)
{
	struct timespec ts = { 1, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 7);
	sigtimedwait(&set, NULL, &ts);
}

static void by_message(struct victim *v)
{
	struct {
		long type;
		char bytes[8];
	} message;

	msgrcv(v->message_queue, &message, sizeof(message.bytes), 0, 0);
}

static void by_wait(struct victim *v)
{
	int status;

	waitpid(v->child, &status, WUNTRACED);
}

static void by_sleep(struct victim *v)
{
	struct timespec ts = { 0, 1 + random_below(&v->random, 20000000) };

	if (random_below(&v->random, 2))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
	else
		nanosleep(&ts, NULL);
}

static void by_system(struct victim *v)
{
	if (random_below(&v->random, 4) == 0)
		system("exit 3");
	else
		pthread_testcancel();
}

static void (*const calls[])(struct victim *) = {
	by_read,       by_readv, by_recv,   by_recv_all,     by_recvmsg,
	by_write,      by_poll,	 by_select, by_epoll,	     by_sem,
	by_shared_sem, by_cond,	 by_join,   by_sigtimedwait, by_message,
	by_wait,       by_sleep, by_system,
};

enum { NR_CALLS = sizeof(calls) / sizeof(calls[0]) };

/* --- victims -------------------------------------------------------------- */

static void count_cleanup(void *arg)
{
	((struct victim *)arg)->nr_cleanups++;
}

static void wait_as_victim(struct victim *v)
{
	uint64_t random = v->random;

	if (random_below(&random, 3) == 0)
		stress_disturb(&random);
	calls[v->kind](v);
	if (random_below(&random, 2) == 0)
		pthread_testcancel();
}

static void *be_victim(void *arg)
{
	pthread_cleanup_push(count_cleanup, arg);
	wait_as_victim(arg);
	pthread_cleanup_pop(1);
	return NOTHING;
}

static void *sleep_shortly(void *arg)
{
	usleep((useconds_t)(uintptr_t)arg);
	return NULL;
}

static void victim_init(struct victim *v, uint64_t *random)
{
	memset(v, 0, sizeof(*v));
	v->random = random_next(random);
	v->kind = random_below(random, NR_CALLS);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, v->ends),
		 0);
	v->message_queue = msgget(IPC_PRIVATE, 0600);
	CHECK(v->message_queue >= 0);
	CHECK_EQ(sem_init(&v->sem, 0, 0), 0);
	CHECK_EQ(sem_init(&v->shared, 1, 0), 0);
	CHECK_EQ(pthread_mutex_init(&v->mutex, NULL), 0);
	CHECK_EQ(pthread_cond_init(&v->cond, NULL), 0);
	v->other =
		thread_start(sleep_shortly, (void *)random_below(random, 3000));
	if (calls[v->kind] == by_wait) {
		v->child = fork();
		CHECK(v->child >= 0);
		if (v->child == 0) {
			usleep(500);
			_exit(0);
		}
	}
}

static void give(struct victim *v)
{
	struct {
		long type;
		char bytes[8];
	} message = { 1, "hello" };

	send(v->ends[1], "hello", 5, MSG_DONTWAIT | MSG_NOSIGNAL);
	CHECK_EQ(sem_post(&v->sem), 0);
	CHECK_EQ(sem_post(&v->shared), 0);
	CHECK_EQ(pthread_mutex_lock(&v->mutex), 0);
	v->is_over = 1;
	CHECK_EQ(pthread_cond_broadcast(&v->cond), 0);
	CHECK_EQ(pthread_mutex_unlock(&v->mutex), 0);
	CHECK_EQ(msgsnd(v->message_queue, &message, sizeof(message.bytes),
			IPC_NOWAIT),
		 0);
}

static void hang_up(struct victim *v, int which)
{
	if (v->ends[which] >= 0)
		CHECK_EQ(close(v->ends[which]), 0);
	v->ends[which] = -1;
}

static void disturb_victim(struct victim *v, pthread_t thread, uint64_t *random)
{
	switch (random_below(random, 6)) {
	case 0:
		give(v);
		break;
	case 1:
		hang_up(v, 1);
		break;
	case 2:
		CHECK_EQ(shutdown(v->ends[0], SHUT_RDWR), 0);
		break;
	case 3:
		CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
		break;
	default:
		stress_disturb(random);
		break;
	}
}

static void victim_fini(struct victim *v)
{
	int status;

	CHECK_EQ(v->nr_cleanups, 1);
	hang_up(v, 0);
	hang_up(v, 1);
	if (v->child > 0)
		while (waitpid(v->child, &status, 0) < 0 && errno == EINTR)
			;
	if (!v->is_joined)
		thread_join(v->other);
	CHECK_EQ(msgctl(v->message_queue, IPC_RMID, NULL), 0);
	CHECK_EQ(pthread_mutex_trylock(&v->mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&v->mutex), 0);
	CHECK_EQ(pthread_mutex_destroy(&v->mutex), 0);
	CHECK_EQ(pthread_cond_destroy(&v->cond), 0);
	CHECK_EQ(sem_destroy(&v->sem), 0);
	CHECK_EQ(sem_destroy(&v->shared), 0);
}

static void *cancel_others(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	for (long i = 0; i < nr_rounds; i++) {
		struct victim v;
		pthread_t thread;
		void *result;

		victim_init(&v, &random);
		thread = thread_start(be_victim, &v);
		for (long n = random_below(&random, 4); n > 0; n--)
			disturb_victim(&v, thread, &random);
		CHECK_EQ(pthread_cancel(thread), 0);
		result = thread_join(thread);
		CHECK(result == PTHREAD_CANCELED || result == NOTHING);
		*(result == NOTHING ? &nr_returned : &nr_cancelled) += 1;
		victim_fini(&v);
	}
	return NULL;
}

static void do_nothing(int sig)
{
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = do_nothing };
	pthread_t workers[NR_WORKERS];

	stress_begin(argc, argv);
	nr_rounds = stress_scale(100);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	threads_start_numbered(workers, NR_WORKERS, cancel_others);
	threads_join(workers, NR_WORKERS);
	CHECK_EQ(nr_cancelled + nr_returned, NR_WORKERS * nr_rounds);
	return stress_end();
}
