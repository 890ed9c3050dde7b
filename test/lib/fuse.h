/* SPDX-License-Identifier: MIT */
/*
 * A file system of the test's own, by the kernel's FUSE protocol: any name is a
 * file of FUSE_FILE_BYTES.
 *
 *     fuse_mount();
 *     while (read(fuse_device, &r, sizeof(r)) > 0)
 *             fuse_serve(&r);
 *     fuse_unmount();
 */
#ifndef FUSE_H
#define FUSE_H

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

enum { FUSE_FILE_BYTES = 1 << 20 };

struct fuse_request {
	struct fuse_in_header head;
	union {
		struct fuse_read_in read;
		struct fuse_write_in write;
		char room[128 << 10];
	} arg;
};

static char fuse_folder[] = "/tmp/weft-fuse-XXXXXX";
static int fuse_device;

static inline void fuse_reply(const struct fuse_request *r, int error,
			      const void *data, size_t bytes)
{
	struct fuse_out_header head = {
		.len = (uint32_t)(sizeof(head) + bytes),
		.error = -error,
		.unique = r->head.unique,
	};
	struct iovec parts[2] = { { &head, sizeof(head) },
				  { (void *)data, bytes } };

	/* ENOENT: the request was interrupted and needs no answer. */
	if (writev(fuse_device, parts, 2) < 0 && errno != ENOENT)
		_exit(1);
}

static inline struct fuse_attr fuse_attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = FUSE_FILE_BYTES,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644,
		.nlink = 1,
	};
}

static inline void fuse_reply_to_init(const struct fuse_request *r)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = 31,
		.max_write = 64 << 10,
		.max_background = 64,
	};

	fuse_reply(r, 0, &out, sizeof(out));
}

/* Any name is a file, and all files have the same bytes. */
static inline void fuse_reply_to_lookup(const struct fuse_request *r)
{
	struct fuse_entry_out out = { .nodeid = 2, .attr = fuse_attr_of(2) };

	fuse_reply(r, 0, &out, sizeof(out));
}

static inline void fuse_reply_to_getattr(const struct fuse_request *r)
{
	struct fuse_attr_out out = { .attr = fuse_attr_of(r->head.nodeid) };

	fuse_reply(r, 0, &out, sizeof(out));
}

static inline void fuse_reply_to_open(const struct fuse_request *r)
{
	struct fuse_open_out out = { .open_flags = FOPEN_DIRECT_IO };

	fuse_reply(r, 0, &out, sizeof(out));
}

/* Answers the requests that need no content of a file. */
static inline void fuse_serve(const struct fuse_request *r)
{
	switch (r->head.opcode) {
	case FUSE_INIT:
		fuse_reply_to_init(r);
		break;
	case FUSE_LOOKUP:
		fuse_reply_to_lookup(r);
		break;
	case FUSE_GETATTR:
		fuse_reply_to_getattr(r);
		break;
	case FUSE_OPEN:
		fuse_reply_to_open(r);
		break;
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
		fuse_reply(r, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		fuse_reply(r, ENOSYS, NULL, 0);
	}
}

/*
 * Starts a process that calls `serve` for each request until this process ends.
 */
static inline void fuse_start_server(void (*serve)(const struct fuse_request *))
{
	static struct fuse_request r;

	if (fork() > 0) {
		CHECK_EQ(close(fuse_device), 0);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (read(fuse_device, &r, sizeof(r)) > 0)
			serve(&r);
		else if (errno != EINTR && errno != EAGAIN && errno != ENOENT)
			_exit(0);
	}
}

/* Mounts in a mount namespace of its own, which ends with the process. */
static inline void fuse_mount(void)
{
	char options[64];

	fuse_device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse_device < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		SKIP("file systems cannot be mounted");
	CHECK(mkdtemp(fuse_folder) != NULL);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse_device);
	if (mount("weft", fuse_folder, "fuse", 0, options) < 0) {
		rmdir(fuse_folder);
		SKIP("no FUSE");
	}
}

static inline void fuse_unmount(void)
{
	CHECK_EQ(umount2(fuse_folder, MNT_DETACH), 0);
	CHECK_EQ(rmdir(fuse_folder), 0);
}

#endif
