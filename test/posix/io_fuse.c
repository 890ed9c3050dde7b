/*
 * A file system that answers when it likes: a server in another process, by
 * the kernel's FUSE protocol. Each request waits for a byte in a pipe, which
 * another thread of this program writes only when all threads are waiting: who
 * is held up by somebody else's call is held up for ever.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_THREADS = 8, FILE_BYTES = 1 << 20, BLOCK = 4096 };

static char folder[] = "/tmp/weft-fuse-XXXXXX";
static int gate[2]; /* a byte for each request that is to be answered */
static _Atomic int nr_begun;

/* --- the server ---------------------------------------------------------- */

struct request {
	struct fuse_in_header head;
	union {
		struct fuse_read_in read;
		struct fuse_write_in write;
		char room[128 << 10];
	} arg;
};

static int device;
static char content[FILE_BYTES];

static void reply(const struct request *r, int error, const void *data,
		  size_t bytes)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + bytes),
		.error = -error,
		.unique = r->head.unique,
	};
	struct iovec parts[2] = { { &head, sizeof(head) },
				  { (void *)data, bytes } };

	/* ENOENT: nobody wants the answer any more. */
	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		_exit(1);
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = FILE_BYTES,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644,
		.nlink = 1,
	};
}

static void reply_to_init(const struct request *r)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_write = 64 << 10,
		.max_background = 64,
	};

	reply(r, 0, &out, sizeof(out));
}

/* Any name is a file; all have the same bytes. */
static void reply_to_lookup(const struct request *r)
{
	struct fuse_entry_out out = { .nodeid = 2, .attr = attr_of(2) };

	reply(r, 0, &out, sizeof(out));
}

static void reply_to_getattr(const struct request *r)
{
	struct fuse_attr_out out = { .attr = attr_of(r->head.nodeid) };

	reply(r, 0, &out, sizeof(out));
}

static void reply_to_open(const struct request *r)
{
	struct fuse_open_out out = { .open_flags = FOPEN_DIRECT_IO };

	reply(r, 0, &out, sizeof(out));
}

static void reply_to_write(const struct request *r)
{
	const struct fuse_write_in *in = &r->arg.write;
	struct fuse_write_out out = { .size = in->size };

	memcpy(content + in->offset, in + 1, in->size);
	reply(r, 0, &out, sizeof(out));
}

static void wait_at_gate(void)
{
	char c;

	while (read(gate[0], &c, 1) != 1)
		;
}

static void serve(const struct request *r)
{
	switch (r->head.opcode) {
	case FUSE_INIT:
		reply_to_init(r);
		break;
	case FUSE_LOOKUP:
		reply_to_lookup(r);
		break;
	case FUSE_GETATTR:
		reply_to_getattr(r);
		break;
	case FUSE_OPEN:
		wait_at_gate();
		reply_to_open(r);
		break;
	case FUSE_READ:
		wait_at_gate();
		reply(r, 0, content + r->arg.read.offset, r->arg.read.size);
		break;
	case FUSE_WRITE:
		wait_at_gate();
		reply_to_write(r);
		break;
	case FUSE_FSYNC:
		wait_at_gate();
		reply(r, 0, NULL, 0);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(r, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(r, ENOSYS, NULL, 0);
	}
}

static void serve_for_ever(void)
{
	static struct request r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (read(device, &r, sizeof(r)) > 0)
			serve(&r);
		else if (errno != EINTR && errno != EAGAIN && errno != ENOENT)
			_exit(0);
	}
}

/* In a name space of its own, which ends with the process. */
static void start_server(void)
{
	char options[64];

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		SKIP("file systems cannot be mounted");
	CHECK(mkdtemp(folder) != NULL);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (mount("weft", folder, "fuse", 0, options) < 0) {
		rmdir(folder);
		SKIP("no FUSE");
	}
	CHECK_EQ(pipe(gate), 0);
	for (int i = 0; i < FILE_BYTES; i++)
		content[i] = (char)(i / BLOCK + i % 249);
	if (fork() == 0)
		serve_for_ever();
	CHECK_EQ(close(device), 0);
}

static void end_server(void)
{
	CHECK_EQ(umount2(folder, MNT_DETACH), 0);
	CHECK_EQ(rmdir(folder), 0);
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

	snprintf(path, sizeof(path), "%s/file", folder);
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
	end_server();
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
	end_server();
}

static void *open_and_read(void *arg)
{
	intptr_t i = (intptr_t)arg;
	char path[64], block[BLOCK];
	int fd;

	snprintf(path, sizeof(path), "%s/file%d", folder, (int)i);
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
	end_server();
}
