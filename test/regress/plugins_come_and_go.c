/*
 * A library with storage of threads is loaded and unloaded while threads begin.
 * Each change of the set of such libraries took 16 KiB for good.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "threading.h"

enum { NR_FIRST = 100, NR_LATER = 1000, MOST_KIB = 4096 };

static char module_path[600];

static void find_module(void)
{
	ssize_t length = readlink("/proc/self/exe", module_path, 500);

	CHECK(length > 0);
	module_path[length] = '\0';
	strcpy(strrchr(module_path, '/'), "/static_tls_module.so");
}

static void load_and_unload(int nr)
{
	for (int i = 0; i < nr; i++) {
		void *module = dlopen(module_path, RTLD_NOW | RTLD_LOCAL);

		CHECK(module != NULL);
		have_threads();
		CHECK_EQ(dlclose(module), 0);
		have_threads();
	}
}

static long address_space_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages;

	CHECK(f != NULL);
	CHECK_EQ(fscanf(f, "%ld", &pages), 1);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE) / 1024;
}

int main(void)
{
	long before;

	find_module();
	load_and_unload(NR_FIRST);
	before = address_space_kib();
	load_and_unload(NR_LATER);
	CHECK(address_space_kib() - before < MOST_KIB);
	puts("all were unloaded");
	return 0;
}
