/* SPDX-License-Identifier: MIT */
/* Reads how much memory the process has. */
#ifndef USAGE_H
#define USAGE_H

#include <stdio.h>
#include <unistd.h>

#include "check.h"

struct usage {
	long address_space_kib, resident_kib;
};

static inline struct usage usage_now(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long page_kib = sysconf(_SC_PAGESIZE) / 1024, total, resident;

	CHECK(f != NULL);
	CHECK_EQ(fscanf(f, "%ld %ld", &total, &resident), 2);
	fclose(f);
	return (struct usage){ total * page_kib, resident * page_kib };
}

#endif
