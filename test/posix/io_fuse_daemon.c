/* SPDX-License-Identifier: MIT */
/*
 * A FUSE daemon: threads that do nothing but read requests from a device and
 * answer them, while another process uses the file system.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "fuse.h"
#include "threading.h"

enum { NR_THREADS = 3, NR_LOOKS = 300 };

static _Atomic int nr_served;

/* Each access is a request: the server says that its answers expire at once. */
static void use_files(void)
{
	char path[64];
	struct stat st;

	close(fuse_device);
	for (int i = 0; i < NR_LOOKS; i++) {
		snprintf(path, sizeof(path), "%s/file%d", fuse_folder, i);
		if (stat(path, &st) < 0 || st.st_size != FUSE_FILE_BYTES)
			_exit(1);
	}
	_exit(0);
}

static void *serve(void *arg)
{
	static struct fuse_request requests[NR_THREADS];
	struct fuse_request *r = &requests[(intptr_t)arg];
	ssize_t n;

	for (;;) {
		n = read(fuse_device, r, sizeof(*r));
		if (n > 0) {
			fuse_serve(r);
			nr_served++;
		} else if (errno == ENODEV) {
			return NULL;
		} else {
			CHECK(errno == EINTR || errno == ENOENT);
		}
	}
}

static uint64_t nr_parks(void)
{
	struct weft_stats stats;

	weft_stats(&stats, sizeof(stats));
	return stats.parks;
}

/*
 * If an I/O worker made each read, the exchange would take twice the CPU time
 * of the rest. So such threads are bound soon.
 */
TEST(readers_of_a_device)
{
	pthread_t threads[NR_THREADS];
	int status;
	pid_t pid;

	fuse_mount();
	pid = fork();
	if (pid == 0)
		use_files();
	threads_start_numbered(threads, NR_THREADS, serve);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	fuse_unmount();
	threads_join(threads, NR_THREADS);
	CHECK(nr_served >= NR_LOOKS);
	CHECK(nr_parks() < NR_LOOKS / 2);
}
