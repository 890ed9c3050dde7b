/* SPDX-License-Identifier: MIT */
/*
 * Namespaces for a process that has had threads; and its thread count, which
 * sandboxes read.
 */
#include "unshare.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "child.h"

/* --- namespaces ----------------------------------------------------------- */

static void may_enter(void)
{
	_exit(unshare_alone(CLONE_NEWUSER) == 0 ? 0 : errno);
}

static void need_user_namespaces(void)
{
	if (child_exit_status(may_enter) != 0)
		SKIP("the kernel refuses user namespaces");
}

static void map_user(void)
{
	char text[64];
	int uid = (int)getuid(), fd, len;

	unshare_after_threads(3);
	CHECK_EQ(unshare_alone(CLONE_NEWUSER), 0);
	fd = open("/proc/self/uid_map", O_WRONLY);
	CHECK(fd >= 0);
	len = snprintf(text, sizeof(text), "0 %d 1", uid);
	CHECK_EQ(write(fd, text, (size_t)len), len);
	close(fd);
	CHECK_EQ(getuid(), 0);
	unshare_after_threads(3);
}

TEST(the_user_map_can_be_written)
{
	need_user_namespaces();
	CHECK_EQ(child_exit_status(map_user), 0);
}

static int ready[2], done[2];

static void stay_inside(void)
{
	char byte = 0;

	CHECK_EQ(unshare_alone(CLONE_NEWUSER | CLONE_NEWNS), 0);
	CHECK_EQ(write(ready[1], &byte, 1), 1);
	CHECK_EQ(read(done[0], &byte, 1), 1);
}

static int enter(pid_t pid, const char *which, int type)
{
	char path[64];
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, which);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	rc = setns(fd, type) == 0 ? 0 : errno;
	close(fd);
	return rc;
}

static bool has_threads_first;

static void enter_child(void)
{
	pid_t pid;
	char byte = 0;
	int rc;

	CHECK_EQ(pipe(ready), 0);
	CHECK_EQ(pipe(done), 0);
	pid = child_start(stay_inside);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	if (has_threads_first)
		unshare_after_threads(3);
	rc = enter(pid, "user", CLONE_NEWUSER);
	if (rc == 0 && has_threads_first)
		unshare_after_threads(3);
	if (rc == 0)
		rc = enter(pid, "mnt", CLONE_NEWNS);
	if (rc == 0 && has_threads_first)
		unshare_after_threads(3);
	CHECK_EQ(write(done[1], &byte, 1), 1);
	CHECK_EQ(child_wait(pid), 0);
	_exit(rc);
}

TEST(namespaces_of_a_child)
{
	int expected;

	need_user_namespaces();
	has_threads_first = false;
	expected = child_exit_status(enter_child);
	has_threads_first = true;
	CHECK_EQ(child_exit_status(enter_child), expected);
}

static void own_mounts(void)
{
	if (has_threads_first)
		unshare_after_threads(3);
	_exit(enter(getpid(), "mnt", CLONE_NEWNS));
}

TEST(the_own_mount_namespace)
{
	int expected;

	has_threads_first = false;
	expected = child_exit_status(own_mounts);
	has_threads_first = true;
	CHECK_EQ(child_exit_status(own_mounts), expected);
}

/* The process stays in its old PID namespace, and so cannot make threads. */
static void new_pids(void)
{
	pthread_t thread;

	unshare_after_threads(3);
	CHECK_EQ(unshare_alone(CLONE_NEWUSER | CLONE_NEWPID), 0);
	CHECK_EQ(pthread_create(&thread, NULL, thread_nothing, NULL), EINVAL);
	CHECK_EQ(pthread_mutex_lock(&unshare_mutex), 0);
	CHECK_EQ(pthread_mutex_unlock(&unshare_mutex), 0);
	if (fork() == 0) {
		CHECK_EQ(getpid(), 1);
		unshare_after_threads(3);
		_exit(3);
	}
	{
		int status;

		CHECK(wait(&status) > 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	}
}

TEST(a_child_in_new_pids_has_threads)
{
	need_user_namespaces();
	CHECK_EQ(child_exit_status(new_pids), 0);
}

/* --- how many threads others see ------------------------------------------ */

static long links_of_task(int how)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statx sx = { 0 };
	struct stat st = { 0 };
	int rc = -1;

	CHECK(proc >= 0);
	if (how == 0)
		rc = stat("/proc/self/task", &st);
	if (how == 1)
		rc = lstat("/proc/self/task/", &st);
	if (how == 2)
		rc = fstatat(proc, "self/task/", &st, 0);
	if (how == 3)
		rc = (int)syscall(SYS_newfstatat, proc, "self/task", &st, 0);
	if (how == 4)
		rc = (int)syscall(SYS_stat, "/proc/self/task", &st);
	if (how == 5)
		rc = statx(proc, "self/task", 0, STATX_NLINK, &sx);
	if (how == 6)
		rc = (int)syscall(SYS_statx, proc, "self/task", 0, STATX_NLINK,
				  &sx);
	close(proc);
	CHECK_EQ(rc, 0);
	return how < 5 ? (long)st.st_nlink : (long)sx.stx_nlink;
}

TEST(the_list_of_threads_has_one_entry)
{
	for (int how = 0; how < 7; how++) {
		int nr_tries = 0;

		unshare_after_threads(2);
		while (links_of_task(how) != 3 &&
		       unshare_tries_again(&nr_tries))
			continue;
		CHECK_EQ(links_of_task(how), 3);
	}
}

static int count_in_status(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY), nr = 0;
	ssize_t len;
	char *at;

	CHECK(fd >= 0);
	len = read(fd, text, sizeof(text) - 1);
	CHECK(len > 0);
	text[len] = '\0';
	close(fd);
	at = strstr(text, "\nThreads:");
	CHECK(at != NULL && sscanf(at, " Threads: %d", &nr) == 1);
	return nr;
}

TEST(the_status_has_one_thread)
{
	for (int i = 0; i < 3; i++) {
		int nr_tries = 0;

		unshare_after_threads(2);
		while (count_in_status() != 1 && unshare_tries_again(&nr_tries))
			continue;
		CHECK_EQ(count_in_status(), 1);
	}
}
