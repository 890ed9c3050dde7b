/* SPDX-License-Identifier: MIT */
/*
 * A library with thread-local storage is loaded and unloaded while threads
 * begin. Each change of the set of such libraries leaked 16 KiB.
 */
#include <stdio.h>

#include "modules.h"
#include "threading.h"
#include "usage.h"

enum { NR_FIRST = 100, NR_LATER = 1000, MOST_KIB = 4096 };

static void load_and_unload(int nr)
{
	for (int i = 0; i < nr; i++) {
		void *module = module_open("static_tls_module.so");

		have_threads();
		CHECK_EQ(dlclose(module), 0);
		have_threads();
	}
}

int main(void)
{
	long before;

	load_and_unload(NR_FIRST);
	before = usage_now().address_space_kib;
	load_and_unload(NR_LATER);
	CHECK(usage_now().address_space_kib - before < MOST_KIB);
	puts("all were unloaded");
	return 0;
}
