/* SPDX-License-Identifier: MIT */
/*
 * The time that the memory of parked threads takes by itself: the baseline of
 * parked.c.
 *
 *     bench_touch [PERCENT [THREADS [STACK_KB]]]
 *
 * For each thread it writes two neighbouring pages at the top of a stack, for
 * the frames and the TLS block. It also writes as many bytes as a runtime and
 * libc keep elsewhere. The kernel takes all of the time.
 */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

enum { PAGE = 4096, RECORD = 624, APART = 3 * PAGE };

static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "no memory\n");
		exit(1);
	}
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

int main(int argc, char **argv)
{
	long nr = argc > 2 ? atol(argv[2]) : bench_scale(argc, argv, 10000);
	size_t stack = (size_t)(argc > 3 ? atol(argv[3]) : 64) << 10;
	size_t stride = stack + APART;
	struct bench_memory before = bench_memory_now();
	char *stacks = map((size_t)nr * stride);
	char *records = map((size_t)nr * RECORD);
	uint64_t start_ns = bench_now_ns();

	for (long i = 0; i < nr; i++) {
		char *top = stacks + (size_t)i * stride + stack;

		top[0] = 1;
		top[-PAGE] = 1;
		records[(size_t)i * RECORD] = 1;
	}
	bench_report("touch_create", start_ns, nr);
	bench_report_memory("touch_bytes", before, nr);
	return 0;
}
