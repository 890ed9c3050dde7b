/* SPDX-License-Identifier: MIT */
/* Memory protection keys: each thread has rights of its own. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "signalling.h"
#include "threading.h"

enum { NR_THREADS = 12, NR_YIELDS = 200, PAGE = 4096 };

static int key;
static char *page; /* has `key` */

static void need_key(void)
{
	key = pkey_alloc(0, 0);
	if (key < 0)
		SKIP("there are no protection keys");
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	CHECK_EQ(pkey_mprotect(page, PAGE, PROT_READ | PROT_WRITE, key), 0);
}

static int nth_rights(intptr_t n)
{
	static const int rights[] = { 0, PKEY_DISABLE_WRITE,
				      PKEY_DISABLE_ACCESS };

	return rights[n % 3];
}

/* --- rights of a thread --------------------------------------------------- */

static void *keep_own_rights(void *arg)
{
	intptr_t n = (intptr_t)arg;

	CHECK_EQ(pkey_get(key), 0);
	for (int i = 0; i < NR_YIELDS; i++) {
		CHECK_EQ(pkey_set(key, (unsigned int)nth_rights(n + i)), 0);
		sched_yield();
		CHECK_EQ(pkey_get(key), nth_rights(n + i));
	}
	return NULL;
}

TEST(rights_of_each_thread)
{
	pthread_t threads[NR_THREADS];

	need_key();
	threads_start_numbered(threads, NR_THREADS, keep_own_rights);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(pkey_get(key), 0);
}

static void *compute_with_own_rights(void *arg)
{
	unsigned int mine = (unsigned int)nth_rights((intptr_t)arg);

	CHECK_EQ(pkey_set(key, mine), 0);
	for (volatile int i = 0; i < 3000000; i++) {
		if (i % 1000 == 0)
			CHECK_EQ(pkey_get(key), mine);
	}
	return NULL;
}

TEST(rights_of_threads_that_compute)
{
	pthread_t threads[NR_THREADS];

	need_key();
	threads_start_numbered(threads, NR_THREADS, compute_with_own_rights);
	threads_join(threads, NR_THREADS);
}

static void *has_rights(void *arg)
{
	CHECK_EQ(pkey_get(key), (intptr_t)arg);
	sched_yield();
	CHECK_EQ(pkey_get(key), (intptr_t)arg);
	return NULL;
}

TEST(rights_are_the_creators)
{
	need_key();
	for (intptr_t n = 0; n < 6; n++) {
		CHECK_EQ(pkey_set(key, (unsigned int)nth_rights(n)), 0);
		thread_join(thread_start(has_rights,
					 (void *)(intptr_t)nth_rights(n)));
		CHECK_EQ(pkey_get(key), nth_rights(n));
	}
}

static _Atomic int is_waiting, is_woken;

static void *has_none_later(void *arg)
{
	is_waiting++;
	await_count(&is_woken, 1);
	CHECK_EQ(pkey_get(key), PKEY_DISABLE_ACCESS);
	sched_yield();
	CHECK_EQ(pkey_get(key), PKEY_DISABLE_ACCESS);
	return NULL;
}

TEST(threads_of_before_have_none)
{
	pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, has_none_later, NULL);
	await_count(&is_waiting, NR_THREADS);
	need_key();
	is_woken = 1;
	threads_join(threads, NR_THREADS);
	CHECK_EQ(pkey_get(key), 0);
}

static void *has_what_the_call_said(void *arg)
{
	int own = (int)syscall(SYS_pkey_alloc, 0, PKEY_DISABLE_WRITE);

	if (own < 0)
		SKIP("there are no protection keys");
	for (int i = 0; i < NR_YIELDS; i++) {
		sched_yield();
		CHECK_EQ(pkey_get(own), PKEY_DISABLE_WRITE);
	}
	return NULL;
}

TEST(key_by_system_call)
{
	pthread_t threads[3];

	threads_start(threads, 3, has_what_the_call_said, NULL);
	threads_join(threads, 3);
}

/* --- protection keys in handlers ------------------------------------------ */

static _Atomic int nr_handled;
static _Atomic int nr_wrong;

static void see_none(int sig, siginfo_t *info, void *context)
{
	for (int i = 0; i < 3; i++) {
		if (pkey_get(key) != PKEY_DISABLE_ACCESS)
			nr_wrong++;
		sched_yield();
	}
	nr_handled++;
}

static void *be_interrupted(void *arg)
{
	for (intptr_t n = 0; n < 30; n++) {
		CHECK_EQ(pkey_set(key, (unsigned int)nth_rights(n)), 0);
		CHECK_EQ(raise(SIGUSR1), 0);
		CHECK_EQ(pkey_get(key), nth_rights(n));
	}
	return NULL;
}

TEST(handlers_begin_with_none)
{
	pthread_t threads[3];

	need_key();
	handle(SIGUSR1, see_none, 0);
	threads_start(threads, 3, be_interrupted, NULL);
	threads_join(threads, 3);
	CHECK_EQ(nr_handled, 90);
	CHECK_EQ(nr_wrong, 0);
}

static _Atomic int is_over;

static void *compute_until_over(void *arg)
{
	unsigned int mine = (unsigned int)nth_rights((intptr_t)arg);

	CHECK_EQ(pkey_set(key, mine), 0);
	is_waiting++;
	while (!is_over)
		CHECK_EQ(pkey_get(key), mine);
	return NULL;
}

TEST(handlers_in_threads_that_compute)
{
	pthread_t threads[3];

	need_key();
	handle(SIGUSR1, see_none, 0);
	threads_start_numbered(threads, 3, compute_until_over);
	await_count(&is_waiting, 3);
	for (int i = 0; i < 10; i++) {
		for (int n = 0; n < 3; n++)
			CHECK_EQ(pthread_kill(threads[n], SIGUSR1), 0);
		await_count(&nr_handled, (i + 1) * 3);
	}
	is_over = 1;
	threads_join(threads, 3);
	CHECK_EQ(nr_wrong, 0);
}

static __thread sigjmp_buf before_fault;
static __thread int fault_key, fault_code;

static void note_fault(int sig, siginfo_t *info, void *context)
{
	fault_code = info->si_code;
	fault_key = (int)info->si_pkey;
	siglongjmp(before_fault, 1);
}

/* Returns whether the thread's rights let it read the page. */
static bool can_read(void)
{
	if (sigsetjmp(before_fault, 1) != 0)
		return false;
	(void)*(volatile char *)page;
	return true;
}

static bool can_write(void)
{
	if (sigsetjmp(before_fault, 1) != 0)
		return false;
	*(volatile char *)page = 1;
	return true;
}

static void *access_by_rights(void *arg)
{
	for (intptr_t n = (intptr_t)arg; n < 30; n++) {
		int mine = nth_rights(n);

		CHECK_EQ(pkey_set(key, (unsigned int)mine), 0);
		sched_yield();
		CHECK_EQ(can_read(), mine != PKEY_DISABLE_ACCESS);
		CHECK_EQ(pkey_set(key, (unsigned int)mine), 0);
		sched_yield();
		CHECK_EQ(can_write(), mine == 0);
		if (mine != 0) {
			CHECK_EQ(fault_code, SEGV_PKUERR);
			CHECK_EQ(fault_key, key);
		}
	}
	return NULL;
}

TEST(faults)
{
	pthread_t threads[NR_THREADS];

	need_key();
	handle(SIGSEGV, note_fault, 0);
	threads_start_numbered(threads, NR_THREADS, access_by_rights);
	threads_join(threads, NR_THREADS);
}

/* --- system calls -------------------------------------------------------- */

static int ends[2];

static void *read_into_page(void *arg)
{
	CHECK_EQ(read(ends[0], page, 5), 5);
	CHECK(memcmp(page, "hello", 5) == 0);
	CHECK_EQ(recv(ends[0], page, 5, 0), 5);
	CHECK(memcmp(page, "world", 5) == 0);
	return NULL;
}

/* A thread that waits for data keeps its rights to a key's memory. */
TEST(memory_of_a_key_in_system_calls)
{
	pthread_t thread;

	need_key();
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	thread = thread_start(read_into_page, NULL);
	CHECK_EQ(pkey_set(key, PKEY_DISABLE_ACCESS), 0);
	await_rest();
	CHECK_EQ(write(ends[1], "hello", 5), 5);
	await_rest();
	CHECK_ERRNO(write(ends[1], page, 5), EFAULT);
	CHECK_EQ(write(ends[1], "world", 5), 5);
	thread_join(thread);
}
