/* SPDX-License-Identifier: MIT */
/* src/io/call/open.c: which opens a worker makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/options.h"
#include "io/backend/call.h"
#include "io/backend/request.h"
#include "io/call/open.h"
#include "sched/thread.h"

/* --- fakes --------------------------------------------------------------- */

static struct wf_thread me;
__thread struct wf_thread *wf_self = &me;

static int64_t worker_ns; /* the duration of a worker's open */
static bool was_own;

int wf_request_run(struct wf_request *r, int64_t deadline_ns)
{
	struct wf_call *c = (struct wf_call *)r->addr;
	int n = (int)wf_call_make(c);

	assert_int_equal(c->nr, SYS_openat);
	c->ns = worker_ns;
	was_own = c->is_own;
	return n;
}

/* --- opens --------------------------------------------------------------- */

static char folder[] = "/tmp/weft-unit-XXXXXX";
static char file[64], fifo[64];

/*
 * Opens, with a long or short duration. Returns whether a worker makes the
 * open.
 */
static bool is_served(int dirfd, const char *path, int flags, bool is_long)
{
	struct wf_open o = wf_open_of(dirfd, path, flags, 0600);
	bool waits = wf_open_may_wait(&o);
	int fd;

	worker_ns = is_long ? WF_NS_PER_MS : 0;
	if (waits) {
		fd = (int)wf_open_wait(&o);
	} else {
		fd = openat(dirfd, path, flags, 0600);
		/*
		 * Sets the begin so that the open was long or short by the real
		 * clock.
		 */
		o.begin_ns =
			wf_os_now() + (is_long ? -WF_NS_PER_S : WF_NS_PER_S);
		wf_open_made(&o, fd);
	}
	if (fd >= 0)
		close(fd);
	return waits;
}

static bool reads(const char *path, bool is_long)
{
	return is_served(AT_FDCWD, path, O_RDONLY, is_long);
}

/* Makes quick opens until nothing is known of the path. */
static void forget(const char *path)
{
	for (int i = 0; i < 3; i++)
		reads(path, false);
	assert_int_equal(wf_path_latency_nr, 0);
}

static int make_files(void **state)
{
	int fd;

	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	fd = creat(file, 0600);
	return fd < 0 || close(fd) < 0 || mkfifo(fifo, 0600) < 0 ||
			       chdir(folder) < 0 ?
		       -1 :
		       0;
}

static int remove_files(void **state)
{
	unlink(file);
	unlink(fifo);
	return rmdir(folder);
}

/* --- tests --------------------------------------------------------------- */

static void quick_opens(void **state)
{
	for (int i = 0; i < 10; i++)
		assert_false(reads(file, false));
	assert_int_equal(wf_path_latency_nr, 0);
}

static void two_that_took_long(void **state)
{
	assert_false(reads(file, true));
	assert_false(reads(file, true));
	assert_true(reads(file, true));
	/*
	 * A slow file makes its file system's other files slow, by absolute
	 * paths only.
	 */
	assert_true(reads("/tmp/.", true));
	assert_false(reads("file", false));
	assert_true(reads(file, false));
	assert_false(reads(file, false));
	forget(file);
}

static void one_now_and_then(void **state)
{
	for (int i = 0; i < 10; i++) {
		assert_false(reads(file, true));
		assert_false(reads(file, false));
	}
	assert_int_equal(wf_path_latency_nr, 0);
}

/* Relative names, and names below an open directory. */
static void below_a_directory(void **state)
{
	int dirfd = open(folder, O_RDONLY | O_DIRECTORY);

	assert_true(dirfd >= 0);
	assert_false(reads("file", true));
	assert_false(reads("./file", true));
	assert_true(reads("file", true));
	assert_false(is_served(dirfd, "file", O_RDONLY, false));
	forget("file");
	assert_false(is_served(dirfd, "file", O_RDONLY, true));
	assert_false(is_served(dirfd, "file", O_RDONLY, true));
	assert_true(is_served(dirfd, "file", O_RDONLY, false));
	assert_false(is_served(dirfd, "file", O_RDONLY, false));
	assert_int_equal(wf_path_latency_nr, 0);
	close(dirfd);
}

static void failures_teach_nothing(void **state)
{
	for (int i = 0; i < 3; i++)
		assert_false(reads("/tmp/weft-unit-none/such", true));
	assert_int_equal(wf_path_latency_nr, 0);
}

static void opens_without_a_path(void **state)
{
	struct wf_open o = wf_open_of(AT_FDCWD, NULL, O_RDONLY, 0);

	assert_false(reads(file, true));
	assert_false(wf_open_may_wait(&o));
	forget(file);
}

/* The first open took long because it waited for the other side. */
static void fifos(void **state)
{
	int both = open(fifo, O_RDWR);

	assert_true(both >= 0);
	assert_false(reads(fifo, true));
	for (int i = 0; i < 3; i++)
		assert_true(reads(fifo, false));
	assert_true(was_own);
	assert_false(reads(file, false));
	assert_false(is_served(AT_FDCWD, fifo, O_RDWR, true));
	assert_false(is_served(AT_FDCWD, fifo, O_RDONLY | O_NONBLOCK, true));
	assert_true(is_served(AT_FDCWD, fifo, O_WRONLY, true));
	close(both);
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(symlink(file, fifo), 0);
	assert_true(reads(fifo, false));
	assert_false(reads(fifo, false));
	assert_int_equal(wf_path_latency_nr, 0);
}

/*
 * In a worker process the FIFO would be opened twice, and the other side would
 * meet the worker.
 */
static void fifo_on_a_slow_file_system(void **state)
{
	int both = open(fifo, O_RDWR);

	assert_true(both >= 0);
	wf_options.io = WF_IO_PROCESS;
	assert_false(reads(file, true));
	assert_false(reads(file, true));
	assert_true(reads(file, true));
	assert_false(was_own);
	assert_true(reads(fifo, true));
	assert_true(was_own);
	assert_true(is_served(AT_FDCWD, fifo, O_RDWR, true));
	assert_false(was_own);
	wf_options.io = WF_IO_URING;
	close(both);
	forget(file);
}

/* /proc/self names a FIFO that another process does not have. */
static void names_of_the_process(void **state)
{
	int ends[2];
	char path[32];

	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	assert_false(reads(path, true));
	assert_true(reads(path, true));
	assert_true(was_own);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quick_opens),
		cmocka_unit_test(two_that_took_long),
		cmocka_unit_test(one_now_and_then),
		cmocka_unit_test(below_a_directory),
		cmocka_unit_test(failures_teach_nothing),
		cmocka_unit_test(opens_without_a_path),
		cmocka_unit_test(fifo_on_a_slow_file_system),
		cmocka_unit_test(fifos),
		cmocka_unit_test(names_of_the_process),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
