/* SPDX-License-Identifier: MIT */
/*
 * Rarer operations of the futex system call: words with an owner (FUTEX_LOCK_PI
 * and similar), and waits for one of several words. Handlers interrupt these
 * waits.
 */
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "signalling.h"
#include "threading.h"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

static uint32_t word;
static uint32_t other;
static _Atomic int is_owned;
static _Atomic int may_leave;
static _Atomic int nr_handled;
static _Atomic pid_t waiter_id;

/* The fourth argument is a time or a number, depending on the operation. */
static long futex(uint32_t *address, int op, uint32_t value, const void *fourth,
		  uint32_t *address2, uint32_t value3)
{
	return syscall(SYS_futex, address, op | FUTEX_PRIVATE_FLAG, value,
		       fourth, address2, value3);
}

static void own(uint32_t *address)
{
	CHECK_EQ(futex(address, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
}

static void disown(uint32_t *address)
{
	CHECK_EQ(futex(address, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), 0);
}

static void *own_word(void *arg)
{
	own(&word);
	is_owned = 1;
	while (!may_leave)
		sched_yield();
	disown(&word);
	return arg;
}

TEST(word_with_an_owner)
{
	const struct timespec past = { 1, 0 };
	pthread_t owner = thread_start(own_word, NULL);

	while (!is_owned)
		sched_yield();
	CHECK_ERRNO(futex(&word, FUTEX_LOCK_PI, 0, &past, NULL, 0), ETIMEDOUT);
	may_leave = 1;
	own(&word);
	disown(&word);
	thread_join(owner);
}

static void count_handled(int sig, siginfo_t *info, void *context)
{
	nr_handled++;
}

/* Interrupts the waiter by a handler without SA_RESTART. */
static void interrupt(pthread_t waiter)
{
	int before = nr_handled;

	CHECK_EQ(pthread_kill(waiter, SIGUSR1), 0);
	while (nr_handled == before)
		sched_yield();
}

/* Interrupts the waiter ten times once it certainly waits. */
static void interrupt_often(pthread_t waiter)
{
	await_rest();
	for (int i = 0; i < 10; i++)
		interrupt(waiter);
}

static void *own_and_disown(void *arg)
{
	own(&word);
	disown(&word);
	return arg;
}

/*
 * POSIX: a handler does not end the wait for a lock; nor does it in the kernel.
 */
TEST(handler_while_another_owns_it)
{
	pthread_t waiter;

	handle(SIGUSR1, count_handled, 0);
	own(&word);
	waiter = thread_start(own_and_disown, NULL);
	while (!(__atomic_load_n(&word, __ATOMIC_SEQ_CST) & FUTEX_WAITERS))
		sched_yield();
	interrupt_often(waiter);
	disown(&word);
	thread_join(waiter);
}

static void *wait_to_be_moved(void *arg)
{
	waiter_id = (pid_t)syscall(SYS_gettid);
	CHECK_EQ(futex(&word, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &other, 0), 0);
	disown(&other);
	return arg;
}

TEST(handler_before_the_wait_is_moved)
{
	pthread_t waiter;

	handle(SIGUSR1, count_handled, 0);
	own(&other);
	waiter = thread_start(wait_to_be_moved, NULL);
	while (!waiter_id)
		sched_yield();
	interrupt_often(waiter);
	while (futex(&word, FUTEX_CMP_REQUEUE_PI, 1, NULL, &other, 0) != 1)
		sched_yield();
	disown(&other);
	thread_join(waiter);
}

static void *wait_for_no_owner(void *arg)
{
	waiter_id = (pid_t)syscall(SYS_gettid);
	CHECK_EQ(futex(&word, FUTEX_WAIT, 0, NULL, NULL, 0), 0);
	return arg;
}

/* FUTEX_CMP_REQUEUE_PI must not move a thread that waits by FUTEX_WAIT. */
TEST(plain_waiter_does_not_become_an_owner)
{
	pthread_t waiter = thread_start(wait_for_no_owner, NULL);
	long rc;

	do {
		sched_yield();
		rc = futex(&word, FUTEX_CMP_REQUEUE_PI, 1, NULL, &other, 0);
	} while (rc == 0);
	CHECK(rc == -1 && errno == EINVAL);
	CHECK_EQ(futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0), 1);
	thread_join(waiter);
}

TEST(wake_does_not_make_an_owner)
{
	pthread_t waiter;
	long rc;

	own(&word);
	waiter = thread_start(own_and_disown, NULL);
	do {
		sched_yield();
		rc = futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0);
	} while (rc == 0);
	CHECK(rc == -1 && errno == EINVAL);
	disown(&word);
	thread_join(waiter);
}

/* --- waits for one of several words --------------------------------------- */

static long wait_for_several(void)
{
	/* struct futex_waitv of Linux 5.16, which older headers lack. */
	struct {
		uint64_t value, address;
		uint32_t flags, reserved;
	} wait = { .address = (uintptr_t)&word,
		   .flags = 2 | FUTEX_PRIVATE_FLAG };

	return syscall(SYS_futex_waitv, &wait, 1, 0, NULL, 0);
}

static bool can_wait_for_several(void)
{
	return syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) == 0 ||
	       errno != ENOSYS;
}

static void *wait_for_one_of_several(void *arg)
{
	waiter_id = (pid_t)syscall(SYS_gettid);
	CHECK_ERRNO(wait_for_several(), EINTR);
	may_leave = 1;
	return arg;
}

TEST(handler_while_it_waits_for_several)
{
	pthread_t waiter;

	if (!can_wait_for_several())
		SKIP("this kernel has no futex_waitv");
	handle(SIGUSR1, count_handled, 0);
	waiter = thread_start(wait_for_one_of_several, NULL);
	while (!waiter_id)
		sched_yield();
	while (!may_leave) {
		sleep_ms(20);
		if (!may_leave)
			interrupt(waiter);
	}
	thread_join(waiter);
}

static void *wait_for_moved(void *arg)
{
	CHECK_EQ(wait_for_several(), 0);
	return arg;
}

static void move_both_kinds(int op)
{
	pthread_t threads[] = { thread_start(wait_for_moved, NULL),
				thread_start(wait_for_no_owner, NULL) };
	long nr = 0;

	while (nr < 2) {
		long moved = futex(&word, op, 0, (void *)2L, &other, 0);

		CHECK(moved >= 0);
		nr += moved;
		sched_yield();
	}
	/*
	 * The kernel may wake a waiter for several words without a reason. It
	 * then waits again, at its own word.
	 */
	nr = futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0);
	CHECK(nr == 0 || nr == 1);
	CHECK_EQ(futex(&other, FUTEX_WAKE, 2, NULL, NULL, 0), 2 - nr);
	threads_join(threads, 2);
}

TEST(requeue_of_both_kinds_of_waiters)
{
	if (!can_wait_for_several())
		SKIP("this kernel has no futex_waitv");
	move_both_kinds(FUTEX_REQUEUE);
	move_both_kinds(FUTEX_CMP_REQUEUE);
}

/* --- calls that wake and change another word ------------------------------ */

TEST(wake_op_that_does_not_know_how_to_compare)
{
	const uint32_t how = FUTEX_OP(FUTEX_OP_ADD, 3, 15, 0);
	pthread_t waiter = thread_start(wait_for_no_owner, NULL);

	await_rest();
	CHECK_ERRNO(futex(&word, FUTEX_WAKE_OP, 1, (void *)1L, &other, how),
		    ENOSYS);
	CHECK_EQ(other, 3);
	while (futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0) != 1)
		sched_yield();
	thread_join(waiter);
}
