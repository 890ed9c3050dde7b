/* SPDX-License-Identifier: MIT */
/* Changing the user in a process with threads changes it for all of them. */
#include <dirent.h>
#include <grp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "threading.h"

#define NOBODY 65534
#define NR_THREADS 30

static pthread_barrier_t barrier;

static void *look(void *arg)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 30; i++) {
		CHECK_EQ(syscall(SYS_getuid), NOBODY);
		CHECK_EQ(syscall(SYS_geteuid), NOBODY);
		CHECK_EQ(syscall(SYS_getgid), NOBODY);
		CHECK_EQ(getgroups(0, NULL), 0);
		usleep(200);
	}
	return arg;
}

static void change(void)
{
	pthread_t threads[NR_THREADS];

	CHECK_EQ(pthread_barrier_init(&barrier, NULL, NR_THREADS + 1), 0);
	threads_start(threads, NR_THREADS, look, NULL);
	pthread_barrier_wait(&barrier);
	CHECK_EQ(setgroups(0, NULL), 0);
	CHECK_EQ(setresgid(NOBODY, NOBODY, NOBODY), 0);
	CHECK_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
	pthread_barrier_wait(&barrier);
	threads_join(threads, NR_THREADS);
	CHECK_ERRNO(setuid(0), EPERM);
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 1), 0);
	thread_join(thread_start(look, NULL));
}

static void change_plain(void)
{
	CHECK_EQ(setgroups(0, NULL), 0);
	CHECK_EQ(setgid(NOBODY), 0);
	CHECK_EQ(setuid(NOBODY), 0);
	CHECK_EQ(pthread_barrier_init(&barrier, NULL, 1), 0);
	thread_join(thread_start(look, NULL));
}

static void *change_in_thread(void *arg)
{
	change_plain();
	CHECK_EQ(geteuid(), NOBODY);
	return arg;
}

static void change_from_a_thread(void)
{
	thread_join(thread_start(change_in_thread, NULL));
	CHECK_EQ(syscall(SYS_getuid), NOBODY);
	CHECK_EQ(syscall(SYS_getgid), NOBODY);
}

static int ends[2];
static sem_t *permit;

static void *read_one(void *arg)
{
	char c;

	CHECK_EQ(read(ends[0], &c, 1), 1);
	return arg;
}

static void *wait_for_permit(void *arg)
{
	CHECK_EQ(sem_wait(permit), 0);
	return arg;
}

static void check_task(const char *tid)
{
	char path[64], line[256];
	unsigned int real = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", tid);
	f = fopen(path, "re");
	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL &&
	       sscanf(line, "Uid: %u", &real) != 1)
		;
	fclose(f);
	CHECK_EQ(real, NOBODY);
}

/*
 * Threads wait in several ways; the kernel threads that serve them must change,
 * too.
 */
static void change_while_others_wait(void)
{
	pthread_t reader, waiter;
	struct dirent **tasks;
	int nr_tasks;

	permit = mmap(NULL, sizeof(*permit), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(permit != MAP_FAILED);
	CHECK_EQ(sem_init(permit, 1, 0), 0);
	CHECK_EQ(pipe(ends), 0);
	reader = thread_start(read_one, NULL);
	waiter = thread_start(wait_for_permit, NULL);
	await_rest();
	CHECK_EQ(setresuid(NOBODY, NOBODY, NOBODY), 0);
	/*
	 * A raw directory scan sees all kernel threads; weft filters opendir's.
	 */
	nr_tasks = scandir("/proc/self/task", &tasks, NULL, NULL);
	CHECK(nr_tasks > 0);
	for (int i = 0; i < nr_tasks; i++) {
		if (tasks[i]->d_name[0] != '.')
			check_task(tasks[i]->d_name);
		free(tasks[i]);
	}
	free(tasks);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK_EQ(sem_post(permit), 0);
	thread_join(reader);
	thread_join(waiter);
}

static void *change_own(void *arg)
{
	CHECK_EQ(syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY), 0);
	CHECK_EQ(sem_post(permit), 0);
	for (;;)
		pause();
	return arg;
}

static void end_well(int sig)
{
	_exit(3);
}

/* If one kernel thread cannot change its ids, libc ends the process. */
static void tear(void)
{
	sem_t changed;

	permit = &changed;
	CHECK_EQ(sem_init(permit, 0, 0), 0);
	thread_start(change_own, NULL);
	CHECK_EQ(sem_wait(permit), 0);
	setresuid(NOBODY - 1, NOBODY - 1, NOBODY - 1);
}

static void tear_and_handle(void)
{
	CHECK(signal(SIGABRT, end_well) != SIG_ERR);
	tear();
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("needs root");
}

TEST(every_thread_changes)
{
	need_root();
	CHECK_EQ(child_exit_status(change), 0);
}

TEST(changed_before_threads)
{
	need_root();
	CHECK_EQ(child_exit_status(change_plain), 0);
}

TEST(changed_by_a_thread)
{
	need_root();
	CHECK_EQ(child_exit_status(change_from_a_thread), 0);
}

TEST(threads_that_serve_waits_change)
{
	need_root();
	CHECK_EQ(child_exit_status(change_while_others_wait), 0);
}

TEST(process_that_would_be_torn_ends)
{
	need_root();
	CHECK_EQ(child_signal(tear), SIGABRT);
	CHECK_EQ(child_exit_status(tear_and_handle), 3);
}
