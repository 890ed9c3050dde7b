/* SPDX-License-Identifier: MIT */
/*
 * src/libc/elf.c finds the same symbols in the loaded libc and ld.so as dlsym.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "libc/elf.h"

static void assert_same_as_dlsym(const char *object, const char *name)
{
	void *expected = dlsym(RTLD_DEFAULT, name);

	assert_non_null(expected);
	assert_ptr_equal(wf_elf_symbol(object, name), expected);
}

static void test_functions(void **state)
{
	static const char *const names[] = { "malloc",
					     "free",
					     "pthread_create",
					     "read",
					     "pthread_mutex_lock",
					     "getenv",
					     "__libc_start_main",
					     "strtol",
					     "sem_timedwait",
					     "open" };

	for (size_t i = 0; i < WF_ARRAY_LEN(names); i++)
		assert_same_as_dlsym("libc.so", names[i]);
}

static void test_data(void **state)
{
	assert_same_as_dlsym("libc.so", "stdout");
	assert_same_as_dlsym("libc.so", "_libc_intl_domainname");
}

static void test_call(void **state)
{
	const char *(*version)(void) = (const char *(*)(void))wf_elf_symbol(
		"libc.so", "gnu_get_libc_version");

	assert_non_null(version);
	assert_string_equal(version(), gnu_get_libc_version());
}

static void test_loader(void **state)
{
	assert_same_as_dlsym("ld-linux", "__tls_get_addr");
	assert_same_as_dlsym("ld-linux", "_dl_allocate_tls");
	assert_same_as_dlsym("ld-linux", "_rtld_global");
}

/* Symbols that libc exports for debuggers (GLIBC_PRIVATE). */
static void test_private(void **state)
{
	const uint32_t *size =
		wf_elf_symbol("libc.so", "_thread_db_sizeof_pthread");

	assert_non_null(size);
	assert_in_range(*size, 1024, 16 * 1024);
	assert_same_as_dlsym("libc.so", "__call_tls_dtors");
}

/* Each of these symbols also has an old, hidden version. */
static void test_default_version(void **state)
{
	static const struct {
		const char *name, *old;
	} rows[] = {
		{ "pthread_cond_wait", "GLIBC_2.2.5" },
		{ "pthread_cond_timedwait", "GLIBC_2.2.5" },
		{ "pthread_attr_init", NULL },
		{ "memcpy", "GLIBC_2.2.5" },
		{ "realpath", "GLIBC_2.2.5" },
		{ "posix_spawn", "GLIBC_2.2.5" },
	};

	for (size_t i = 0; i < WF_ARRAY_LEN(rows); i++) {
		void *p = wf_elf_symbol("libc.so", rows[i].name);

		assert_ptr_equal(p, dlsym(RTLD_DEFAULT, rows[i].name));
		if (rows[i].old == NULL)
			continue;
		/*
		 * memcpy's old version was memmove; those of the others differ
		 * from the new ones.
		 */
		assert_non_null(
			dlvsym(RTLD_DEFAULT, rows[i].name, rows[i].old));
		if (strcmp(rows[i].name, "memcpy") != 0)
			assert_ptr_not_equal(p,
					     dlvsym(RTLD_DEFAULT, rows[i].name,
						    rows[i].old));
	}
}

static void test_indirect_functions(void **state)
{
	void *(*copy)(void *, const void *, size_t) =
		(void *(*)(void *, const void *,
			   size_t))wf_elf_symbol("libc.so", "memcpy");
	size_t (*length)(const char *) =
		(size_t(*)(const char *))wf_elf_symbol("libc.so", "strlen");
	char to[16] = "";

	assert_same_as_dlsym("libc.so", "memcpy");
	assert_same_as_dlsym("libc.so", "strlen");
	assert_same_as_dlsym("libc.so", "gettimeofday");
	assert_ptr_equal(copy(to, "indirect", 9), to);
	assert_string_equal(to, "indirect");
	assert_int_equal(length(to), 8);
}

static void test_unknown(void **state)
{
	assert_null(wf_elf_symbol("libc.so", "no_such_function"));
	assert_null(wf_elf_symbol("libc.so", ""));
	assert_null(wf_elf_symbol("no-such-object", "malloc"));
	/* libc.so refers to this symbol and does not define it. */
	assert_null(wf_elf_symbol("libc.so", "__tls_get_addr"));
	/*
	 * This symbol exists at most in a hidden version, for very old
	 * programs.
	 */
	assert_null(wf_elf_symbol("libc.so", "__malloc_initialize_hook"));
}

/* Every name in the table that weft fills at its start. */
static void test_real(void **state)
{
	static const char *const names[] = {
#define WF_REAL(ret, name, args) #name,
#include "libc/real_names.h"
#undef WF_REAL
	};

	for (size_t i = 0; i < WF_ARRAY_LEN(names); i++)
		assert_non_null(wf_elf_symbol("libc.so", names[i]));
}

/* The lookup takes no memory: it may run when malloc and the loader cannot. */
static void test_takes_no_memory(void **state)
{
	struct mallinfo2 before = mallinfo2(), after;

	wf_elf_symbol("libc.so", "malloc");
	wf_elf_symbol("libc.so", "no_such_function");
	after = mallinfo2();
	assert_int_equal(before.uordblks, after.uordblks);
	assert_int_equal(before.hblkhd, after.hblkhd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_loader),
		cmocka_unit_test(test_private),
		cmocka_unit_test(test_default_version),
		cmocka_unit_test(test_indirect_functions),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_takes_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
