/* SPDX-License-Identifier: MIT */
/* A process reads the state of its own threads in /proc. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

enum { NR_THREADS = 20, PATH_BYTES = 100 };

static sem_t go;
static _Atomic int nr_known;
static pid_t ids[NR_THREADS];

static void *wait_under_own_name(void *arg)
{
	intptr_t n = (intptr_t)arg;
	char name[16];

	snprintf(name, sizeof(name), "worker %d", (int)n);
	CHECK_EQ(pthread_setname_np(pthread_self(), name), 0);
	ids[n] = gettid();
	nr_known++;
	while (sem_wait(&go) != 0)
		continue;
	return NULL;
}

static void start_workers(pthread_t *threads)
{
	CHECK_EQ(sem_init(&go, 0, 0), 0);
	threads_start_numbered(threads, NR_THREADS, wait_under_own_name);
	await_count(&nr_known, NR_THREADS);
}

static void end_workers(pthread_t *threads)
{
	for (int i = 0; i < NR_THREADS; i++)
		CHECK_EQ(sem_post(&go), 0);
	threads_join(threads, NR_THREADS);
}

/* --- lists ---------------------------------------------------------------- */

/*
 * Returns the number of threads in the list; found[i] says whether it has
 * ids[i].
 */
static int count_tasks(DIR *dir, bool *found)
{
	struct dirent *e;
	int nr = 0;

	CHECK(dir != NULL);
	while ((e = readdir(dir)) != NULL) {
		pid_t id = (pid_t)strtol(e->d_name, NULL, 10);

		if (e->d_name[0] == '.')
			continue;
		nr++;
		for (int i = 0; found != NULL && i < NR_THREADS; i++)
			found[i] |= ids[i] == id;
	}
	return nr;
}

static void check_list(DIR *dir)
{
	bool found[NR_THREADS] = { false };

	CHECK_EQ(count_tasks(dir, found), NR_THREADS + 1);
	for (int i = 0; i < NR_THREADS; i++)
		CHECK(found[i]);
	CHECK_EQ(count_tasks(dir, NULL), 0);
	rewinddir(dir);
	CHECK_EQ(count_tasks(dir, NULL), NR_THREADS + 1);
	CHECK_EQ(closedir(dir), 0);
}

static int count_now(void)
{
	DIR *dir = opendir("/proc/self/task");
	int nr = count_tasks(dir, NULL);

	CHECK_EQ(closedir(dir), 0);
	return nr;
}

TEST(threads_are_listed)
{
	pthread_t threads[NR_THREADS];
	char path[PATH_BYTES];
	DIR *other;

	CHECK_EQ(count_now(), 1);
	start_workers(threads);
	check_list(opendir("/proc/self/task"));
	snprintf(path, sizeof(path), "/proc/%d/task/", getpid());
	check_list(opendir(path));
	check_list(fdopendir(open(path, O_RDONLY | O_DIRECTORY)));
	other = opendir("/proc/self/fd");
	CHECK(count_tasks(other, NULL) >= 4);
	CHECK_EQ(closedir(other), 0);
	end_workers(threads);
	/* The kernel needs a moment to remove ended threads. */
	while (count_now() != 1)
		sleep_ms(1);
}

/* --- files --------------------------------------------------------------- */

static int read_file(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, bytes - 1);
	CHECK(n >= 0);
	text[n] = '\0';
	CHECK_EQ(close(fd), 0);
	return 0;
}

static void check_stream(const char *path, const char *expected)
{
	FILE *stream = fopen(path, "r");
	char line[100];

	CHECK(stream != NULL);
	CHECK(fgets(line, sizeof(line), stream) != NULL);
	CHECK(strcmp(line, expected) == 0);
	CHECK_EQ(fclose(stream), 0);
}

static void check_directory(const char *path)
{
	struct stat st;
	DIR *dir = opendir(path);

	CHECK(dir != NULL);
	CHECK_EQ(closedir(dir), 0);
	CHECK_EQ(access(path, F_OK), 0);
	CHECK_EQ(stat(path, &st), 0);
	CHECK(S_ISDIR(st.st_mode));
	CHECK_EQ(lstat(path, &st), 0);
}

static void check_files(const char *directory, int n)
{
	char path[PATH_BYTES], name[16], text[4096];

	check_directory(directory);
	snprintf(name, sizeof(name), "worker %d\n", n);
	snprintf(path, sizeof(path), "%s/comm", directory);
	CHECK_EQ(read_file(path, text, sizeof(text)), 0);
	CHECK(strcmp(text, name) == 0);
	check_stream(path, name);
	snprintf(path, sizeof(path), "%s/stat", directory);
	CHECK_EQ(read_file(path, text, sizeof(text)), 0);
	CHECK(strchr(text, ')') != NULL);
	snprintf(path, sizeof(path), "%s/status", directory);
	CHECK_EQ(read_file(path, text, sizeof(text)), 0);
	CHECK(strstr(text, "\nTgid:") != NULL);
	snprintf(path, sizeof(path), "%s/none", directory);
	CHECK_EQ(read_file(path, text, sizeof(text)), -ENOENT);
}

TEST(files_of_threads)
{
	static const char *const forms[] = { "/proc/self/task/%d",
					     "/proc/%2$d/task/%1$d",
					     "/proc/%d" };
	pthread_t threads[NR_THREADS];
	char path[PATH_BYTES];
	struct stat st;

	start_workers(threads);
	for (int i = 0; i < NR_THREADS; i++) {
		for (int form = 0; form < 3; form++) {
			snprintf(path, sizeof(path), forms[form], ids[i],
				 getpid());
			check_files(path, i);
		}
	}
	end_workers(threads);
	for (int i = 0; i < NR_THREADS; i++) {
		snprintf(path, sizeof(path), "/proc/self/task/%d", ids[i]);
		while (stat(path, &st) == 0)
			sleep_ms(1);
		CHECK_EQ(errno, ENOENT);
	}
}

static void *see_self(void *arg)
{
	char text[4096];

	CHECK_EQ(prctl(PR_SET_NAME, "itself"), 0);
	for (int i = 0; i < 20; i++) {
		check_stream("/proc/thread-self/comm", "itself\n");
		CHECK_EQ(read_file("/proc/thread-self/stat", text,
				   sizeof(text)),
			 0);
		sched_yield();
	}
	return arg;
}

TEST(own_files)
{
	pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, see_self, NULL);
	threads_join(threads, NR_THREADS);
}

/* The first thread's name is the process's name, whichever carrier runs it. */
TEST(name_of_the_process)
{
	pthread_t threads[NR_THREADS];
	char name[16] = "";

	start_workers(threads);
	for (int i = 0; i < 20; i++) {
		const char *set = i % 2 == 0 ? "even" : "odd";

		CHECK_EQ(prctl(PR_SET_NAME, set), 0);
		sleep_ms(1);
		check_stream("/proc/self/comm",
			     i % 2 == 0 ? "even\n" : "odd\n");
		CHECK_EQ(prctl(PR_GET_NAME, name), 0);
		CHECK(strcmp(name, set) == 0);
		CHECK_EQ(pthread_getname_np(pthread_self(), name, 16), 0);
		CHECK(strcmp(name, set) == 0);
	}
	end_workers(threads);
}

static void has_forkers_name(void)
{
	char name[16] = "";

	CHECK_EQ(prctl(PR_GET_NAME, name), 0);
	CHECK(strcmp(name, "forker") == 0);
	check_stream("/proc/self/comm", "forker\n");
	CHECK_EQ(count_now(), 1);
}

static void *fork_under_own_name(void *arg)
{
	CHECK_EQ(pthread_setname_np(pthread_self(), "forker"), 0);
	CHECK_EQ(child_exit_status(has_forkers_name), 0);
	return arg;
}

TEST(name_of_a_child)
{
	thread_join(thread_start(fork_under_own_name, NULL));
}

TEST(paths_that_lead_nowhere)
{
	const char *nowhere = (const char *)(intptr_t)1;
	struct stat st;

	have_threads();
	CHECK_ERRNO(stat(nowhere, &st), EFAULT);
	CHECK_ERRNO(lstat(nowhere, &st), EFAULT);
	CHECK_ERRNO(access(nowhere, F_OK), EFAULT);
	CHECK_ERRNO(open(nowhere, O_RDONLY), EFAULT);
}

/* --- how many there are -------------------------------------------------- */

static long number_in_stat(void)
{
	FILE *stream = fopen("/proc/self/stat", "r");
	char text[4096];
	long nr = -1;
	char *p;

	CHECK(stream != NULL);
	CHECK(fgets(text, sizeof(text), stream) != NULL);
	CHECK_EQ(fclose(stream), 0);
	p = strrchr(text, ')');
	CHECK(p != NULL);
	CHECK_EQ(sscanf(p + 1,
			" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u"
			" %*d %*d %*d %*d %ld",
			&nr),
		 1);
	return nr;
}

static long number_in_status(void)
{
	FILE *stream = fopen("/proc/self/status", "re");
	char line[400];
	long nr = -1;

	CHECK(stream != NULL);
	while (fgets(line, sizeof(line), stream) != NULL) {
		if (strncmp(line, "Threads:", 8) == 0)
			nr = strtol(line + 8, NULL, 10);
	}
	CHECK_EQ(fclose(stream), 0);
	return nr;
}

TEST(number_of_threads)
{
	pthread_t threads[NR_THREADS];

	CHECK_EQ(number_in_stat(), 1);
	start_workers(threads);
	CHECK_EQ(number_in_stat(), NR_THREADS + 1);
	CHECK_EQ(number_in_status(), NR_THREADS + 1);
	end_workers(threads);
	while (number_in_stat() != 1 || number_in_status() != 1)
		sleep_ms(1);
}
