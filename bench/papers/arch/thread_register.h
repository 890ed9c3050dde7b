/* SPDX-License-Identifier: MIT */
/*
 * The thread register of each CPU.
 *
 *     void *mine = thread_register_read();
 *
 *     if (thread_register_has_set())
 *             thread_register_set(mine);           an instruction
 *     thread_register_set_call(mine);              a system call
 *
 * Where a CPU has no such instruction or the kernel no such call, the macro
 * NO_SET or NO_SET_CALL says why.
 */
#ifndef THREAD_REGISTER_H
#define THREAD_REGISTER_H

#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)

/* Bit of AT_HWCAP2: programs may execute wrfsbase. */
enum { HAS_FSGSBASE = 2, CODE_SET_FS = 0x1002 };

static inline void *thread_register_read(void)
{
	void *found;

	/* The thread descriptor begins with its own address. */
	__asm__ volatile("movq %%fs:0, %0" : "=r"(found));
	return found;
}

static inline bool thread_register_has_set(void)
{
	return getauxval(AT_HWCAP2) & HAS_FSGSBASE;
}

static inline void thread_register_set(void *value)
{
	__asm__ volatile("wrfsbase %0" : : "r"(value) : "memory");
}

static inline void thread_register_set_call(void *value)
{
	syscall(SYS_arch_prctl, CODE_SET_FS, value);
}

#elif defined(__mips__)

#define NO_SET "the CPU has no instruction for it"

static inline void *thread_register_read(void)
{
	void *found;

	/* The kernel emulates it faster with this destination. */
	__asm__ volatile(".set push\n\t"
			 ".set mips64r2\n\t"
			 "rdhwr $3, $29\n\t"
			 ".set pop\n\t"
			 "move %0, $3"
			 : "=r"(found)
			 :
			 : "$3");
	return found;
}

static inline void thread_register_set_call(void *value)
{
	syscall(SYS_set_thread_area, value);
}

#elif defined(__aarch64__) || defined(__riscv)

#define NO_SET_CALL "the kernel has no system call for it"

static inline bool thread_register_has_set(void)
{
	return true;
}

#ifdef __aarch64__

static inline void *thread_register_read(void)
{
	void *found;

	__asm__ volatile("mrs %0, tpidr_el0" : "=r"(found));
	return found;
}

static inline void thread_register_set(void *value)
{
	__asm__ volatile("msr tpidr_el0, %0" : : "r"(value) : "memory");
}

#else

static inline void *thread_register_read(void)
{
	void *found;

	__asm__ volatile("mv %0, tp" : "=r"(found));
	return found;
}

static inline void thread_register_set(void *value)
{
	__asm__ volatile("mv tp, %0" : : "r"(value) : "memory");
}

#endif
#endif

#ifdef NO_SET
static inline bool thread_register_has_set(void)
{
	return false;
}

static inline void thread_register_set(void *value)
{
	(void)value;
}
#endif

#ifdef NO_SET_CALL
static inline void thread_register_set_call(void *value)
{
	(void)value;
}
#endif

#endif
