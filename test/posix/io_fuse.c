/* SPDX-License-Identifier: MIT */
/*
 * A file system with delayed answers: a server in another process, by the
 * kernel's FUSE protocol. Each request waits for a byte in a pipe. Another
 * thread of this program writes the byte only when all threads are waiting, so
 * a thread that another thread's call blocks never runs again.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuse.h"
#include "kernel.h"
#include "threading.h"

enum { NR_THREADS = 8, BLOCK = 4096 };

static int gate[2]; /* one byte for each request that may be answered */
static _Atomic int nr_begun;

/* --- the server ---------------------------------------------------------- */

static char content[FUSE_FILE_BYTES];

static void reply_to_write(const struct fuse_request *r)
{
	const struct fuse_write_in *in = &r->arg.write;
	struct fuse_write_out out = { .size = in->size };

	memcpy(content + in->offset, in + 1, in->size);
	fuse_reply(r, 0, &out, sizeof(out));
}

static void wait_at_gate(void)
{
	char c;

	while (read(gate[0], &c, 1) != 1)
		;
}

static void serve(const struct fuse_request *r)
{
	uint32_t what = r->head.opcode;

	if (what == FUSE_OPEN || what == FUSE_READ || what == FUSE_WRITE ||
	    what == FUSE_FSYNC)
		wait_at_gate();
	if (what == FUSE_READ)
		fuse_reply(r, 0, content + r->arg.read.offset,
			   r->arg.read.size);
	else if (what == FUSE_WRITE)
		reply_to_write(r);
	else
		fuse_serve(r);
}

static void start_server(void)
{
	fuse_mount();
	CHECK_EQ(pipe(gate), 0);
	for (int i = 0; i < FUSE_FILE_BYTES; i++)
		content[i] = (char)(i / BLOCK + i % 249);
	fuse_start_server(serve);
}

/* --- the program --------------------------------------------------------- */

static void open_gate(int nr)
{
	while (nr-- > 0)
		CHECK_EQ(write(gate[1], "g", 1), 1);
}

static int file;

/*
 * Opens before there are threads: the thread that starts them must not wait for
 * this file.
 */
static void open_file(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/file", fuse_folder);
	open_gate(1);
	file = open(path, O_RDWR);
	CHECK(file >= 0);
}

/*
 * The number of concurrent waits depends on the kernel and weft, but main must
 * not be delayed.
 */
static void run_threads(void *(*start)(void *), int nr_requests)
{
	pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, start);
	await_count(&nr_begun, NR_THREADS);
	open_gate(NR_THREADS * nr_requests);
	threads_join(threads, NR_THREADS);
}

static void *read_block(void *arg)
{
	intptr_t i = (intptr_t)arg;
	char block[BLOCK];

	nr_begun++;
	CHECK_EQ(pread(file, block, BLOCK, i * BLOCK), BLOCK);
	CHECK(memcmp(block, content + i * BLOCK, BLOCK) == 0);
	return NULL;
}

TEST(reads_wait_for_the_server)
{
	start_server();
	open_file();
	run_threads(read_block, 1);
	fuse_unmount();
}

static void *write_and_sync(void *arg)
{
	intptr_t i = (intptr_t)arg;
	char block[BLOCK], back[BLOCK];

	memset(block, 'a' + (int)i, BLOCK);
	nr_begun++;
	CHECK_EQ(pwrite(file, block, BLOCK, i * BLOCK), BLOCK);
	CHECK_EQ(fsync(file), 0);
	CHECK_EQ(pread(file, back, BLOCK, i * BLOCK), BLOCK);
	CHECK(memcmp(block, back, BLOCK) == 0);
	return NULL;
}

TEST(writes_wait_for_the_server)
{
	start_server();
	open_file();
	run_threads(write_and_sync, 3);
	fuse_unmount();
}

static void *open_and_read(void *arg)
{
	intptr_t i = (intptr_t)arg;
	char path[64], block[BLOCK];
	int fd;

	snprintf(path, sizeof(path), "%s/file%d", fuse_folder, (int)i);
	nr_begun++;
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	CHECK_EQ(read(fd, block, BLOCK), BLOCK);
	CHECK(memcmp(block, content, BLOCK) == 0);
	CHECK_EQ(read(fd, block, BLOCK), BLOCK);
	CHECK(memcmp(block, content + BLOCK, BLOCK) == 0);
	CHECK_EQ(close(fd), 0);
	return NULL;
}

TEST(opens_wait_for_the_server)
{
	start_server();
	run_threads(open_and_read, 3);
	fuse_unmount();
}

static void *touch_page(void *arg)
{
	const char *page = mmap(NULL, BLOCK, PROT_READ, MAP_PRIVATE, file, 0);

	CHECK(page != MAP_FAILED);
	nr_begun++;
	CHECK_EQ(page[1], content[1]);
	return arg;
}

static int ends[2];

static void *answer(void *arg)
{
	char c;

	while (recv(ends[0], &c, 1, 0) == 1)
		CHECK_EQ(send(ends[0], &c, 1, 0), 1);
	return arg;
}

/*
 * The thread waits in a page fault, not in a call. A signal may interrupt it
 * once at most.
 */
TEST(pages_wait_for_the_server)
{
	enum { NR_ROUNDS = 4, MOST_READS = 64 };
	pthread_t answering, touching;
	char c;

	if (kernel_is_before(6, 14))
		SKIP("a thread in a page fault delays others: limits.md");
	start_server();
	open_file();
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	answering = thread_start(answer, NULL);
	await_rest();
	touching = thread_start(touch_page, NULL);
	await_count(&nr_begun, 1);
	for (int i = 0; i < NR_ROUNDS; i++) {
		sleep_ms(10);
		CHECK_EQ(send(ends[1], "q", 1, 0), 1);
		CHECK_EQ(recv(ends[1], &c, 1, 0), 1);
	}
	open_gate(MOST_READS);
	thread_join(touching);
	CHECK_EQ(shutdown(ends[1], SHUT_WR), 0);
	thread_join(answering);
	fuse_unmount();
}
