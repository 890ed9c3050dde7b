/* SPDX-License-Identifier: MIT */
/* Limits the number of descriptors that a test may have. */
#ifndef DESCRIPTORS_H
#define DESCRIPTORS_H

#include <sys/resource.h>

#include "check.h"

/* Skips the case if no nr further descriptors are allowed. */
static inline void need_descriptors(rlim_t nr)
{
	struct rlimit limit;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < nr + 100)
		SKIP("so many descriptors are not to be had");
	if (limit.rlim_cur < nr + 100) {
		limit.rlim_cur = nr + 100;
		CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
}

#endif
