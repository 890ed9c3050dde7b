/* SPDX-License-Identifier: MIT */
/*
 * Calls that write to disks, and calls that move bytes between descriptors. A
 * thread that waits in one of these calls keeps no other thread from running.
 * Also checks their errors.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "files.h"
#include "waiting.h"

static int ends[2];
static _Atomic int nr_waiting;

/* --- calls that write to the disk ----------------------------------------- */

static void *write_through(void *arg)
{
	int by = open_again();

	for (int i = 0; i < 5; i++) {
		CHECK_EQ(pwrite(by, "text", 4, (intptr_t)arg * 4), 4);
		CHECK_EQ(fsync(by), 0);
		CHECK_EQ(fdatasync(by), 0);
		CHECK_EQ(sync_file_range(by, 0, 0, SYNC_FILE_RANGE_WRITE), 0);
	}
	CHECK_EQ(close(by), 0);
	return arg;
}

TEST(many_write_through)
{
	pthread_t threads[20];
	char *map;

	make_file();
	threads_start_numbered(threads, 20, write_through);
	threads_join(threads, 20);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 80);
	map = mmap(NULL, 80, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	CHECK(memcmp(map + 76, "text", 4) == 0);
	CHECK_EQ(msync(map, 80, MS_SYNC), 0);
	CHECK_EQ(msync(map, 80, MS_ASYNC), 0);
	CHECK_EQ(syncfs(fd), 0);
	CHECK_EQ(ftruncate(fd, 10), 0);
	CHECK_EQ(truncate(path, 20), 0);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 20);
}

TEST(errors_of_writing_through)
{
	have_threads();
	make_file();
	CHECK_EQ(pipe(ends), 0);
	CHECK_ERRNO(fsync(-1), EBADF);
	CHECK_ERRNO(fsync(ends[0]), EINVAL);
	CHECK_ERRNO(fdatasync(ends[0]), EINVAL);
	CHECK_ERRNO(syncfs(-1), EBADF);
	CHECK_ERRNO(sync_file_range(ends[0], 0, 0, 2), ESPIPE);
	CHECK_ERRNO(msync((void *)1, 4096, MS_SYNC), EINVAL);
	CHECK_ERRNO(msync(path, 0, MS_SYNC | MS_ASYNC), EINVAL);
	CHECK_ERRNO(fallocate(fd, 0, 0, 0), EINVAL);
	CHECK_EQ(posix_fallocate(fd, 0, 0), EINVAL);
	CHECK_EQ(posix_fallocate(-1, 0, 1), EBADF);
	CHECK_EQ(posix_fallocate(ends[1], 0, 1), ESPIPE);
	CHECK_EQ(posix_fallocate(fd, 0, 100), 0);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 100);
	CHECK_ERRNO(ftruncate(fd, -1), EINVAL);
	CHECK_ERRNO(ftruncate(ends[0], 0), EINVAL);
	CHECK_ERRNO(truncate("/nonexistent/file", 0), ENOENT);
}

/* SIGXFSZ goes to the calling thread even if an I/O worker makes the call. */
static void *truncate_too_far(void *arg)
{
	CHECK_ERRNO(ftruncate(fd, 8192), EFBIG);
	CHECK_ERRNO(truncate(path, 8192), EFBIG);
	return arg;
}

TEST(limit_of_files)
{
	struct rlimit limit = { 4096, RLIM_INFINITY };

	make_file();
	handle(SIGXFSZ, on_signal, 0);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	thread_join(thread_start(truncate_too_far, NULL));
	await_count(&nr_handled, 2);
}

/* --- calls that copy between descriptors ---------------------------------- */

enum { MANY = 1 << 20 };
static char pattern[MANY], seen[MANY];

static void make_pattern(void)
{
	make_file();
	for (int i = 0; i < MANY; i++)
		pattern[i] = (char)(i * 7 + i / 1000);
	CHECK_EQ(pwrite(fd, pattern, MANY, 0), MANY);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
}

static void read_pattern(int from, int bytes)
{
	for (int done = 0; done < bytes;) {
		ssize_t n = read(from, seen + done, (size_t)(bytes - done));

		CHECK(n > 0);
		done += (int)n;
	}
	CHECK(memcmp(seen, pattern, (size_t)bytes) == 0);
}

static void *send_file(void *arg)
{
	off_t offset = 0;

	nr_waiting++;
	for (long left = MANY; left > 0;) {
		ssize_t n = sendfile(ends[1], fd, &offset, (size_t)left);

		CHECK(n > 0);
		left -= n;
	}
	CHECK_EQ(offset, MANY);
	return arg;
}

TEST(sendfile_to_a_socket)
{
	pthread_t thread;

	make_pattern();
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	thread = thread_start(send_file, NULL);
	await_count(&nr_waiting, 1);
	others_go_on();
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
	read_pattern(ends[0], MANY);
	thread_join(thread);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 0);
}

static void *send_to_nobody(void *arg)
{
	CHECK_ERRNO(sendfile(ends[1], fd, NULL, 100), EPIPE);
	CHECK_EQ(nr_handled, 1);
	return arg;
}

TEST(sendfile_to_a_closed_peer)
{
	make_pattern();
	handle(SIGPIPE, on_signal, 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	CHECK_EQ(close(ends[0]), 0);
	thread_join(thread_start(send_to_nobody, NULL));
}

static int middle[2], last[2];

static void *splice_through(void *arg)
{
	nr_waiting++;
	for (long left = MANY; left > 0;) {
		ssize_t n =
			splice(middle[0], NULL, last[1], NULL, (size_t)left, 0);

		CHECK(n > 0);
		left -= n;
	}
	return arg;
}

static void *splice_file(void *arg)
{
	off64_t offset = 0;

	nr_waiting++;
	while (offset < MANY)
		CHECK(splice(fd, &offset, middle[1], NULL,
			     (size_t)(MANY - offset), 0) > 0);
	return arg;
}

static void splice_to(void)
{
	pthread_t threads[2];

	make_pattern();
	CHECK_EQ(pipe(middle), 0);
	threads[0] = thread_start(splice_through, NULL);
	await_count(&nr_waiting, 1);
	others_go_on();
	threads[1] = thread_start(splice_file, NULL);
	others_go_on();
	CHECK_EQ(pthread_tryjoin_np(threads[1], NULL), EBUSY);
	read_pattern(last[0], MANY);
	threads_join(threads, 2);
}

TEST(splice_between_pipes)
{
	CHECK_EQ(pipe(last), 0);
	splice_to();
}

TEST(splice_to_a_socket)
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, last), 0);
	splice_to();
}

static void *tee_some(void *arg)
{
	is_ready = 1;
	CHECK_EQ(tee(middle[0], last[1], 100, 0), 50);
	return arg;
}

TEST(tee_waits_for_both)
{
	pthread_t thread;

	make_pattern();
	CHECK_EQ(pipe(middle), 0);
	CHECK_EQ(pipe(last), 0);
	thread = thread_start(tee_some, NULL);
	let_it_wait(&is_ready);
	CHECK_EQ(write(middle[1], pattern, 50), 50);
	thread_join(thread);
	read_pattern(last[0], 50);
	read_pattern(middle[0], 50);
	CHECK_ERRNO(tee(middle[0], last[1], 100, SPLICE_F_NONBLOCK), EAGAIN);
	CHECK_ERRNO(tee(fd, last[1], 100, 0), EINVAL);
	CHECK_ERRNO(splice(fd, NULL, fd, NULL, 100, 0), EINVAL);
}

static void *map_to_pipe(void *arg)
{
	struct iovec iov = { pattern, MANY };

	nr_waiting++;
	while (iov.iov_len > 0) {
		ssize_t n = vmsplice(last[1], &iov, 1, 0);

		CHECK(n > 0);
		iov.iov_base = (char *)iov.iov_base + n;
		iov.iov_len -= (size_t)n;
	}
	return arg;
}

TEST(vmsplice_to_a_full_pipe)
{
	pthread_t thread;

	make_pattern();
	CHECK_EQ(pipe(last), 0);
	thread = thread_start(map_to_pipe, NULL);
	await_count(&nr_waiting, 1);
	others_go_on();
	CHECK_EQ(pthread_tryjoin_np(thread, NULL), EBUSY);
	read_pattern(last[0], MANY);
	thread_join(thread);
}

TEST(copies_of_files)
{
	char other_path[] = "/tmp/weft-test-XXXXXX";
	int to = mkstemp(other_path);
	off64_t from = 0;

	have_threads();
	make_pattern();
	CHECK(to >= 0 && unlink(other_path) == 0);
	while (from < MANY)
		CHECK(copy_file_range(fd, &from, to, NULL,
				      (size_t)(MANY - from), 0) > 0);
	CHECK_EQ(sendfile(to, fd, NULL, 1000), 1000);
	CHECK_EQ(lseek(to, 0, SEEK_SET), 0);
	read_pattern(to, MANY);
	read_pattern(to, 1000);
	CHECK_ERRNO(copy_file_range(fd, NULL, -1, NULL, 1, 0), EBADF);
	CHECK_ERRNO(sendfile(-1, fd, NULL, 1), EBADF);
}
