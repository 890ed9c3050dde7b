/* SPDX-License-Identifier: MIT */
/*
 * Threads of a VP sleep in the kernel without interruption, so the VP gets one
 * carrier after another. Its other threads wait for streams, messages, polled
 * pipes, connections and a process-shared semaphore. Each of them gets all its
 * data, once and in order.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "stress.h"

enum {
	NR_OF_KIND = 6, /* pairs of threads */
	NR_SLEEPERS = 2,
	SLEEPS = 4, /* per thread; after 16 handoffs in a row weft binds it */
	MOST_US = 9000,
	MOST_BYTES = 3000,
	MESSAGE = 64,
};

struct pair {
	int to, from;
	uint16_t port;
	int i;
};

static struct pair streams[NR_OF_KIND], datagrams[NR_OF_KIND],
	pipes[NR_OF_KIND], listeners[NR_OF_KIND];
static sem_t *posts; /* shared between processes */
static _Atomic bool is_over;
static long nr_rounds;

static unsigned char byte_of(long at, int i)
{
	return (unsigned char)(at * 131 + at / 251 + i);
}

static void pause_at_random(uint64_t *random)
{
	if (random_below(random, 3) == 0)
		usleep((useconds_t)random_below(random, MOST_US));
	else
		stress_disturb(random);
}

/* --- streams, and pipes that are polled ----------------------------------- */

static void *send_stream(void *arg)
{
	struct pair *p = arg;
	uint64_t random = random_start(p->i);
	unsigned char bytes[MOST_BYTES];
	long at = 0;

	for (long k = 0; k < nr_rounds; k++) {
		size_t nr = 1 + random_below(&random, MOST_BYTES);
		size_t done = 0;

		for (size_t j = 0; j < nr; j++)
			bytes[j] = byte_of(at++, p->i);
		while (done < nr) {
			ssize_t n = write(p->to, bytes + done, nr - done);

			CHECK(n > 0);
			done += (size_t)n;
		}
		pause_at_random(&random);
	}
	CHECK_EQ(close(p->to), 0);
	return (void *)at;
}

static long check_bytes(const struct pair *p, const unsigned char *bytes,
			ssize_t n, long at)
{
	for (ssize_t j = 0; j < n; j++)
		CHECK_EQ(bytes[j], byte_of(at++, p->i));
	return at;
}

static void *receive_stream(void *arg)
{
	struct pair *p = arg;
	uint64_t random = random_start(100 + p->i);
	unsigned char bytes[MOST_BYTES];
	long at = 0;
	ssize_t n;

	while ((n = recv(p->from, bytes, 1 + random_below(&random, MOST_BYTES),
			 0)) > 0)
		at = check_bytes(p, bytes, n, at);
	CHECK_EQ(n, 0);
	return (void *)at;
}

static void *read_polled(void *arg)
{
	struct pair *p = arg;
	uint64_t random = random_start(200 + p->i);
	unsigned char bytes[MOST_BYTES];
	long at = 0;

	for (;;) {
		struct pollfd polled[] = { { p->from, POLLIN, 0 },
					   { listeners[0].from, POLLPRI, 0 } };
		ssize_t n;

		if (random_below(&random, 2) == 0)
			CHECK(poll(polled, 2, -1) == 1);
		n = read(p->from, bytes, sizeof(bytes));
		CHECK(n >= 0);
		if (n == 0)
			return (void *)at;
		at = check_bytes(p, bytes, n, at);
	}
}

/* --- messages ------------------------------------------------------------- */

static void *send_messages(void *arg)
{
	struct pair *p = arg;
	uint64_t random = random_start(300 + p->i);
	unsigned char message[MESSAGE] = { 0 };
	long at = 0;

	for (; at < nr_rounds; at++) {
		memcpy(message, &at, sizeof(at));
		CHECK_EQ(send(p->to, message, sizeof(message), 0), MESSAGE);
		pause_at_random(&random);
	}
	CHECK_EQ(send(p->to, "", 1, 0), 1);
	return (void *)at;
}

static void *receive_messages(void *arg)
{
	struct pair *p = arg;
	unsigned char message[MESSAGE];
	long at = 0;

	for (;; at++) {
		struct iovec iov = { message, sizeof(message) };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n = recvmsg(p->from, &msg, 0);

		if (n == 1)
			return (void *)at;
		CHECK_EQ(n, MESSAGE);
		CHECK(memcmp(message, &at, sizeof(at)) == 0);
	}
}

/* --- connections ---------------------------------------------------------- */

static void *connect_again(void *arg)
{
	struct pair *p = arg;
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = p->port,
	};
	uint64_t random = random_start(400 + p->i);
	long nr = 0;

	for (; nr < nr_rounds; nr++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		struct linger reset = { 1, 0 };
		long got;

		CHECK(fd >= 0);
		CHECK_EQ(connect(fd, (struct sockaddr *)&address,
				 sizeof(address)),
			 0);
		CHECK_EQ(send(fd, &nr, sizeof(nr), 0), (ssize_t)sizeof(nr));
		CHECK_EQ(recv(fd, &got, sizeof(got), 0), (ssize_t)sizeof(got));
		CHECK_EQ(got, nr);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		CHECK_EQ(close(fd), 0);
		pause_at_random(&random);
	}
	return (void *)nr;
}

static void *accept_again(void *arg)
{
	struct pair *p = arg;
	long nr = 0;

	for (; nr < nr_rounds; nr++) {
		int fd = accept(p->from, NULL, NULL);
		long got;

		CHECK(fd >= 0);
		CHECK_EQ(recv(fd, &got, sizeof(got), 0), (ssize_t)sizeof(got));
		CHECK_EQ(got, nr);
		CHECK_EQ(send(fd, &got, sizeof(got), 0), (ssize_t)sizeof(got));
		CHECK_EQ(close(fd), 0);
	}
	return (void *)nr;
}

/* --- a semaphore ---------------------------------------------------------- */

static void *post(void *arg)
{
	uint64_t random = random_start(500);

	for (long nr = 0; nr < nr_rounds; nr++) {
		CHECK_EQ(sem_post(posts), 0);
		pause_at_random(&random);
	}
	return (void *)nr_rounds;
}

static void *take(void *arg)
{
	for (long nr = 0; nr < nr_rounds; nr++)
		CHECK_EQ(sem_wait(posts), 0);
	return (void *)nr_rounds;
}

/* --- sleepers ------------------------------------------------------------- */

/* Like vfork: only a fatal signal ends the wait for the child. */
static void *sleep_uninterrupted(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);

	for (int k = 0; k < SLEEPS; k++) {
		const struct timespec nap = {
			0, (long)random_below(&random, 3 * MOST_US) * 1000
		};
		long pid =
			syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);

		if (pid == 0) {
			syscall(SYS_nanosleep, &nap, NULL);
			syscall(SYS_exit_group, 0);
		}
		CHECK(pid > 0);
		CHECK_EQ(waitpid((pid_t)pid, NULL, 0), (pid_t)pid);
	}
	return NULL;
}

static void *make_sleepers(void *arg)
{
	intptr_t seed = 1000 * (1 + (intptr_t)arg);

	while (!is_over)
		thread_join(thread_start(sleep_uninterrupted, (void *)seed++));
	return NULL;
}

/* --- all ------------------------------------------------------------------ */

static void open_all(int i)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t bytes = sizeof(address);
	int ends[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	streams[i] = (struct pair){ ends[0], ends[1], 0, i };
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
	datagrams[i] = (struct pair){ ends[0], ends[1], 0, i };
	CHECK_EQ(pipe(ends), 0);
	pipes[i] = (struct pair){ ends[1], ends[0], 0, i };
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(ends[0] >= 0);
	CHECK_EQ(bind(ends[0], (struct sockaddr *)&address, bytes), 0);
	CHECK_EQ(listen(ends[0], 16), 0);
	CHECK_EQ(getsockname(ends[0], (struct sockaddr *)&address, &bytes), 0);
	listeners[i] = (struct pair){ -1, ends[0], address.sin_port, i };
}

int main(int argc, char **argv)
{
	static pthread_t givers[4][NR_OF_KIND], takers[4][NR_OF_KIND];
	pthread_t sleepers[NR_SLEEPERS], poster, waiter;

	stress_begin(argc, argv);
	nr_rounds = stress_scale(100);
	posts = mmap(NULL, sizeof(*posts), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(posts != MAP_FAILED);
	CHECK_EQ(sem_init(posts, 1, 0), 0);
	for (int i = 0; i < NR_OF_KIND; i++)
		open_all(i);
	for (int i = 0; i < NR_OF_KIND; i++) {
		takers[0][i] = thread_start(receive_stream, &streams[i]);
		takers[1][i] = thread_start(receive_messages, &datagrams[i]);
		takers[2][i] = thread_start(read_polled, &pipes[i]);
		takers[3][i] = thread_start(accept_again, &listeners[i]);
		givers[0][i] = thread_start(send_stream, &streams[i]);
		givers[1][i] = thread_start(send_messages, &datagrams[i]);
		givers[2][i] = thread_start(send_stream, &pipes[i]);
		givers[3][i] = thread_start(connect_again, &listeners[i]);
	}
	waiter = thread_start(take, NULL);
	poster = thread_start(post, NULL);
	threads_start_numbered(sleepers, NR_SLEEPERS, make_sleepers);
	for (int kind = 0; kind < 4; kind++) {
		for (int i = 0; i < NR_OF_KIND; i++)
			CHECK(thread_join(givers[kind][i]) ==
			      thread_join(takers[kind][i]));
	}
	thread_join(poster);
	thread_join(waiter);
	is_over = true;
	threads_join(sleepers, NR_SLEEPERS);
	return stress_end();
}
