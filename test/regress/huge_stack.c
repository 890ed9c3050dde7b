/* SPDX-License-Identifier: MIT */
/* A stack larger than any machine's memory is refused at once. */
#include <stdint.h>
#include <stdio.h>

#include "threading.h"

static void *do_nothing(void *arg)
{
	return arg;
}

int main(void)
{
	static const size_t sizes[] = { 1UL << 50, 1UL << 60,	    1UL << 62,
					1UL << 63, SIZE_MAX - 4095, SIZE_MAX };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		pthread_attr_t attr;
		pthread_t thread;

		CHECK_EQ(pthread_attr_init(&attr), 0);
		CHECK_EQ(pthread_attr_setstacksize(&attr, sizes[i]), 0);
		/* The error depends on which computation overflows first. */
		CHECK(pthread_create(&thread, &attr, do_nothing, NULL) != 0);
		CHECK_EQ(pthread_attr_destroy(&attr), 0);
		printf("%#zx: refused\n", sizes[i]);
		fflush(stdout);
	}
	return 0;
}
