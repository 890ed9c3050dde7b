/* SPDX-License-Identifier: MIT */
/*
 * Threads that read and write a slow file at its own position, or sync it to
 * its disk. Some do nothing else, others also wait for other things.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <weft/weft.h>

#include "fuse.h"
#include "threading.h"

enum { NR_CALLS = 64, BLOCK = 4096, NR_BUNCHES = 10, BUNCH = 5 };

/* --- the server ---------------------------------------------------------- */

static char content[FUSE_FILE_BYTES];

static void serve(const struct fuse_request *r)
{
	struct fuse_write_out written = { .size = r->arg.write.size };

	if (r->head.opcode == FUSE_READ || r->head.opcode == FUSE_WRITE ||
	    r->head.opcode == FUSE_FSYNC)
		sleep_ms(1);
	if (r->head.opcode == FUSE_READ)
		fuse_reply(r, 0, content + r->arg.read.offset,
			   r->arg.read.size);
	else if (r->head.opcode == FUSE_WRITE)
		fuse_reply(r, 0, &written, sizeof(written));
	else if (r->head.opcode == FUSE_FSYNC)
		fuse_reply(r, 0, NULL, 0);
	else
		fuse_serve(r);
}

/* --- the program --------------------------------------------------------- */

static int file;

static int open_file(int flags)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/file", fuse_folder);
	fd = open(path, flags);
	CHECK(fd >= 0);
	return fd;
}

/* No read-ahead: each block that is read or written is one request. */
static void start(int flags)
{
	fuse_mount();
	for (int i = 0; i < FUSE_FILE_BYTES; i++)
		content[i] = (char)(i / BLOCK + i % 249);
	fuse_start_server(serve);
	file = open_file(flags);
	CHECK_EQ(posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM), 0);
}

static void *read_all(void *pause_ms)
{
	char block[BLOCK];

	for (int i = 0; i < NR_CALLS; i++) {
		CHECK_EQ(read(file, block, BLOCK), BLOCK);
		CHECK(memcmp(block, content + i * BLOCK, BLOCK) == 0);
		if ((intptr_t)pause_ms > 0)
			sleep_ms((intptr_t)pause_ms);
	}
	return NULL;
}

static void *write_all(void *arg)
{
	static char block[BLOCK];

	for (int i = 0; i < NR_CALLS; i++)
		CHECK_EQ(write(file, block, BLOCK), BLOCK);
	return arg;
}

/* Each sync is of another file, with calls in between that do not wait. */
static void *sync_all(void *pause_ms)
{
	FILE *quick = tmpfile();
	int again = open_file(O_RDWR);

	CHECK(quick != NULL);
	for (int i = 0; i < 2 * NR_CALLS; i++) {
		CHECK_EQ(fsync(i % 2 == 0 ? file : again), 0);
		CHECK_EQ(fdatasync(fileno(quick)), 0);
		if ((intptr_t)pause_ms > 0)
			sleep_ms((intptr_t)pause_ms);
	}
	close(again);
	fclose(quick);
	return NULL;
}

/* Syncs in bunches, as commits of a database do. */
static void *sync_in_bunches(void *arg)
{
	for (int i = 0; i < NR_BUNCHES; i++) {
		for (int n = 0; n < BUNCH; n++)
			CHECK_EQ(fsync(file), 0);
		for (int n = 0; n < BUNCH; n++)
			sleep_ms(1);
	}
	return arg;
}

static uint64_t parks_of(void *(*run)(void *), intptr_t pause_ms)
{
	struct weft_stats before, after;

	weft_stats(&before, sizeof(before));
	thread_join(thread_start(run, (void *)pause_ms));
	weft_stats(&after, sizeof(after));
	return after.parks - before.parks;
}

/* Whether `--io process` makes the calls; it binds no thread. */
static bool has_processes(void)
{
	const char *io = getenv("WEFT_IO");

	return io != NULL && strcmp(io, "process") == 0;
}

/* A thread that only reads is bound soon: an I/O worker would be no better. */
TEST(reads_alone_bind)
{
	start(O_RDONLY);
	CHECK(has_processes() || parks_of(read_all, 0) < NR_CALLS / 2);
	fuse_unmount();
}

TEST(writes_alone_bind)
{
	start(O_WRONLY | O_DSYNC);
	CHECK(has_processes() || parks_of(write_all, 0) < NR_CALLS / 2);
	fuse_unmount();
}

TEST(syncs_alone_bind)
{
	start(O_RDWR);
	CHECK(has_processes() || parks_of(sync_all, 0) < NR_CALLS);
	fuse_unmount();
}

TEST(syncs_beside_other_waits_park)
{
	start(O_RDWR);
	CHECK(!weft_is_active() || parks_of(sync_all, 1) > 3 * NR_CALLS);
	fuse_unmount();
}

TEST(syncs_in_bunches_bind)
{
	const uint64_t nr_waits = 2 * NR_BUNCHES * BUNCH;

	start(O_RDWR);
	CHECK(!weft_is_active() ||
	      parks_of(sync_in_bunches, 0) > nr_waits * 3 / 4);
	fuse_unmount();
}

/* This thread also pauses, so it parks for each read and each pause. */
TEST(reads_beside_other_waits_park)
{
	start(O_RDONLY);
	CHECK(!weft_is_active() || parks_of(read_all, 1) > NR_CALLS * 3 / 2);
	fuse_unmount();
}
