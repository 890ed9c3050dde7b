/*
 * Threads block in reads that nobody intercepts while another computes: the
 * longest time for which that one stood still.
 *
 * usage: blocked READERS
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "fair.h"

enum { MAX_READERS = 1000, SETTLE_MS = 50, RUN_MS = 400 };

static int ends[2];
static volatile int stop, go;
static volatile int64_t longest_ns;

static void *read_one(void *arg)
{
	char byte;

	while (!go)
		fair_sleep_ns(1000000);
	if (syscall(SYS_read, ends[0], &byte, 1) != 1)
		exit(1);
	return arg;
}

static void *compute(void *arg)
{
	int64_t last = fair_now_ns();

	while (!stop) {
		int64_t now = fair_now_ns();

		if (go && now - last > longest_ns)
			longest_ns = now - last;
		last = now;
	}
	return arg;
}

int main(int argc, char **argv)
{
	static pthread_t readers[MAX_READERS];
	int nr = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t computing;

	if (nr > MAX_READERS || pipe(ends) != 0)
		return 2;
	for (int i = 0; i < nr; i++)
		readers[i] = fair_create(read_one, NULL);
	computing = fair_create(compute, NULL);
	fair_sleep_ns(SETTLE_MS * 1000000LL);
	go = 1;
	fair_sleep_ns(RUN_MS * 1000000LL);
	stop = 1;
	pthread_join(computing, NULL);
	fair_report("stood_still_ms", (double)longest_ns / 1e6);
	for (int i = 0; i < nr; i++) {
		if (write(ends[1], "x", 1) != 1)
			return 1;
	}
	for (int i = 0; i < nr; i++)
		pthread_join(readers[i], NULL);
	return 0;
}
