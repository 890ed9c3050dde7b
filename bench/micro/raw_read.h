/* SPDX-License-Identifier: MIT */
/*
 * A blocking read that no library between the program and the kernel can
 * intercept, like a driver's or a language runtime's own system call.
 */
#ifndef RAW_READ_H
#define RAW_READ_H

#include <sys/syscall.h>
#include <unistd.h>

static inline long raw_read(int fd, void *buf, size_t size)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_read), "D"(fd), "S"(buf), "d"(size)
			 : "rcx", "r11", "memory");
	return result;
#else
	return syscall(SYS_read, fd, buf, size);
#endif
}

#endif
