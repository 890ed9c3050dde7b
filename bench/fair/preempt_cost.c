/*
 * What preemption costs: four threads that compute and are preempted at each
 * tick; their work by the CPU time that the whole process used.
 */
#include "fair.h"

enum { NR_HOGS = 4, RUN_MS = 1000 };

static struct fair_hog hogs[NR_HOGS];
static volatile int stop;

static int64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000LL + used.tv_nsec;
}

int main(void)
{
	uint64_t sum = 0;
	int64_t start = cpu_ns();

	fair_hogs_start(hogs, NR_HOGS, NULL, &stop);
	fair_sleep_ns(RUN_MS * 1000000LL);
	stop = 1;
	for (int i = 0; i < NR_HOGS; i++) {
		pthread_join(hogs[i].thread, NULL);
		sum += hogs[i].count;
	}
	fair_report("work_per_cpu_ms",
		    (double)sum * 1e6 / (double)(cpu_ns() - start));
	return 0;
}
