/* SPDX-License-Identifier: MIT */
/* Compares the version of Linux: if (kernel_is_before(6, 14)) SKIP("..."); */
#ifndef WEFT_TEST_LIB_KERNEL_H
#define WEFT_TEST_LIB_KERNEL_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "check.h"

static inline bool kernel_is_before(int version, int release)
{
	struct utsname system;
	int is_version = 0, is_release = 0;

	CHECK_EQ(uname(&system), 0);
	CHECK_EQ(sscanf(system.release, "%d.%d", &is_version, &is_release), 2);
	return is_version < version ||
	       (is_version == version && is_release < release);
}

#endif
