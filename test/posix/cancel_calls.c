/* SPDX-License-Identifier: MIT */
/*
 * Calls that need not wait, made by a thread with a pending cancellation: the
 * cancellation points end the thread, the other calls do not.
 */
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <mqueue.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "waiting.h"

static int file, ends[2], pair[2];

static void call_wait(void)
{
	wait(NULL);
}

static void call_waitpid(void)
{
	waitpid(-1, NULL, WNOHANG);
}

static void call_wait4(void)
{
	wait4(-1, NULL, WNOHANG, NULL);
}

static void call_waitid(void)
{
	siginfo_t info;

	waitid(P_ALL, 0, &info, WEXITED | WNOHANG);
}

static void call_fsync(void)
{
	fsync(file);
}

static void call_fdatasync(void)
{
	fdatasync(file);
}

static void call_msync(void)
{
	msync(NULL, 4096, MS_SYNC);
}

static void call_sync_file_range(void)
{
	sync_file_range(file, 0, 0, 0);
}

static void call_fallocate(void)
{
	fallocate(file, 0, 0, 1);
}

static void call_fcntl(void)
{
	struct flock lock = { .l_type = F_WRLCK };

	fcntl(file, F_SETLKW, &lock);
}

static void call_lockf(void)
{
	lockf(file, F_LOCK, 0);
}

static void call_copy(void)
{
	copy_file_range(file, NULL, file, NULL, 1, 0);
}

static void call_splice(void)
{
	splice(ends[0], NULL, file, NULL, 1, SPLICE_F_NONBLOCK);
}

static void call_tee(void)
{
	tee(ends[0], ends[1], 1, SPLICE_F_NONBLOCK);
}

static void call_vmsplice(void)
{
	struct iovec iov = { "x", 1 };

	vmsplice(ends[1], &iov, 1, SPLICE_F_NONBLOCK);
}

static void call_mq_send(void)
{
	mq_send(-1, "x", 1, 0);
}

static void call_mq_receive(void)
{
	char text[8];

	mq_receive(-1, text, sizeof(text), NULL);
}

static void call_msgsnd(void)
{
	msgsnd(-1, &(struct { long type; }){ 1 }, 0, IPC_NOWAIT);
}

static void call_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	msgrcv(-1, &message, 8, 0, IPC_NOWAIT);
}

static void call_recvmmsg(void)
{
	recvmmsg(pair[0], NULL, 0, MSG_DONTWAIT, NULL);
}

static void call_sendmmsg(void)
{
	sendmmsg(pair[0], NULL, 0, MSG_DONTWAIT);
}

static void call_flock(void)
{
	CHECK_EQ(flock(file, LOCK_EX), 0);
	CHECK_EQ(flock(file, LOCK_UN), 0);
}

static void call_ftruncate(void)
{
	CHECK_EQ(ftruncate(file, 10), 0);
}

static void call_syncfs(void)
{
	CHECK_EQ(syncfs(file), 0);
}

static void call_sendfile(void)
{
	CHECK_EQ(sendfile(ends[1], file, NULL, 0), 0);
}

static void call_semop(void)
{
	struct sembuf op = { 0, 1, 0 };

	CHECK_ERRNO(semop(-1, &op, 1), EINVAL);
}

struct call {
	const char *name;
	void (*make)(void);
};

#define CALL(name)                 \
	{                          \
#name, call_##name \
	}

static const struct call points[] = {
	CALL(wait),	  CALL(waitpid),
	CALL(wait4),	  CALL(waitid),
	CALL(fsync),	  CALL(fdatasync),
	CALL(msync),	  CALL(sync_file_range),
	CALL(fallocate),  CALL(fcntl),
	CALL(lockf),	  CALL(copy),
	CALL(splice),	  CALL(tee),
	CALL(vmsplice),	  CALL(mq_send),
	CALL(mq_receive), CALL(msgsnd),
	CALL(msgrcv),	  CALL(recvmmsg),
	CALL(sendmmsg),
};

static const struct call others[] = {
	CALL(flock), CALL(ftruncate), CALL(syncfs), CALL(sendfile), CALL(semop),
};

static void *make_when_cancelled(void *arg)
{
	const struct call *c = arg;

	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL), 0);
	c->make();
	return NULL;
}

static void make_all(const struct call *calls, size_t nr, void *result)
{
	char path[] = "/tmp/weft-test-XXXXXX";

	file = mkstemp(path);
	CHECK(file >= 0 && unlink(path) == 0);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
	for (size_t i = 0; i < nr; i++) {
		pthread_t t =
			thread_start(make_when_cancelled, (void *)&calls[i]);

		if (thread_join(t) != result) {
			fprintf(stderr, "%s\n", calls[i].name);
			CHECK(!"ended otherwise");
		}
	}
}

TEST(cancellation_points)
{
	make_all(points, sizeof(points) / sizeof(points[0]), PTHREAD_CANCELED);
}

TEST(other_calls)
{
	make_all(others, sizeof(others) / sizeof(others[0]), NULL);
}

static void *read_byte(void *arg)
{
	char c;

	return read(ends[0], &c, 1) == 1 ? arg : NULL;
}

/*
 * The cancelled thread may be anywhere in its read when the descriptor is
 * closed; it must not see EBADF. From 2.41 on libc does not act on a
 * cancellation if the call has failed.
 */
TEST(cancelled_and_then_closed)
{
	int major = 0, minor = 0;

	sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
	if (major > 2 || minor > 40)
		SKIP("libc cancels fewer calls");
	for (int i = 0; i < 500; i++) {
		pthread_t thread;

		CHECK_EQ(pipe(ends), 0);
		thread = thread_start(read_byte, NULL);
		if (i % 2 != 0)
			sched_yield();
		CHECK_EQ(pthread_cancel(thread), 0);
		CHECK_EQ(close(ends[0]), 0);
		CHECK(thread_join(thread) == PTHREAD_CANCELED);
		CHECK_EQ(close(ends[1]), 0);
	}
}
