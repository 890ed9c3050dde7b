/* SPDX-License-Identifier: MIT */
/*
 * Locks on files: a thread that waits for a lock keeps no other thread from
 * running; the events that end the waits; errors.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "files.h"
#include "waiting.h"

static int ends[2];
static _Atomic int nr_waiting, nr_done;

enum kind { FLOCK, OFD, RECORD, LOCKF };
static enum kind kind;

/* Changes the lock of the whole file. type: F_WRLCK or F_UNLCK. */
static int lock_by(int by, int type, bool waits)
{
	struct flock lock = { .l_type = (short)type };

	switch (kind) {
	case FLOCK:
		return flock(by, (type == F_UNLCK ? LOCK_UN : LOCK_EX) |
					 (waits ? 0 : LOCK_NB));
	case OFD:
		return fcntl(by, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	case RECORD:
		return fcntl(by, waits ? F_SETLKW : F_SETLK, &lock);
	case LOCKF:
	default:
		return lockf(by,
			     type == F_UNLCK ? F_ULOCK :
			     waits	     ? F_LOCK :
					       F_TLOCK,
			     0);
	}
}

/* Starts a child that holds the lock until its end of a pipe is closed. */
static pid_t held_by_child(void)
{
	pid_t pid;
	char c;

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		if (lock_by(open_again(), F_WRLCK, false) != 0)
			_exit(1);
		if (write(ends[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	CHECK_EQ(close(ends[1]), 0);
	CHECK_EQ(read(ends[0], &c, 1), 1);
	return pid;
}

static void end_child(pid_t pid)
{
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void *lock_and_count(void *arg)
{
	int by = kind == FLOCK || kind == OFD ? open_again() : fd;

	is_ready = 1;
	nr_waiting++;
	if (lock_by(by, F_WRLCK, true) < 0) {
		int err = errno;

		if (by != fd)
			CHECK_EQ(close(by), 0);
		return (void *)(intptr_t)-err;
	}
	nr_done++;
	CHECK_EQ(lock_by(by, F_UNLCK, true), 0);
	if (by != fd)
		CHECK_EQ(close(by), 0);
	return NULL;
}

static void many_wait(enum kind which)
{
	pthread_t threads[40];
	pid_t child;

	kind = which;
	make_file();
	child = held_by_child();
	threads_start(threads, 40, lock_and_count, NULL);
	await_count(&nr_waiting, 40);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	end_child(child);
	threads_join(threads, 40);
	CHECK_EQ(nr_done, 40);
}

TEST(many_wait_for_flock)
{
	many_wait(FLOCK);
}

TEST(many_wait_for_open_file_locks)
{
	many_wait(OFD);
}

TEST(many_wait_for_record_locks)
{
	many_wait(RECORD);
}

TEST(many_wait_for_lockf)
{
	many_wait(LOCKF);
}

/*
 * A lock belongs to a descriptor, so threads with their own descriptors exclude
 * each other.
 */
static long in_turn;

static void *count_in_turn(void *arg)
{
	int by = open_again();

	for (int i = 0; i < 50; i++) {
		long seen;

		CHECK_EQ(flock(by, LOCK_EX), 0);
		seen = in_turn;
		sched_yield();
		in_turn = seen + 1;
		CHECK_EQ(flock(by, LOCK_UN), 0);
	}
	CHECK_EQ(close(by), 0);
	return arg;
}

TEST(flock_excludes)
{
	pthread_t threads[10];

	make_file();
	threads_start(threads, 10, count_in_turn, NULL);
	threads_join(threads, 10);
	CHECK_EQ(in_turn, 500);
}

static pid_t holder;

static void end_holder(void)
{
	end_child(holder);
}

TEST(handlers_end_waits_for_locks)
{
	make_file();
	for (kind = FLOCK; kind <= LOCKF; kind++) {
		holder = held_by_child();
		CHECK_EQ(after_handler(lock_and_count, 0, end_holder), -EINTR);
		holder = held_by_child();
		CHECK_EQ(after_handler(lock_and_count, SA_RESTART, end_holder),
			 0);
	}
}

TEST(cancellation_ends_waits_for_locks)
{
	make_file();
	for (kind = OFD; kind <= LOCKF; kind++) {
		holder = held_by_child();
		is_cancelled_in(lock_and_count, NULL);
		end_child(holder);
		CHECK_EQ(lock_by(fd, F_WRLCK, false), 0);
		CHECK_EQ(lock_by(fd, F_UNLCK, false), 0);
	}
}

static int lock_byte(int command, int byte)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_start = byte,
		.l_len = 1,
	};

	return fcntl(fd, command, &lock);
}

/* Returns when the child sleeps in a call. */
static void await_sleep(pid_t pid)
{
	char name[64], state = 'R';

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	while (state != 'S') {
		FILE *f = fopen(name, "r");

		CHECK(f != NULL);
		CHECK_EQ(fscanf(f, "%*d %*s %c", &state), 1);
		fclose(f);
		sched_yield();
	}
}

/*
 * The child locks byte 1 and waits for byte 0, which this process has locked.
 */
TEST(deadlock_is_found)
{
	pid_t child;
	char c;

	have_threads();
	make_file();
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(lock_byte(F_SETLK, 0), 0);
	child = fork();
	if (child == 0) {
		if (lock_byte(F_SETLK, 1) != 0 || write(ends[1], "x", 1) != 1)
			_exit(1);
		_exit(lock_byte(F_SETLKW, 0) == 0 ? 0 : 2);
	}
	CHECK_EQ(read(ends[0], &c, 1), 1);
	await_sleep(child);
	CHECK_ERRNO(lock_byte(F_SETLKW, 1), EDEADLK);
	CHECK_EQ(kill(child, SIGKILL), 0);
	CHECK_EQ(waitpid(child, NULL, 0), child);
}

TEST(commands_of_fcntl)
{
	struct flock lock = { .l_type = F_WRLCK };
	int copy;

	have_threads();
	make_file();
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 20);
	CHECK(copy >= 20);
	CHECK_EQ(fcntl(copy, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(fcntl(copy, F_SETFD, 0), 0);
	CHECK_EQ(fcntl(copy, F_GETFD), 0);
	CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
	CHECK_EQ(fcntl(fd, F_GETLK, &lock), 0);
	CHECK_EQ(lock.l_type, F_UNLCK);
	CHECK_ERRNO(fcntl(-1, F_SETLKW, &lock), EBADF);
	lock.l_type = 17;
	CHECK_ERRNO(fcntl(fd, F_SETLKW, &lock), EINVAL);
	CHECK_ERRNO(flock(fd, 0), EINVAL);
	CHECK_ERRNO(flock(-1, LOCK_EX), EBADF);
	CHECK_ERRNO(lockf(-1, F_LOCK, 0), EBADF);
	CHECK_ERRNO(lockf(fd, 99, 0), EINVAL);
}
