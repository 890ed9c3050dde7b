/* SPDX-License-Identifier: MIT */
/*
 * A file system with one file, as far away as a server in a network: each
 * request takes a latency and the time of its bytes. The file is in memory.
 *
 *     bench_ptl_n_slowfs LATENCY_US BYTES_PER_US FILE_MIB -f -s MOUNT_POINT
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse3/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { OWN_ARGS = 3, MOST_BYTES = 1 << 20 };

static const char file_path[] = "/file";
static long latency_us, bytes_per_us;
static size_t total;
static char *content;

static void take_time(size_t bytes)
{
	long us = latency_us + (long)bytes / bytes_per_us;
	const struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

static void *init(struct fuse_conn_info *connection, struct fuse_config *config)
{
	const double ever = 1e6;

	connection->max_write = MOST_BYTES;
	config->kernel_cache = 1;
	config->attr_timeout = config->entry_timeout = ever;
	return NULL;
}

static int get_attributes(const char *path, struct stat *st,
			  struct fuse_file_info *info)
{
	memset(st, 0, sizeof(*st));
	if (strcmp(path, "/") == 0) {
		st->st_mode = S_IFDIR | 0755;
		st->st_nlink = 2;
		return 0;
	}
	if (strcmp(path, file_path) != 0)
		return -ENOENT;
	st->st_mode = S_IFREG | 0644;
	st->st_nlink = 1;
	st->st_size = (off_t)total;
	return 0;
}

static int open_file(const char *path, struct fuse_file_info *info)
{
	return strcmp(path, file_path) == 0 ? 0 : -ENOENT;
}

/* Returns how many of these bytes lie within the file. */
static int within(size_t bytes, off_t from)
{
	if ((size_t)from >= total)
		return 0;
	return (int)(bytes < total - (size_t)from ? bytes :
						    total - (size_t)from);
}

static int read_file(const char *path, char *to, size_t bytes, off_t from,
		     struct fuse_file_info *info)
{
	int n = within(bytes, from);

	take_time((size_t)n);
	memcpy(to, content + from, (size_t)n);
	return n;
}

static int write_file(const char *path, const char *from, size_t bytes,
		      off_t to, struct fuse_file_info *info)
{
	int n = within(bytes, to);

	take_time((size_t)n);
	memcpy(content + to, from, (size_t)n);
	return n > 0 ? n : -ENOSPC;
}

static int sync_file(const char *path, int only_data,
		     struct fuse_file_info *info)
{
	return 0;
}

static const struct fuse_operations operations = {
	.init = init,
	.getattr = get_attributes,
	.open = open_file,
	.read = read_file,
	.write = write_file,
	.fsync = sync_file,
};

int main(int argc, char **argv)
{
	if (argc < 1 + OWN_ARGS + 1) {
		fprintf(stderr, "usage: slowfs LATENCY_US BYTES_PER_US "
				"FILE_MIB -f -s MOUNT_POINT\n");
		return 2;
	}
	latency_us = atol(argv[1]);
	bytes_per_us = atol(argv[2]);
	total = strtoul(argv[3], NULL, 10) << 20;
	content = calloc(1, total);
	if (content == NULL || bytes_per_us <= 0) {
		fprintf(stderr, "no room or no bandwidth\n");
		return 1;
	}
	argv[OWN_ARGS] = argv[0];
	return fuse_main(argc - OWN_ARGS, argv + OWN_ARGS, &operations, NULL);
}
