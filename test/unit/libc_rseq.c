/* SPDX-License-Identifier: MIT */
/*
 * src/libc/rseq.c with areas of any length that libc may have registered, and a
 * faked __rseq_size. Each case has its own kernel thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "libc/elf.h"
#include "libc/rseq.h"
#include "libc/template.h"

enum { SIGNATURE = 0x53053053, ROOM = 256, ORIGINAL = 32 };

static _Thread_local ptrdiff_t offset;
static _Thread_local unsigned int size;

void *wf_elf_symbol(const char *object, const char *name)
{
	if (strcmp(name, "__rseq_offset") == 0)
		return &offset;
	return strcmp(name, "__rseq_size") == 0 ? &size : NULL;
}

struct trial {
	size_t registered;	/* in bytes */
	unsigned int published; /* the value of __rseq_size */
	bool is_possible, is_unregistered, is_written;
};

/* glibc has registered an area for this kernel thread. */
static void unregister_libcs(void)
{
	const ptrdiff_t *at = dlsym(RTLD_DEFAULT, "__rseq_offset");

	if (at != NULL)
		syscall(SYS_rseq, wf_cpu_thread_register() + *at, ORIGINAL,
			RSEQ_FLAG_UNREGISTER, SIGNATURE);
}

static void *try_in_thread(void *arg)
{
	static _Thread_local _Alignas(ROOM) unsigned char bytes[ROOM];
	struct rseq *area = (struct rseq *)bytes;
	struct trial *trial = arg;

	unregister_libcs();
	area->cpu_id = WF_RSEQ_NO_CPU;
	trial->is_possible =
		syscall(SYS_rseq, area, trial->registered, 0, SIGNATURE) == 0;
	if (!trial->is_possible)
		return NULL;
	offset = (ptrdiff_t)bytes - (ptrdiff_t)wf_cpu_thread_register();
	size = trial->published;
	trial->is_unregistered = wf_rseq_unregister();
	trial->is_written = area->cpu_id == WF_RSEQ_NO_CPU;
	/* Otherwise the kernel would write to an ended thread's memory. */
	syscall(SYS_rseq, area, trial->registered, RSEQ_FLAG_UNREGISTER,
		SIGNATURE);
	return NULL;
}

/* Skips the test if the kernel has no rseq, or none of that length. */
static void assert_unregistered(size_t registered, unsigned int published,
				bool expected)
{
	struct trial trial = { .registered = registered,
			       .published = published };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, try_in_thread, &trial),
			 0);
	pthread_join(thread, NULL);
	if (!trial.is_possible)
		skip();
	assert_int_equal(trial.is_unregistered, expected);
	assert_int_equal(trial.is_written, expected);
}

/* glibc 2.35 to 2.39: __rseq_size is the size of the area. */
static void test_first_version(void **state)
{
	assert_unregistered(32, 32, true);
}

/* glibc 2.40: __rseq_size is the size of the fields in use. */
static void test_less_is_published(void **state)
{
	assert_unregistered(32, 20, true);
	assert_unregistered(32, 28, true);
}

/* glibc 2.41 and a kernel with more fields. */
static void test_more_fields(void **state)
{
	assert_unregistered(33, 33, true);
	assert_unregistered(64, 64, true);
}

static void test_stays_as_it_is(void **state)
{
	assert_unregistered(96, 33, false);
	assert_unregistered(32, 0, false); /* libc has registered no area */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_version),
		cmocka_unit_test(test_less_is_published),
		cmocka_unit_test(test_more_fields),
		cmocka_unit_test(test_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
