/* SPDX-License-Identifier: MIT */
/* The futex system call through syscall(), as Rust's std, abseil and InnoDB
 * use it, with and without the private flag. */
#include <limits.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "threading.h"

static uint32_t word;
static uint32_t other;
static _Atomic int nr_waiting;
static _Atomic int nr_awake;
static int flag;

static long futex(uint32_t *address, int op, uint32_t value,
		  const struct timespec *timeout, uint32_t *address2,
		  uint32_t value3)
{
	return syscall(SYS_futex, address, op | flag, value, timeout, address2,
		       value3);
}

static long wake(uint32_t *address, int nr)
{
	return futex(address, FUTEX_WAKE, (uint32_t)nr, NULL, NULL, 0);
}

static uint32_t load(const uint32_t *address)
{
	return __atomic_load_n(address, __ATOMIC_SEQ_CST);
}

static void store(uint32_t *address, uint32_t value)
{
	__atomic_store_n(address, value, __ATOMIC_SEQ_CST);
}

/* Runs a body for private and for shared futexes. */
static void both(void (*body)(void))
{
	static const int flags[] = { FUTEX_PRIVATE_FLAG, 0 };

	for (int i = 0; i < 2; i++) {
		flag = flags[i];
		word = 0;
		other = 0;
		nr_waiting = 0;
		nr_awake = 0;
		body();
	}
}

static void *wait_while_zero(void *arg)
{
	uint32_t *address = arg;

	nr_waiting++;
	while (load(address) == 0)
		if (futex(address, FUTEX_WAIT, 0, NULL, NULL, 0) != 0)
			CHECK(errno == EAGAIN || errno == EINTR);
	nr_awake++;
	return NULL;
}

/* Wakes until `nr` threads were woken in all. None was awake before. */
static void wake_exactly(uint32_t *address, int nr)
{
	int all = nr;

	while (nr > 0 && nr_awake < all) {
		long woken = wake(address, nr);

		CHECK(woken >= 0 && woken <= nr);
		nr -= (int)woken;
		if (woken == 0)
			sched_yield();
	}
}

static void errors(void)
{
	CHECK_EQ(wake(&word, 1), 0);
	CHECK_ERRNO(futex(&word, FUTEX_WAIT, 7, NULL, NULL, 0), EAGAIN);
	CHECK_ERRNO(futex((uint32_t *)((char *)&word + 1), FUTEX_WAIT, 0, NULL,
			  NULL, 0),
		    EINVAL);
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0), EINVAL);
	CHECK_ERRNO(futex(&word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0), EINVAL);
	CHECK_ERRNO(futex(&word, FUTEX_CMP_REQUEUE, 1,
			  (const struct timespec *)1, &other, 7),
		    EAGAIN);
	CHECK_ERRNO(futex(&word, 99, 0, NULL, NULL, 0), ENOSYS);
}

TEST(error_values)
{
	both(errors);
}

static void bad_address(void)
{
	uint32_t *bad = (uint32_t *)16;

	CHECK_ERRNO(futex(bad, FUTEX_WAIT, 0, NULL, NULL, 0), EFAULT);
	CHECK_ERRNO(futex(bad, FUTEX_CMP_REQUEUE, 1, NULL, &word, 0), EFAULT);
	CHECK_ERRNO(futex(&word, FUTEX_WAKE_OP, 1, NULL, bad, 0), EFAULT);
}

TEST(unmapped_address)
{
	both(bad_address);
}

static void one_by_one(void)
{
	pthread_t threads[20];

	threads_start(threads, 20, wait_while_zero, &word);
	await_count(&nr_waiting, 20);
	await_rest();
	store(&word, 1);
	for (int i = 0; i < 20; i++)
		if (wake(&word, 1) == 0)
			break;
	wake(&word, INT_MAX);
	threads_join(threads, 20);
	CHECK_EQ(nr_awake, 20);
}

TEST(wait_and_wake)
{
	both(one_by_one);
}

static void relative_timeout(void)
{
	struct timespec ts = { 0, 20 * NS_PER_MS };
	int64_t start = now_ns();

	CHECK_ERRNO(futex(&word, FUTEX_WAIT, 0, &ts, NULL, 0), ETIMEDOUT);
	CHECK(now_ns() - start >= 20 * NS_PER_MS);
	ts.tv_nsec = NS_PER_S;
	CHECK_ERRNO(futex(&word, FUTEX_WAIT, 0, &ts, NULL, 0), EINVAL);
}

TEST(wait_timeout_is_relative)
{
	both(relative_timeout);
}

static void absolute_timeout(void)
{
	struct timespec ts = deadline_ms(CLOCK_MONOTONIC, 20);
	int64_t start = now_ns();

	CHECK_ERRNO(futex(&word, FUTEX_WAIT_BITSET, 0, &ts, NULL,
			  FUTEX_BITSET_MATCH_ANY),
		    ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 18);
	ts = deadline_ms(CLOCK_REALTIME, 20);
	start = now_ns();
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0,
			  &ts, NULL, FUTEX_BITSET_MATCH_ANY),
		    ETIMEDOUT);
	CHECK(elapsed_ms(start) >= 18);
	ts = deadline_ms(CLOCK_MONOTONIC, -1000);
	CHECK_ERRNO(futex(&word, FUTEX_WAIT_BITSET, 0, &ts, NULL,
			  FUTEX_BITSET_MATCH_ANY),
		    ETIMEDOUT);
}

TEST(bitset_timeout_is_absolute)
{
	both(absolute_timeout);
}

static _Atomic bool may_go[8];

/* A futex wait may return without a wake. */
static void *wait_for_bits(void *arg)
{
	intptr_t i = (intptr_t)arg;

	nr_waiting++;
	do
		CHECK_EQ(futex(&word, FUTEX_WAIT_BITSET, 0, NULL, NULL,
			       1u << i),
			 0);
	while (!may_go[i]);
	nr_awake++;
	return NULL;
}

static long wake_bit(int i)
{
	return futex(&word, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, 1u << i);
}

/* Wakes this thread and no other until it has returned. */
static void let_go(pthread_t thread, int i)
{
	int awake = nr_awake;
	long woken = 0;

	may_go[i] = true;
	while (nr_awake == awake) {
		woken += wake_bit(i);
		sched_yield();
	}
	CHECK(woken <= 1);
	thread_join(thread);
	CHECK_EQ(nr_awake, awake + 1);
}

static void wake_bits(void)
{
	pthread_t threads[8];

	for (int i = 0; i < 8; i++)
		may_go[i] = false;
	threads_start_numbered(threads, 8, wait_for_bits);
	await_count(&nr_waiting, 8);
	await_rest();
	CHECK_EQ(wake_bit(20), 0);
	for (int i = 0; i < 8; i++)
		let_go(threads[(i + 3) % 8], (i + 3) % 8);
}

TEST(bitset_selects)
{
	both(wake_bits);
}

enum { MOST_TURNS = 1000000 };

/* Moves waiters of `word` to `other` and wakes them there. */
static void requeue(bool compares)
{
	pthread_t threads[10];
	long moved = 0;

	threads_start(threads, 10, wait_while_zero, &word);
	await_count(&nr_waiting, 10);
	await_rest();
	/* On a busy machine some threads do not wait yet. */
	for (int turns = 0; moved < 10; turns++) {
		long n = futex(&word,
			       compares ? FUTEX_CMP_REQUEUE : FUTEX_REQUEUE, 0,
			       (const struct timespec *)(intptr_t)INT_MAX,
			       &other, 0);

		CHECK(n >= 0 && turns < MOST_TURNS);
		moved += n;
		sched_yield();
	}
	CHECK_EQ(moved, 10);
	CHECK_EQ(wake(&word, INT_MAX), 0);
	CHECK_EQ(nr_awake, 0);
	store(&word, 1);
	wake_exactly(&other, 10);
	threads_join(threads, 10);
}

static void requeue_compares(void)
{
	requeue(true);
}

static void requeue_plain(void)
{
	requeue(false);
}

TEST(cmp_requeue)
{
	both(requeue_compares);
}

TEST(plain_requeue)
{
	both(requeue_plain);
}

static void *wait_any_flag(void *arg)
{
	int op = FUTEX_WAIT | (int)(intptr_t)arg;

	nr_waiting++;
	while (load(&word) == 0)
		syscall(SYS_futex, &word, op, 0, NULL, NULL, 0);
	return NULL;
}

/* Private and shared waiters on different words do not disturb each other. */
TEST(private_and_shared_side_by_side)
{
	pthread_t a = thread_start(wait_any_flag, (void *)0L);
	pthread_t b = thread_start(wait_any_flag,
				   (void *)(intptr_t)FUTEX_PRIVATE_FLAG);

	await_count(&nr_waiting, 2);
	await_rest();
	store(&word, 1);
	flag = FUTEX_PRIVATE_FLAG;
	wake(&word, INT_MAX);
	flag = 0;
	wake(&word, INT_MAX);
	thread_join(a);
	thread_join(b);
}

/* --- waits for one of several words --- */

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* struct futex_waitv of Linux 5.16, which older headers lack. */
struct one_of {
	uint64_t value, address;
	uint32_t flags, reserved;
};

static long wait_for_one(uint32_t **words, int nr, const struct timespec *until)
{
	enum { SIZE_U32 = 2 };
	struct one_of waits[8] = { 0 };

	for (int i = 0; i < nr; i++)
		waits[i] = (struct one_of){
			.address = (uintptr_t)words[i],
			.flags = SIZE_U32 | (uint32_t)flag,
		};
	return syscall(SYS_futex_waitv, waits, nr, 0, until, CLOCK_MONOTONIC);
}

static void *wait_for_either(void *arg)
{
	nr_waiting++;
	CHECK_EQ(wait_for_one((uint32_t *[]){ &word, &other }, 2, NULL), 1);
	nr_awake++;
	return arg;
}

static void one_of_two(void)
{
	struct timespec past = deadline_ms(CLOCK_MONOTONIC, 20);
	pthread_t thread;

	if (wait_for_one((uint32_t *[]){ &word }, 1, &past) == -1 &&
	    errno == ENOSYS)
		SKIP("this kernel has no futex_waitv");
	CHECK_ERRNO(wait_for_one((uint32_t *[]){ &word }, 1, &past), ETIMEDOUT);
	thread = thread_start(wait_for_either, NULL);
	wake_exactly(&other, 1);
	thread_join(thread);
	CHECK_EQ(nr_awake, 1);
	CHECK_EQ(wake(&other, 1), 0);
	word = 1;
	CHECK_ERRNO(wait_for_one((uint32_t *[]){ &word }, 1, NULL), EAGAIN);
}

TEST(wait_for_several_words)
{
	both(one_of_two);
}

/* A lock with three states, made of futexes only. */
static long counter;

static void lock(void)
{
	uint32_t seen = 0;

	if (__atomic_compare_exchange_n(&word, &seen, 1, false,
					__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE) != 0)
		futex(&word, FUTEX_WAIT, 2, NULL, NULL, 0);
}

static void unlock(void)
{
	if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2)
		wake(&word, 1);
}

static void *count(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		lock();
		counter++;
		if (i % 100 == 0)
			sched_yield();
		unlock();
	}
	return arg;
}

static void count_all(void)
{
	pthread_t threads[20];

	counter = 0;
	threads_start(threads, 20, count, NULL);
	threads_join(threads, 20);
	CHECK_EQ(counter, 40000);
}

TEST(lock_made_of_futexes)
{
	both(count_all);
}

/* syscall() passes all six arguments of other calls. */
TEST(other_system_calls_pass)
{
	int fds[2];
	char text[4] = "";
	void *area;

	CHECK_EQ(syscall(SYS_pipe2, fds, 0), 0);
	CHECK_EQ(syscall(SYS_write, fds[1], "abc", 3), 3);
	CHECK_EQ(syscall(SYS_read, fds[0], text, 3), 3);
	CHECK(text[0] == 'a' && text[2] == 'c');
	CHECK_ERRNO(syscall(SYS_close, -1), EBADF);
	area = (void *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	*(char *)area = 1;
	CHECK_EQ(syscall(SYS_munmap, area, 4096), 0);
}

#ifdef __x86_64__
/*
 * A caller with few arguments owns the stack words above the return address.
 * This calls futex wake with two own words there, and returns whether both are
 * unchanged.
 */
static bool stack_words_survive(void)
{
	uint64_t first, second;

	__asm__ volatile(
		"mov %%rsp, %%rbx\n\t"
		"sub $128, %%rsp\n\t" /* skips the red zone */
		"and $-16, %%rsp\n\t"
		"push %[mark]\n\t"
		"push %[mark]\n\t"
		"xor %%eax, %%eax\n\t"
		"call *%[function]\n\t"
		"pop %[first]\n\t"
		"pop %[second]\n\t"
		"mov %%rbx, %%rsp"
		: [first] "=&r"(first), [second] "=&r"(second)
		: [mark] "r"(0x1122334455667788), [function] "r"(syscall),
		  "D"((long)SYS_futex), "S"(&word),
		  "d"((long)FUTEX_WAKE_PRIVATE), "c"(1L)
		: "rax", "rbx", "r8", "r9", "r10", "r11", "memory", "cc");
	return first == 0x1122334455667788 && second == 0x1122334455667788;
}

TEST(callers_stack_words_survive)
{
	CHECK(stack_words_survive());
	thread_join(thread_start(wait_while_zero, &(uint32_t){ 1 }));
	CHECK(stack_words_survive());
}
#endif
