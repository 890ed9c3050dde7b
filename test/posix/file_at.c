/* SPDX-License-Identifier: MIT */
/*
 * Reading and writing files at a position: the bytes that arrive from the page
 * cache, from the disk and past the cache; errors, handlers.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { BLOCK = 4096, NR_BLOCKS = 256, TAIL = 100, NR_THREADS = 40 };
enum { END = NR_BLOCKS * BLOCK + TAIL };

static int fd;
static char path[64]; /* by /proc, since the file has no name */

/* Fills a block with its number. */
static void fill(char *block, int number)
{
	for (int i = 0; i < BLOCK / (int)sizeof(int); i++)
		memcpy(block + (size_t)i * sizeof(int), &number, sizeof(int));
}

static bool is_full_of(const char *block, int number)
{
	char wanted[BLOCK];

	fill(wanted, number);
	return memcmp(block, wanted, BLOCK) == 0;
}

static void make_file(void)
{
	char name[] = "/tmp/weft-test-XXXXXX";
	char block[BLOCK];

	fd = mkstemp(name);
	CHECK(fd >= 0);
	CHECK_EQ(unlink(name), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int i = 0; i < NR_BLOCKS; i++) {
		fill(block, i);
		CHECK_EQ(write(fd, block, BLOCK), BLOCK);
	}
	CHECK_EQ(write(fd, block, TAIL), TAIL);
	CHECK_EQ(fsync(fd), 0);
}

/* --- many threads at one file --------------------------------------------- */

static _Atomic bool is_over;

static void *read_blocks(void *arg)
{
	unsigned int seed = (unsigned int)(intptr_t)arg + 1;
	char *block = aligned_alloc(BLOCK, BLOCK);

	for (int i = 0; i < 50; i++) {
		int number = rand_r(&seed) % NR_BLOCKS;

		CHECK_EQ(pread(fd, block, BLOCK, (off_t)number * BLOCK), BLOCK);
		CHECK(is_full_of(block, number));
	}
	free(block);
	return NULL;
}

static void read_by_many(void)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, read_blocks);
	threads_join(threads, NR_THREADS);
}

TEST(from_the_cache)
{
	make_file();
	read_by_many();
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), END);
}

static void *drop_cache(void *arg)
{
	while (!is_over) {
		CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
		usleep(1000);
	}
	return arg;
}

TEST(from_the_disk)
{
	pthread_t dropper;

	make_file();
	dropper = thread_start(drop_cache, NULL);
	read_by_many();
	is_over = true;
	thread_join(dropper);
}

/* Returns false on a file system without O_DIRECT. */
static bool reopen_direct(void)
{
	int direct = open(path, O_RDWR | O_DIRECT);

	if (direct < 0)
		return false;
	CHECK_EQ(close(fd), 0);
	fd = direct;
	return true;
}

static void *write_blocks(void *arg)
{
	int first = (int)(intptr_t)arg;
	char *block = aligned_alloc(BLOCK, BLOCK);

	for (int i = first; i < NR_BLOCKS; i += NR_THREADS) {
		off_t at = (off_t)i * BLOCK;

		fill(block, i + 1000);
		CHECK_EQ(pwrite(fd, block, BLOCK, at), BLOCK);
		CHECK_EQ(pread(fd, block, BLOCK, at), BLOCK);
		CHECK(is_full_of(block, i + 1000));
	}
	free(block);
	return NULL;
}

static void write_by_many(void)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, write_blocks);
	threads_join(threads, NR_THREADS);
}

TEST(past_the_cache)
{
	make_file();
	if (reopen_direct()) {
		read_by_many();
		write_by_many();
	}
}

TEST(written_through)
{
	struct stat st;

	make_file();
	write_by_many();
	fd = open(path, O_RDWR | O_DSYNC);
	write_by_many();
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_size, END);
}

/* --- how many bytes a call transfers -------------------------------------- */

static void *read_at_the_end(void *arg)
{
	char a[BLOCK], b[BLOCK];
	struct iovec two[2] = { { a, 60 }, { b, sizeof(b) } };

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(pread(fd, a, sizeof(a), END - TAIL), TAIL);
		CHECK_EQ(pread(fd, a, sizeof(a), END - 1), 1);
		CHECK_EQ(pread(fd, a, sizeof(a), END), 0);
		CHECK_EQ(pread(fd, a, sizeof(a), END + BLOCK), 0);
		CHECK_EQ(pread(fd, a, 0, 0), 0);
		CHECK_EQ(preadv(fd, two, 2, END - TAIL), TAIL);
		CHECK_EQ(preadv(fd, two, 2, END - TAIL - BLOCK), 60 + BLOCK);
		/* The next round reads from the disk. */
		CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	}
	return arg;
}

TEST(at_the_end)
{
	make_file();
	thread_join(thread_start(read_at_the_end, NULL));
}

/* Reads blocks of which only half are in the page cache. */
static void *read_half_cached(void *arg)
{
	const size_t bytes = 16 * BLOCK;
	char *blocks = malloc(bytes);

	CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
	CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	CHECK_EQ(pread(fd, blocks, bytes / 2, 0), (ssize_t)bytes / 2);
	CHECK_EQ(pread(fd, blocks, bytes, 0), (ssize_t)bytes);
	for (int i = 0; i < 16; i++)
		CHECK(is_full_of(blocks + (size_t)i * BLOCK, i));
	free(blocks);
	return arg;
}

TEST(half_cached)
{
	make_file();
	thread_join(thread_start(read_half_cached, NULL));
}

/* --- calls at the file's own position ------------------------------------- */

/* Reads from a block up to the end of the file, `bytes` at a time. */
static void read_through(size_t bytes, off_t from)
{
	char *blocks = aligned_alloc(BLOCK, bytes);
	off_t at = from;
	ssize_t n;

	CHECK_EQ(lseek(fd, from, SEEK_SET), from);
	while ((n = read(fd, blocks, bytes)) > 0) {
		off_t left = END - at;

		CHECK_EQ(n, left < (off_t)bytes ? left : (off_t)bytes);
		for (ssize_t i = 0; i + BLOCK <= n; i += BLOCK)
			CHECK(is_full_of(blocks + i, (int)((at + i) / BLOCK)));
		at += n;
		CHECK_EQ(lseek(fd, 0, SEEK_CUR), at);
	}
	CHECK_EQ(n, 0);
	CHECK_EQ(at, END);
	free(blocks);
}

static void *read_one_after_another(void *arg)
{
	read_through(4L * BLOCK, 0);
	CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM), 0);
	CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	read_through(4L * BLOCK, 2L * BLOCK);
	/* Half of what each read asks for is in the page cache. */
	CHECK_EQ(posix_fadvise(fd, (off_t)END / 2, 0, POSIX_FADV_DONTNEED), 0);
	read_through((size_t)(NR_BLOCKS + 1) * BLOCK, 0);
	if (reopen_direct())
		read_through(4L * BLOCK, 0);
	return arg;
}

TEST(one_after_another)
{
	make_file();
	thread_join(thread_start(read_one_after_another, NULL));
}

static void *write_one_after_another(void *arg)
{
	char block[BLOCK];

	fd = open(path, O_RDWR | O_DSYNC | O_TRUNC);
	for (int i = 0; i < NR_BLOCKS; i++) {
		fill(block, i);
		CHECK_EQ(write(fd, block, BLOCK), BLOCK);
	}
	CHECK_EQ(write(fd, block, TAIL), TAIL);
	read_through(8L * BLOCK, 0);
	return arg;
}

TEST(written_one_after_another)
{
	make_file();
	thread_join(thread_start(write_one_after_another, NULL));
}

/*
 * A kernel file's line is made for the calling thread, so it has to name the
 * caller and not a worker.
 */
static void *read_kernels(void *arg)
{
	char line[16] = "", more[BLOCK];
	int comm = open("/proc/thread-self/comm", O_RDWR);

	CHECK_EQ(write(comm, "reader", 6), 6);
	CHECK_EQ(lseek(comm, 0, SEEK_SET), 0);
	CHECK_EQ(read(comm, line, sizeof(line)), 7);
	CHECK_EQ(memcmp(line, "reader\n", 7), 0);
	CHECK_EQ(read(comm, more, sizeof(more)), 0);
	CHECK_EQ(close(comm), 0);
	return arg;
}

TEST(of_the_kernel)
{
	thread_join(thread_start(read_kernels, NULL));
}

/* --- errors --------------------------------------------------------------- */

static void *make_errors(void *arg)
{
	/* A compiler would warn of plain constants. */
	char *volatile nowhere = (char *)8;
	volatile int no_number = -1;
	struct iovec part = { path, sizeof(path) };
	int ends[2], only;
	char c = 'c';

	CHECK_ERRNO(pread(fd, &c, 1, -1), EINVAL);
	CHECK_ERRNO(pwrite(fd, &c, 1, -2), EINVAL);
	CHECK_ERRNO(preadv(fd, &part, no_number, 0), EINVAL);
	CHECK_EQ(preadv(fd, &part, 0, 0), 0);
	CHECK_ERRNO(pread(fd, nowhere, 1, 0), EFAULT);
	CHECK_ERRNO(pwrite(fd, nowhere, 1, 0), EFAULT);
	CHECK_ERRNO(pread(-1, &c, 1, 0), EBADF);
	CHECK_EQ(pipe(ends), 0);
	CHECK_ERRNO(pread(ends[0], &c, 1, 0), ESPIPE);
	CHECK_ERRNO(pwrite(ends[1], &c, 1, 0), ESPIPE);
	only = open(path, O_WRONLY);
	CHECK_ERRNO(pread(only, &c, 1, 0), EBADF);
	CHECK_EQ(close(only), 0);
	only = open(".", O_RDONLY | O_DIRECTORY);
	CHECK_ERRNO(pread(only, &c, 1, 0), EISDIR);
	CHECK_ERRNO(pread(only, &c, 0, 0), EISDIR);
	CHECK_ERRNO(pwrite(only, &c, 0, 0), EBADF);
	CHECK_EQ(close(only), 0);
	return arg;
}

TEST(errors)
{
	make_file();
	thread_join(thread_start(make_errors, NULL));
}

static _Atomic int nr_too_large;

static void on_too_large(int sig)
{
	nr_too_large++;
}

static void *exceed(void *arg)
{
	char *block = aligned_alloc(BLOCK, BLOCK);

	fill(block, 0);
	CHECK_ERRNO(pwrite(fd, block, BLOCK, 2 * END / BLOCK * BLOCK), EFBIG);
	free(block);
	return arg;
}

/* The SIGXFSZ goes to the writing thread. */
TEST(above_the_limit)
{
	const struct rlimit limit = { END, END };

	make_file();
	signal(SIGXFSZ, on_too_large);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	thread_join(thread_start(exceed, NULL));
	CHECK_EQ(nr_too_large, 1);
	if (reopen_direct()) {
		thread_join(thread_start(exceed, NULL));
		CHECK_EQ(nr_too_large, 2);
	}
}

/* --- handlers ------------------------------------------------------------- */

static _Atomic int nr_handled;

static void on_signal(int sig)
{
	nr_handled++;
}

/* Reads of disks are never interrupted, SA_RESTART or not. */
TEST(handlers_do_not_end_it)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t thread;

	make_file();
	reopen_direct();
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	thread = thread_start(read_blocks, NULL);
	for (int i = 0; i < 50; i++) {
		if (pthread_kill(thread, SIGUSR1) != 0)
			break;
		usleep(100);
	}
	thread_join(thread);
	CHECK(nr_handled > 0);
}

static void *read_cancelled(void *arg)
{
	char c;

	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	pread(fd, &c, 1, 0);
	CHECK(false);
	return arg;
}

TEST(cancellation_point)
{
	make_file();
	CHECK(thread_join(thread_start(read_cancelled, NULL)) ==
	      PTHREAD_CANCELED);
}
