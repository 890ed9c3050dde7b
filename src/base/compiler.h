/* SPDX-License-Identifier: MIT */
/*
 * Short names for attributes and built-ins of the compiler. None costs anything
 * at run time.
 */
#ifndef WEFT_BASE_COMPILER_H
#define WEFT_BASE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define WF_LIKELY(x) __builtin_expect(!!(x), 1)
#define WF_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A symbol that programs see. Only for src/api and src/libc. */
#define WF_EXPORT __attribute__((visibility("default")))
/*
 * Short functions that do not enter the runtime, hold no lock and use no VP or
 * carrier. So a thread may be preempted in them.
 */
#define WF_PREEMPTIBLE __attribute__((section("weft_preemptible")))
#define WF_COLD __attribute__((cold, noinline))
/*
 * For a function where a call would cost too much. Where the function does not
 * return, gcc would otherwise keep the call.
 */
#define WF_INLINE static inline __attribute__((always_inline))
/*
 * The usual path of a wait or a wake: the linker copies it into its callers in
 * other files. The header declares it without this. Without link-time
 * optimisation, as in unit tests with fakes, it is called.
 */
#define WF_LINK_INLINE inline __attribute__((always_inline))
#define WF_NOINLINE __attribute__((noinline))
#define WF_NORETURN __attribute__((noreturn))
#define WF_ALIGNED(n) __attribute__((aligned(n)))
#define WF_CACHE_LINE 64

/* Stops the compiler, not the CPU, from moving memory accesses across. */
#define wf_compiler_barrier() __asm__ volatile("" ::: "memory")

/* The compiler may rely on x, which is true. */
#define WF_ASSUME(x)                             \
	do {                                     \
		if (!(x))                        \
			__builtin_unreachable(); \
	} while (0)

/*
 * Returns p, which is not NULL, as a variable of its own for the compiler. A
 * variable that is used on both sides of a context switch lies in memory from
 * its beginning on, because the switch clobbers all registers. Of p and the
 * copy, the one that is used on one side only stays in a register.
 */
WF_INLINE void *wf_apart(const void *p)
{
	uintptr_t copy = (uintptr_t)p;

	__asm__("" : "+r"(copy));
	WF_ASSUME(copy != 0);
	return (void *)copy;
}

#define wf_container_of(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))

#define wf_align_up(x, a) (((x) + (a)-1) & ~((__typeof__(x))(a)-1))
#define wf_align_down(x, a) ((x) & ~((__typeof__(x))(a)-1))

#define WF_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
