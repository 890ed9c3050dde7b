/* SPDX-License-Identifier: MIT */
/* x86-64: thread register, pause, system call instruction. */
#ifndef WEFT_ARCH_X86_64_CPU_H
#define WEFT_ARCH_X86_64_CPU_H

#include <cpuid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The size of the red zone: bytes below the stack pointer that an interrupted
 * function may use.
 */
#define WF_ARCH_RED_ZONE 128

/*
 * The part of the TCB that the ABI between compiler and libc fixes. It has the
 * TCB's own address twice, the stack protector canary and the pointer guard.
 */
#define WF_ARCH_TCB_HEADER_BYTES 64
#define WF_ARCH_TCB_GUARDS_OFFSET 40
#define WF_ARCH_TCB_GUARDS_BYTES 16

/* The bit of AT_HWCAP2 that says that user code may execute wrfsbase. */
#define WF_ARCH_HWCAP2_FSGSBASE 2UL

/*
 * The size of a carrier's alternate stack, by which signal.S knows it. A
 * program is unlikely to choose this size.
 */
#define WF_ARCH_ALTSTACK_BYTES 65472
#define WF_ARCH_MARK_MAGIC 0x77656674616c7473ULL
/* The offset from a frame's ucontext to the thread register of its thread. */
#define WF_ARCH_FRAME_TP 304

/*
 * mxcsr and x87 control word at a program's start: all exceptions are masked.
 */
#define WF_ARCH_FP_CONTROL_INITIAL (0x1f80ULL | 0x37fULL << 32)

/* Returns the caller's control words, without mxcsr's sticky flags. */
static inline uint64_t wf_cpu_fp_control(void)
{
	uint32_t mxcsr;
	uint16_t x87;

	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(x87));
	return (mxcsr & ~0x3fU) | (uint64_t)x87 << 32;
}

/* True if user code has a register of access rights by protection key. Linux
 * reports it by the bit OSPKE. */
static inline bool wf_cpu_has_keys(void)
{
	uint32_t a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
	       (c & bit_OSPKE) != 0;
}

static inline uint32_t wf_cpu_keys(void)
{
	uint32_t rights, high;

	__asm__ volatile("rdpkru" : "=a"(rights), "=d"(high) : "c"(0));
	return rights;
}

static inline void wf_cpu_set_keys(uint32_t rights)
{
	__asm__ volatile("wrpkru" : : "a"(rights), "c"(0), "d"(0) : "memory");
}

/*
 * Returns the gs base. Call it only if AT_HWCAP2 has WF_ARCH_HWCAP2_FSGSBASE.
 */
static inline uint64_t wf_cpu_gs_base(void)
{
	uint64_t base;

	__asm__ volatile("rdgsbase %0" : "=r"(base));
	return base;
}

static inline void wf_cpu_set_gs_base(uint64_t base)
{
	__asm__ volatile("wrgsbase %0" : : "r"(base) : "memory");
}

/*
 * Clears the alignment-check flag. The kernel enters a signal handler with the
 * flag that the interrupted code has set, and weft's code makes unaligned
 * accesses.
 */
static inline void wf_cpu_enter_handler(void)
{
	__asm__ volatile("leaq -128(%%rsp), %%rsp\n\t" /* skip the red zone */
			 "pushfq\n\t"
			 "andq $~0x40000, (%%rsp)\n\t"
			 "popfq\n\t"
			 "leaq 128(%%rsp), %%rsp"
			 :
			 :
			 : "cc", "memory");
}

static inline void wf_cpu_pause(void)
{
	__builtin_ia32_pause();
}

/*
 * Returns the thread register. The TCB's first word has its own address, so a
 * plain load reads it.
 */
static inline uintptr_t wf_cpu_thread_register(void)
{
	uintptr_t tp;

	__asm__ volatile("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

/*
 * Copies from lower to higher addresses. The effect is that of copying single
 * bytes, the speed that of blocks.
 */
static inline void wf_cpu_copy(void *to, const void *from, size_t bytes)
{
	__asm__ volatile("rep movsb"
			 : "+D"(to), "+S"(from), "+c"(bytes)
			 :
			 : "memory");
}

static inline void wf_cpu_fill(void *to, int byte, size_t bytes)
{
	__asm__ volatile("rep stosb"
			 : "+D"(to), "+c"(bytes)
			 : "a"(byte)
			 : "memory");
}

static inline long wf_arch_syscall6(long nr, long a, long b, long c, long d,
				    long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#endif
