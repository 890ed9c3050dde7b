/* SPDX-License-Identifier: MIT */
/*
 * A semaphore with a post that always calls the kernel, as NPTL's did when the
 * paper was written: it adds one and wakes, even if no thread waits. Today a
 * post checks for waiters first. One operation is a post and a wait,
 * uncontended.
 */
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../micro/bench.h"

static _Atomic int value;

static void post(void)
{
	atomic_fetch_add_explicit(&value, 1, memory_order_release);
	syscall(SYS_futex, &value, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void wait(void)
{
	int now = atomic_load_explicit(&value, memory_order_relaxed);

	for (;;) {
		if (now == 0) {
			syscall(SYS_futex, &value, FUTEX_WAIT, 0, NULL, NULL,
				0);
			now = atomic_load_explicit(&value,
						   memory_order_relaxed);
		} else if (atomic_compare_exchange_weak_explicit(
				   &value, &now, now - 1, memory_order_acquire,
				   memory_order_relaxed)) {
			return;
		}
	}
}

static uint64_t pairs(long *nr_ops)
{
	uint64_t start_ns = bench_busy_ns();

	for (long i = 0; i < *nr_ops; i++) {
		post();
		wait();
	}
	return bench_busy_ns() - start_ns;
}

int main(int argc, char **argv)
{
	bench_measure(argc, argv, "waking_sem", pairs);
	return 0;
}
