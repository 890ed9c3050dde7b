/* SPDX-License-Identifier: MIT */
/*
 * Files on disks, in memory and on block devices, with and without the page
 * cache: threads read and write one file at once and find every byte where it
 * belongs.
 */
#include <fcntl.h>
#include <linux/loop.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_THREADS = 16, NR_BLOCKS = 16, BLOCK = 4096 };
enum { RECORD = 10, NR_RECORDS = 400 };

static const char *const folders[] = { "/var/tmp", "/dev/shm", "." };
enum { NR_FOLDERS = sizeof(folders) / sizeof(folders[0]) };

static int file;

/*
 * Makes a file and removes its name. Returns -1 if the folder or the mode does
 * not exist.
 */
static int new_file(const char *folder, int flags)
{
	char path[64];
	int fd, other;

	snprintf(path, sizeof(path), "%s/weft-file-XXXXXX", folder);
	fd = mkstemp(path);
	if (fd < 0)
		return -1;
	other = open(path, O_RDWR | flags);
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(close(fd), 0);
	return other;
}

/* --- calls at positions of the caller's ---------------------------------- */

static void fill(char *block, long thread, long number)
{
	for (int i = 0; i < BLOCK; i++)
		block[i] = (char)(thread * 31 + number * 7 + i % 251);
}

static off_t place_of(long thread, long number)
{
	return (off_t)(number * NR_THREADS + thread) * BLOCK;
}

static void write_block(long thread, long number, char *block)
{
	off_t at = place_of(thread, number);
	struct iovec halves[2] = { { block, BLOCK / 2 },
				   { block + BLOCK / 2, BLOCK / 2 } };

	fill(block, thread, number);
	if (number % 2 == 0)
		CHECK_EQ(pwrite(file, block, BLOCK, at), BLOCK);
	else
		CHECK_EQ(pwritev(file, halves, 2, at), BLOCK);
}

static void read_block(long thread, long number, char *block, char *expected)
{
	off_t at = place_of(thread, number);
	struct iovec halves[2] = { { block, BLOCK / 2 },
				   { block + BLOCK / 2, BLOCK / 2 } };

	fill(expected, thread, number);
	memset(block, 0, BLOCK);
	if (number % 2 == 0)
		CHECK_EQ(preadv(file, halves, 2, at), BLOCK);
	else
		CHECK_EQ(pread(file, block, BLOCK, at), BLOCK);
	CHECK(memcmp(block, expected, BLOCK) == 0);
}

static void *write_and_read(void *arg)
{
	long me = (long)arg;
	char *blocks;

	CHECK_EQ(posix_memalign((void **)&blocks, BLOCK, 2 * BLOCK), 0);
	for (long i = 0; i < NR_BLOCKS; i++)
		write_block(me, i, blocks);
	CHECK_EQ(fdatasync(file), 0);
	for (long i = 0; i < NR_BLOCKS; i++)
		read_block(me, i, blocks, blocks + BLOCK);
	free(blocks);
	return NULL;
}

static void share_file(int fd)
{
	pthread_t threads[NR_THREADS];

	file = fd;
	threads_start_numbered(threads, NR_THREADS, write_and_read);
	threads_join(threads, NR_THREADS);
}

static void share_files(int flags)
{
	int nr = 0;

	for (int i = 0; i < NR_FOLDERS; i++) {
		int fd = new_file(folders[i], flags);

		if (fd < 0)
			continue;
		share_file(fd);
		CHECK_EQ(close(fd), 0);
		nr++;
	}
	if (nr == 0)
		SKIP("there are no such files");
}

TEST(blocks_of_many_threads)
{
	share_files(0);
}

TEST(blocks_without_the_page_cache)
{
	share_files(O_DIRECT);
}

TEST(blocks_that_are_written_through)
{
	share_files(O_DSYNC);
}

/* --- calls at the file's own position ------------------------------------ */

static _Atomic long sum;
static _Atomic int nr_seen;

static void write_records(int fd)
{
	char record[RECORD + 1];

	for (int i = 0; i < NR_RECORDS; i++) {
		snprintf(record, sizeof(record), "%09d\n", i);
		CHECK_EQ(write(fd, record, RECORD), RECORD);
	}
}

static void *read_records(void *arg)
{
	char record[RECORD + 1] = "";
	ssize_t n;

	while ((n = read(file, record, RECORD)) > 0) {
		CHECK_EQ(n, RECORD);
		sum += atol(record);
		nr_seen++;
	}
	CHECK_EQ(n, 0);
	return arg;
}

/* Each read moves the position, so each record goes to one thread. */
TEST(each_record_is_read_once)
{
	for (int i = 0; i < NR_FOLDERS; i++) {
		pthread_t threads[NR_THREADS];

		file = new_file(folders[i], 0);
		if (file < 0)
			continue;
		write_records(file);
		CHECK_EQ(lseek(file, 0, SEEK_CUR), NR_RECORDS * RECORD);
		CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
		sum = nr_seen = 0;
		threads_start(threads, NR_THREADS, read_records, NULL);
		threads_join(threads, NR_THREADS);
		CHECK_EQ(nr_seen, NR_RECORDS);
		CHECK_EQ(sum, (long)NR_RECORDS * (NR_RECORDS - 1) / 2);
		CHECK_EQ(lseek(file, 0, SEEK_CUR), NR_RECORDS * RECORD);
	}
}

static void *append_records(void *arg)
{
	write_records(file);
	return arg;
}

TEST(each_record_is_appended_whole)
{
	for (int i = 0; i < NR_FOLDERS; i++) {
		pthread_t threads[4];
		char record[RECORD + 1] = "";

		file = new_file(folders[i], O_APPEND);
		if (file < 0)
			continue;
		threads_start(threads, 4, append_records, NULL);
		threads_join(threads, 4);
		sum = 0;
		CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
		while (read(file, record, RECORD) == RECORD)
			sum += atol(record);
		CHECK_EQ(sum, 4L * NR_RECORDS * (NR_RECORDS - 1) / 2);
		CHECK_EQ(lseek(file, 0, SEEK_CUR), 4 * NR_RECORDS * RECORD);
	}
}

/* Reads whole blocks, which is what a disk transfers. */
static void *read_blocks(void *arg)
{
	char *block = aligned_alloc(BLOCK, BLOCK);
	ssize_t n;

	while ((n = read(file, block, BLOCK)) > 0) {
		CHECK_EQ(n, BLOCK);
		sum += atol(block);
		nr_seen++;
	}
	CHECK_EQ(n, 0);
	free(block);
	return arg;
}

static void write_blocks(int fd, long first)
{
	char *block = aligned_alloc(BLOCK, BLOCK);

	memset(block, 0, BLOCK);
	for (long i = first; i < first + NR_BLOCKS; i++) {
		snprintf(block, BLOCK, "%ld", i);
		CHECK_EQ(write(fd, block, BLOCK), BLOCK);
	}
	free(block);
}

static void read_blocks_once(void)
{
	pthread_t threads[NR_THREADS];

	CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
	sum = nr_seen = 0;
	threads_start(threads, NR_THREADS, read_blocks, NULL);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(nr_seen, NR_BLOCKS);
	CHECK_EQ(sum, (long)NR_BLOCKS * (NR_BLOCKS - 1) / 2);
}

TEST(each_block_is_read_once)
{
	for (int i = 0; i < NR_FOLDERS; i++) {
		file = new_file(folders[i], O_DIRECT);
		if (file < 0)
			continue;
		write_blocks(file, 0);
		read_blocks_once();
		CHECK_EQ(close(file), 0);
	}
}

/* Drops the file from the page cache, as far as the file system allows. */
TEST(each_block_is_read_once_from_the_disk)
{
	for (int i = 0; i < NR_FOLDERS; i++) {
		file = new_file(folders[i], 0);
		if (file < 0)
			continue;
		write_blocks(file, 0);
		for (int round = 0; round < 3; round++) {
			CHECK_EQ(fsync(file), 0);
			CHECK_EQ(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED),
				 0);
			read_blocks_once();
		}
		CHECK_EQ(close(file), 0);
	}
}

static void *append_blocks(void *arg)
{
	write_blocks(file, (long)(intptr_t)arg * NR_BLOCKS);
	return arg;
}

TEST(each_block_is_appended_whole)
{
	enum { NR_WRITERS = 4, NR = NR_WRITERS * NR_BLOCKS };

	for (int i = 0; i < NR_FOLDERS; i++) {
		pthread_t threads[NR_WRITERS];

		file = new_file(folders[i], O_APPEND | O_DSYNC);
		if (file < 0)
			continue;
		for (intptr_t t = 0; t < NR_WRITERS; t++)
			CHECK_EQ(pthread_create(&threads[t], NULL,
						append_blocks, (void *)t),
				 0);
		threads_join(threads, NR_WRITERS);
		CHECK_EQ(lseek(file, 0, SEEK_SET), 0);
		sum = nr_seen = 0;
		read_blocks(NULL);
		CHECK_EQ(nr_seen, NR);
		CHECK_EQ(sum, (long)NR * (NR - 1) / 2);
		CHECK_EQ(close(file), 0);
	}
}

TEST(ends_and_holes)
{
	char buf[100], zeros[50] = { 0 };

	have_threads();
	file = new_file("/var/tmp", 0);
	CHECK_EQ(pwrite(file, "end", 3, 1000000), 3);
	CHECK_EQ(pread(file, buf, sizeof(buf), 1000001), 2);
	CHECK(memcmp(buf, "nd", 2) == 0);
	CHECK_EQ(pread(file, buf, sizeof(buf), 1000003), 0);
	CHECK_EQ(pread(file, buf, 50, 500000), 50);
	CHECK(memcmp(buf, zeros, 50) == 0);
	CHECK_EQ(read(file, buf, 50), 50);
	CHECK_EQ(lseek(file, 0, SEEK_CUR), 50);
	CHECK_ERRNO(pread(file, buf, 1, -1), EINVAL);
	CHECK_ERRNO(read(file, (void *)(uintptr_t)nr_seen, 1), EFAULT);
	CHECK_EQ(ftruncate(file, 10), 0);
	CHECK_EQ(read(file, buf, 50), 0);
}

/*
 * A stream closes a pipe, and a file gets its number. A read must return the
 * file's uncached half, too.
 */
enum { LONG_BYTES = 16 << 20 };

/*
 * Makes a file of zeros with its second half not in the page cache. Another
 * descriptor than the returned one does so.
 */
static int make_half_cached(void)
{
	char path[] = "/var/tmp/weft-file-XXXXXX";
	char *bytes = calloc(1, LONG_BYTES);
	int made = mkstemp(path), fd = open(path, O_WRONLY);

	CHECK(made >= 0 && fd >= 0 && unlink(path) == 0);
	CHECK_EQ(write(fd, bytes, LONG_BYTES), LONG_BYTES);
	CHECK_EQ(fsync(fd), 0);
	CHECK_EQ(posix_fadvise(fd, LONG_BYTES / 2, 0, POSIX_FADV_DONTNEED), 0);
	CHECK_EQ(close(fd), 0);
	free(bytes);
	return made;
}

static void check_read_as_a_whole(int fd)
{
	char *bytes = malloc(LONG_BYTES);

	CHECK_EQ(read(fd, bytes, LONG_BYTES), LONG_BYTES);
	free(bytes);
}

/* The next file gets the number `fd`, which is free. */
static void check_next_file(int fd)
{
	file = make_half_cached();
	CHECK_EQ(file, fd);
	check_read_as_a_whole(file);
}

static int read_pipe(void)
{
	char byte = 'b';
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], &byte, 1), 1);
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	return ends[0];
}

TEST(a_number_that_a_stream_has_closed)
{
	int fd;

	have_threads();
	fd = read_pipe();
	CHECK_EQ(fclose(fdopen(fd, "r")), 0);
	check_next_file(fd);
}

TEST(a_number_that_pclose_has_closed)
{
	FILE *child;
	char byte;
	int fd;

	have_threads();
	child = popen("echo", "r");
	CHECK(child != NULL);
	fd = fileno(child);
	CHECK_EQ(read(fd, &byte, 1), 1);
	CHECK_EQ(pclose(child), 0);
	check_next_file(fd);
}

TEST(a_number_that_a_system_call_has_closed)
{
	int fd;

	have_threads();
	fd = read_pipe();
	CHECK_EQ(syscall(SYS_close, fd), 0);
	check_next_file(fd);
}

TEST(a_number_that_freopen_has_used_again)
{
	char path[32];
	FILE *stream;

	have_threads();
	file = make_half_cached();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	stream = fdopen(read_pipe(), "r");
	stream = freopen(path, "r", stream);
	CHECK(stream != NULL);
	check_read_as_a_whole(fileno(stream));
	CHECK_EQ(fclose(stream), 0);
	CHECK_EQ(close(file), 0);
}

TEST(folders_are_no_files)
{
	int fd = open("/var/tmp", O_RDONLY | O_DIRECTORY);
	char c;

	have_threads();
	CHECK_ERRNO(read(fd, &c, 1), EISDIR);
	CHECK_ERRNO(write(fd, &c, 1), EBADF);
}

/* --- block devices ------------------------------------------------------- */

/* Makes a loop device on a file. The kernel frees it at the last close. */
static int new_device(int flags)
{
	struct loop_info64 info = { .lo_flags = LO_FLAGS_AUTOCLEAR };
	int control = open("/dev/loop-control", O_RDWR);
	int below = new_file("/var/tmp", 0);
	char path[32];
	int fd, number;

	if (control < 0 || below < 0)
		return -1;
	CHECK_EQ(ftruncate(below, (off_t)NR_THREADS * NR_BLOCKS * BLOCK), 0);
	number = ioctl(control, LOOP_CTL_GET_FREE);
	snprintf(path, sizeof(path), "/dev/loop%d", number);
	fd = number < 0 ? -1 : open(path, O_RDWR | flags);
	if (fd >= 0 && (ioctl(fd, LOOP_SET_FD, below) < 0 ||
			ioctl(fd, LOOP_SET_STATUS64, &info) < 0))
		fd = -1;
	close(below);
	close(control);
	return fd;
}

static void share_device(int flags)
{
	int fd = new_device(flags);

	if (fd < 0)
		SKIP("no loop device is to be had");
	share_file(fd);
	CHECK_EQ(close(fd), 0);
}

TEST(blocks_of_a_device)
{
	share_device(0);
}

TEST(blocks_of_a_device_without_the_page_cache)
{
	share_device(O_DIRECT);
}
