/* SPDX-License-Identifier: MIT */
/* A library with a constructor that does not return. */
extern void wait_in_constructor(void);

__attribute__((constructor)) static void begin(void)
{
	wait_in_constructor();
}
