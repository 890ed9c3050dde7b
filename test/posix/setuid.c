/* Changing the user in a process with threads changes it for all of them. */
#include <grp.h>
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
