/* SPDX-License-Identifier: MIT */
/*
 * Opens of FIFOs that wait for the other end: a waiting thread keeps no other
 * thread from running; the events that end the waits; their results. Each case
 * first waits for its FIFO once, so that weft knows the FIFO.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "waiting.h"

enum { NR_READERS = 40, NR_MEETINGS = 100 };

static char folder[] = "/tmp/weft-open-XXXXXX";
static char path[64], second[64];
static int other = -1; /* the other side, if the case holds it open */
static _Atomic int nr_waiting, nr_done, nr_closed;

static void remove_all(void)
{
	unlink(path);
	unlink(second);
	rmdir(folder);
}

static void *open_reader(void *arg)
{
	int fd;

	is_ready = 1;
	nr_waiting++;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		nr_done++;
	return outcome(fd);
}

/*
 * Opens both sides of the FIFO, which never waits. From then on no open by a
 * reader waits.
 */
static void open_both_sides(void)
{
	other = open(path, O_RDWR | O_NONBLOCK);
	CHECK(other >= 0);
}

static void close_both_sides(void)
{
	CHECK_EQ(close(other), 0);
}

static void have_it_wait_once(void)
{
	pthread_t thread = thread_start(open_reader, NULL);
	long fd;

	let_it_wait(&is_ready);
	CHECK_EQ(nr_done, 0);
	open_both_sides();
	fd = result_of(thread);
	CHECK(fd >= 0);
	CHECK_EQ(close((int)fd), 0);
	close_both_sides();
	nr_waiting = nr_done = 0;
}

static void make_fifo(void)
{
	CHECK(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	snprintf(second, sizeof(second), "%s/second", folder);
	CHECK_EQ(mkfifo(path, 0600), 0);
	check_at_end(remove_all);
	have_it_wait_once();
}

TEST(many_wait_for_a_writer)
{
	pthread_t threads[NR_READERS];

	make_fifo();
	threads_start(threads, NR_READERS, open_reader, NULL);
	await_count(&nr_waiting, NR_READERS);
	others_go_on();
	CHECK_EQ(nr_done, 0);
	open_both_sides();
	for (int i = 0; i < NR_READERS; i++) {
		long fd = result_of(threads[i]);

		CHECK(fd >= 0);
		CHECK_EQ(fcntl((int)fd, F_GETFD), FD_CLOEXEC);
		CHECK_EQ(fcntl((int)fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK),
			 O_RDONLY);
		CHECK_EQ(close((int)fd), 0);
	}
	close_both_sides();
}

static void *write_numbers(void *arg)
{
	for (int i = 0; i < NR_MEETINGS; i++) {
		int fd = open(path, O_WRONLY);

		CHECK(fd >= 0);
		CHECK_EQ(write(fd, &i, sizeof(i)), sizeof(i));
		CHECK_EQ(close(fd), 0);
		nr_closed++;
		await_count(&nr_done, i + 1);
	}
	return arg;
}

TEST(both_sides_meet_again_and_again)
{
	pthread_t writer;

	make_fifo();
	writer = thread_start(write_numbers, NULL);
	for (int i = 0; i < NR_MEETINGS; i++) {
		int fd = open(path, O_RDONLY), number;

		CHECK(fd >= 0);
		CHECK_EQ(read(fd, &number, sizeof(number)), sizeof(number));
		CHECK_EQ(number, i);
		CHECK_EQ(close(fd), 0);
		/*
		 * Wait for the close, or the next open would meet this
		 * descriptor.
		 */
		await_count(&nr_closed, i + 1);
		nr_done++;
	}
	thread_join(writer);
}

TEST(handlers_end_opens)
{
	long fd;

	make_fifo();
	CHECK_EQ(after_handler(open_reader, 0, open_both_sides), -EINTR);
	close_both_sides();
	fd = after_handler(open_reader, SA_RESTART, open_both_sides);
	CHECK(fd >= 0);
	CHECK_EQ(close((int)fd), 0);
	close_both_sides();
}

static int next_descriptor(void)
{
	int fd = dup(STDIN_FILENO);

	CHECK(fd >= 0);
	CHECK_EQ(close(fd), 0);
	return fd;
}

TEST(cancelled_opens_leave_nothing)
{
	int next;

	make_fifo();
	next = next_descriptor();
	is_cancelled_in(open_reader, NULL);
	CHECK_EQ(next_descriptor(), next);
	CHECK_EQ(nr_done, 0);
}

TEST(flags_that_do_not_wait)
{
	static const int flags[] = { O_RDONLY | O_NONBLOCK, O_RDWR, O_PATH };

	make_fifo();
	CHECK_ERRNO(open(path, O_WRONLY | O_NONBLOCK), ENXIO);
	CHECK_ERRNO(open(path, O_RDONLY | O_DIRECTORY), ENOTDIR);
	CHECK_ERRNO(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600), EEXIST);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		int fd = open(path, flags[i]);

		CHECK(fd >= 0);
		CHECK_EQ(close(fd), 0);
	}
}

TEST(descriptors_run_out)
{
	struct rlimit limit, low;

	make_fifo();
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)next_descriptor();
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	CHECK_ERRNO(open(path, O_RDONLY), EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A file that takes over the FIFO's name is opened as a file. */
TEST(another_file_of_that_name)
{
	struct stat st;
	int fd;

	make_fifo();
	CHECK_EQ(unlink(path), 0);
	CHECK_ERRNO(open(path, O_RDONLY), ENOENT);
	umask(027);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0666);
	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_mode, S_IFREG | 0640);
	CHECK_EQ(close(fd), 0);
	for (int i = 0; i < 3; i++) {
		fd = open(path, O_RDONLY);
		CHECK(fd >= 0);
		CHECK_EQ(close(fd), 0);
	}
}

/* A relative name means another file after a chdir. */
TEST(names_go_by_the_directory)
{
	struct stat st;
	int fd;

	make_fifo();
	CHECK_EQ(chdir(folder), 0);
	strcpy(path, "fifo");
	have_it_wait_once();
	CHECK_EQ(mkdir("second", 0700), 0);
	CHECK_EQ(chdir("second"), 0);
	fd = creat("fifo", 0600);
	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK(S_ISREG(st.st_mode));
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(unlink("fifo"), 0);
	CHECK_EQ(chdir(".."), 0);
	CHECK_EQ(rmdir("second"), 0);
}

static void *read_line(void *arg)
{
	FILE *stream;
	char line[32];

	is_ready = 1;
	stream = fopen(path, "re");
	CHECK(stream != NULL);
	CHECK_EQ(fcntl(fileno(stream), F_GETFD), FD_CLOEXEC);
	CHECK(fgets(line, sizeof(line), stream) != NULL);
	CHECK(strcmp(line, "line\n") == 0);
	CHECK_EQ(fclose(stream), 0);
	return arg;
}

TEST(streams_wait)
{
	pthread_t thread;
	FILE *stream;

	make_fifo();
	is_ready = 0;
	thread = thread_start(read_line, NULL);
	let_it_wait(&is_ready);
	others_go_on();
	stream = fopen(path, "w");
	CHECK(stream != NULL);
	CHECK(fputs("line\n", stream) >= 0);
	CHECK_EQ(fclose(stream), 0);
	thread_join(thread);
	CHECK_EQ(unlink(path), 0);
	CHECK(fopen(path, "r") == NULL && errno == ENOENT);
}
