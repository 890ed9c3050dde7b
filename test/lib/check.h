/* SPDX-License-Identifier: MIT */
/*
 * A harness for programs made of named test cases. The program knows nothing
 * of what runs its threads; `prog NAME` runs one case in this process, `prog`
 * all, each in a child, and `prog --list` names them.
 *
 *     #include "check.h"
 *
 *     TEST(lock_twice)
 *     {
 *             pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
 *
 *             CHECK(pthread_mutex_lock(&m) == 0);
 *             CHECK_EQ(pthread_mutex_lock(&m), EDEADLK);
 *     }
 *
 * A case that returns has passed. A failed check prints its place and its
 * condition and ends the process with status 1, from whichever thread; SKIP
 * ends it with status 77.
 */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct check_case {
	const char *name;
	int line;
	void (*run)(void);
	struct check_case *next;
};

#define CHECK_STATUS_SKIP 77

/* The name of the running case, for messages; check_main.c writes it. */
extern const char *check_current;

/* Cases run in the order of their lines. */
void check_register(struct check_case *c);

void check_failed(const char *file, int line, const char *what)
	__attribute__((noreturn));
void check_not_equal(const char *file, int line, const char *what, long actual,
		     long expected) __attribute__((noreturn));
/* Like check_not_equal, but continues after a failure. */
void check_report(const char *file, int line, const char *what, long actual,
		  long expected);
void check_skip(const char *why) __attribute__((noreturn));

/*
 * Calls `clean` at the end of the case, even if it fails or is skipped, but not
 * at the end of its children. Other threads may run meanwhile and hold any
 * lock. Only one such function can be registered.
 */
void check_at_end(void (*clean)(void));

#define TEST(name)                                                            \
	static void name(void);                                               \
	__attribute__((constructor)) static void register_##name(void)        \
	{                                                                     \
		static struct check_case c = { #name, __LINE__, name, NULL }; \
		check_register(&c);                                           \
	}                                                                     \
	static void name(void)

#define CHECK(cond)                                              \
	do {                                                     \
		if (!(cond))                                     \
			check_failed(__FILE__, __LINE__, #cond); \
	} while (0)

#define CHECK_EQ(actual, expected)                                         \
	do {                                                               \
		long actual_ = (long)(actual);                             \
		long expected_ = (long)(expected);                         \
		if (actual_ != expected_)                                  \
			check_not_equal(__FILE__, __LINE__,                \
					#actual " == " #expected, actual_, \
					expected_);                        \
	} while (0)

/* Checks a function that returns -1 and sets errno. */
#define CHECK_ERRNO(call, expected)        \
	do {                               \
		errno = 0;                 \
		CHECK_EQ(call, -1);        \
		CHECK_EQ(errno, expected); \
	} while (0)

#define SKIP(why) check_skip(why)

#ifdef __cplusplus
}
#endif

#endif
