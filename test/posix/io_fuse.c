/*
 * A file system that answers when it likes: a server in another process, by
 * the kernel's FUSE protocol. Each request waits for a byte in a pipe, which
 * another thread of this program writes only when all threads are waiting: who
 * is held up by somebody else's call is held up for ever.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fuse.h"
#include "threading.h"

enum { NR_THREADS = 8, BLOCK = 4096 };

static int gate[2]; /* a byte for each request that is to be answered */
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

static void serve_for_ever(void)
{
	static struct fuse_request r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (read(fuse_device, &r, sizeof(r)) > 0)
			serve(&r);
		else if (errno != EINTR && errno != EAGAIN && errno != ENOENT)
			_exit(0);
	}
}

static void start_server(void)
{
	fuse_mount();
	CHECK_EQ(pipe(gate), 0);
	for (int i = 0; i < FUSE_FILE_BYTES; i++)
		content[i] = (char)(i / BLOCK + i % 249);
	if (fork() == 0)
		serve_for_ever();
	CHECK_EQ(close(fuse_device), 0);
}

/* --- the program --------------------------------------------------------- */

static void open_gate(int nr)
{
	while (nr-- > 0)
		CHECK_EQ(write(gate[1], "g", 1), 1);
}

static int file;

/* Before there are threads: whoever starts them must not wait for it. */
static void open_file(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/file", fuse_folder);
	open_gate(1);
	file = open(path, O_RDWR);
	CHECK(file >= 0);
}

/* How many can wait at once is the kernel's and weft's; main is not held up. */
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
