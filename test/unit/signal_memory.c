/* SPDX-License-Identifier: MIT */
/*
 * src/signal/memory.c: which memory is mapped, found by the fault handler or by
 * a system call.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/memory.h"
#include "base/self.h"
#include "os/mem.h"
#include "sched/thread.h"
#include "signal/memory.h"

enum { MOST = 40 };

static struct wf_thread self;
static char *end;      /* mapped memory ends here */
static char *constant; /* a read-only page */
static int nr_faults;

static void on_fault(int sig, siginfo_t *info, void *uc)
{
	nr_faults++;
	if (!wf_arch_copy_fixup(uc))
		signal(sig, SIG_DFL);
}

static void set_guard(bool has_one)
{
	const struct sigaction action = { .sa_sigaction = on_fault,
					  .sa_flags = SA_SIGINFO };

	wf_self = &self;
	self.carrier = (struct wf_carrier *)&self;
	wf_memory_uncaught = has_one ? 0 : WF_MEMORY_SIGNALS;
	if (has_one)
		sigaction(SIGSEGV, &action, NULL);
	else
		signal(SIGSEGV, SIG_DFL);
	nr_faults = 0;
}

static int setup(void **state)
{
	end = mmap(NULL, 3 * WF_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	mprotect(end, 2 * WF_PAGE, PROT_READ | PROT_WRITE);
	end += 2 * WF_PAGE;
	constant = mmap(NULL, WF_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	return 0;
}

/* Copies each number of bytes, with each number of them after the end. */
static void copy_at_end(void)
{
	for (size_t bytes = 0; bytes <= MOST; bytes++) {
		for (size_t missing = 0; missing <= bytes; missing++) {
			int expected = missing == 0 ? 0 : -EFAULT;
			char *at = end - bytes + missing;
			char from[MOST], to[MOST + 1] = { 0 };

			memset(from, (int)bytes + 1, sizeof(from));
			assert_int_equal(wf_memory_put(at, from, bytes),
					 expected);
			assert_int_equal(wf_memory_get(to, at, bytes),
					 expected);
			assert_int_equal(wf_memory_is_readable(at, bytes),
					 missing == 0);
			if (missing == 0)
				assert_memory_equal(to, from, bytes);
			assert_int_equal(to[bytes], 0);
		}
	}
}

static void look_elsewhere(void)
{
	const struct timespec ts = { 1, 0 };
	char *start = end - 2 * WF_PAGE;
	int64_t deadline_ns;
	char bytes[8] = { 0 };

	assert_int_equal(wf_memory_get(bytes, constant, 8), 0);
	assert_int_equal(wf_memory_put(constant, bytes, 8), -EFAULT);
	assert_false(wf_memory_is_readable((void *)8, 1));
	assert_false(wf_memory_is_readable(NULL, 1));
	assert_false(wf_memory_is_readable((void *)UINTPTR_MAX, 8));
	assert_false(wf_memory_is_readable((void *)(1UL << 63), 8));
	assert_true(wf_memory_is_readable(start, 2 * WF_PAGE));
	assert_false(wf_memory_is_readable(start + 1, 2 * WF_PAGE));
	assert_true(wf_memory_is_readable(NULL, 0));

	memset(start, 'x', 2 * WF_PAGE);
	assert_false(wf_memory_is_string(start, SIZE_MAX));
	assert_false(wf_memory_is_string(end - 4, 5));
	assert_true(wf_memory_is_string(end - 4, 4));
	assert_true(wf_memory_is_string(end, 0));
	end[-1] = '\0';
	assert_true(wf_memory_is_string(start, SIZE_MAX));

	assert_int_equal(wf_memory_get_deadline(NULL, &deadline_ns), 0);
	assert_int_equal(wf_memory_get_deadline(&ts, &deadline_ns), 0);
	assert_int_equal(wf_memory_get_deadline((void *)end, &deadline_ns),
			 -EFAULT);
}

static void with_a_handler(void **state)
{
	set_guard(true);
	copy_at_end();
	assert_true(nr_faults > 0);
	look_elsewhere();
}

/* Without the handler, so any fault would end this process. */
static void without(void **state)
{
	set_guard(false);
	copy_at_end();
	look_elsewhere();
	wf_memory_uncaught = 0;
	self.sigmask = WF_SIGNAL_BIT(SIGBUS);
	look_elsewhere();
	self.sigmask = 0;
	self.carrier = NULL;
	look_elsewhere();
	wf_self = NULL;
	look_elsewhere();
}

static void words_that_can_be_written(void **state)
{
	for (int has_guard = 0; has_guard < 2; has_guard++) {
		set_guard(has_guard);
		memset(end - 4, 7, 4);
		assert_true(wf_memory_is_writable(end - 4, 4));
		assert_int_equal(end[-4], 7);
		assert_false(wf_memory_is_writable(end, 4));
		assert_false(wf_memory_is_writable(constant, 4));
		assert_int_equal(nr_faults, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_a_handler),
		cmocka_unit_test(without),
		cmocka_unit_test(words_that_can_be_written),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
