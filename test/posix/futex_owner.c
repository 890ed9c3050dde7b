/* Words with an owner by the futex system call (FUTEX_LOCK_PI and its like),
 * and what a handler does to waits by system calls. */
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

/* The fourth argument is a time or a number. */
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

/* By a handler that was set without SA_RESTART. */
static void interrupt(pthread_t waiter)
{
	int before = nr_handled;

	CHECK_EQ(pthread_kill(waiter, SIGUSR1), 0);
	while (nr_handled == before)
		sched_yield();
}

/* When it certainly waits. */
static void interrupt_often(pthread_t waiter)
{
	sleep_ms(20);
	for (int i = 0; i < 10; i++)
		interrupt(waiter);
}

static void *own_and_disown(void *arg)
{
	own(&word);
	disown(&word);
	return arg;
}

/* POSIX: a lock is not given up for a handler; the kernel does likewise. */
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

static void *wait_for_one_of_several(void *arg)
{
	/* As in Linux 5.16, which older headers do not know. */
	struct {
		uint64_t value, address;
		uint32_t flags, reserved;
	} wait = { .address = (uintptr_t)&word, .flags = 2 };

	waiter_id = (pid_t)syscall(SYS_gettid);
	CHECK_ERRNO(syscall(SYS_futex_waitv, &wait, 1, 0, NULL, 0), EINTR);
	may_leave = 1;
	return arg;
}

TEST(handler_while_it_waits_for_several)
{
	pthread_t waiter;

	if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) == -1 &&
	    errno == ENOSYS)
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
