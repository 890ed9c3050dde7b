/* SPDX-License-Identifier: MIT */
#include "fake_upcall.h"

#include <sched.h>
#include <unistd.h>

#include "base/spin.h"

void fake_log_write(const char *line, size_t len)
{
	if (write(STDERR_FILENO, line, len) < 0)
		abort();
}

long fake_thread_id(void)
{
	return getpid();
}

void fake_spin_lock_slow(struct wf_spin *s, enum wf_rank rank)
{
	while (!wf_spin_take(s, rank))
		sched_yield();
}

int fake_table_grows(uint32_t nr_threads)
{
	return 0;
}

void fake_service_made(int tid)
{
}

__attribute__((weak)) const struct wf_upcalls wf_upcall = { FAKE_UPCALLS };
