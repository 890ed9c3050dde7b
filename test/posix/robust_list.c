/* SPDX-License-Identifier: MIT */
/* The list of robust mutexes, as a thread may ask the kernel for it. */
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

enum { NR_THREADS = 8 };

static struct robust_list_head *own_list(void)
{
	struct robust_list_head *head = NULL;
	size_t bytes = 0;

	CHECK_EQ(syscall(SYS_get_robust_list, 0, &head, &bytes), 0);
	CHECK_EQ(bytes, sizeof(*head));
	CHECK(head != NULL);
	return head;
}

static void *ask_again(void *arg)
{
	struct robust_list_head *head = own_list();
	struct robust_list_head copy = *head;
	struct robust_list_head *by_tid = NULL;
	size_t bytes;

	CHECK_EQ((uintptr_t)copy.list.next, (uintptr_t)&head->list);
	for (int i = 0; i < 50; i++) {
		sched_yield();
		CHECK_EQ((uintptr_t)own_list(), (uintptr_t)head);
	}
	CHECK_EQ(syscall(SYS_get_robust_list, gettid(), &by_tid, &bytes), 0);
	CHECK_EQ((uintptr_t)by_tid, (uintptr_t)head);
	return head;
}

TEST(each_thread_has_its_own)
{
	pthread_t threads[NR_THREADS];
	void *heads[NR_THREADS + 1];

	for (int i = 0; i < NR_THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, ask_again, NULL) == 0);
	/* The threads live until now, and live threads have different lists. */
	heads[NR_THREADS] = ask_again(NULL);
	for (int i = 0; i < NR_THREADS; i++) {
		CHECK(pthread_join(threads[i], &heads[i]) == 0);
		CHECK(heads[i] != heads[NR_THREADS]);
	}
}

static void *set_it(void *arg)
{
	struct robust_list_head *head = own_list();

	CHECK_EQ(syscall(SYS_set_robust_list, head, sizeof(*head)), 0);
	CHECK_EQ((uintptr_t)own_list(), (uintptr_t)head);
	CHECK_ERRNO(syscall(SYS_set_robust_list, head, 0), EINVAL);
	CHECK_ERRNO(syscall(SYS_set_robust_list, head, sizeof(*head) + 1),
		    EINVAL);
	CHECK_ERRNO(syscall(SYS_set_robust_list, head, (size_t)-1), EINVAL);
	return NULL;
}

TEST(set)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, set_it, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	set_it(NULL);
}
