# SPDX-License-Identifier: MIT
"""The cost in context switches when threads that mostly wait run briefly."""

import pytest

# A thread naps argv[1] times; argv[2] selects the other threads. The process's
# voluntary context switches are counted.
NAPS = """
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static sem_t ping, pong;

static void *read_pipe(void *arg)
{
	int ends[2];
	char c;

	return pipe(ends) == 0 && read(ends[0], &c, 1) == 1 ? arg : NULL;
}

static void *answer(void *arg)
{
	for (;;) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return arg;
}

static void nap(int nr, int asks)
{
	const struct timespec moment = { 0, 30000000 };

	for (int i = 0; i < nr; i++) {
		nanosleep(&moment, NULL);
		if (asks) {
			sem_post(&ping);
			sem_wait(&pong);
		}
	}
}

static void *naps(void *arg)
{
	char **argv = arg;
	int nr = atoi(argv[1]), asks = argv[2][0] == 'a';
	struct rusage before, after;

	nap(3, asks);
	getrusage(RUSAGE_SELF, &before);
	nap(nr, asks);
	getrusage(RUSAGE_SELF, &after);
	printf("%ld\\n", after.ru_nvcsw - before.ru_nvcsw);
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argv[2][0] == 'r')
		pthread_create(&thread, NULL, read_pipe, NULL);
	if (argv[2][0] == 'a')
		pthread_create(&thread, NULL, answer, NULL);
	pthread_create(&thread, NULL, naps, argv);
	return pthread_join(thread, NULL);
}
"""


@pytest.mark.parametrize("vps", ["1", "2"])
@pytest.mark.parametrize("what,most", [("nobody", 1.5), ("reader", 2.7),
                                       ("answerer", 2.7)])
def test_short_runs_cost_little(weft, compile_c, vps, what, most):
    """At each nap only the napping thread wakes, and perhaps the monitor once.
    The monitor must not wake at several ticks before it sleeps."""
    program = compile_c("-pthread", source=NAPS)
    nr, seen = 40, []
    # If other programs want the CPUs, each run lasts long.
    for _ in range(5):
        result = weft("run", "--vps", vps, program, str(nr), what)
        assert result.returncode == 0, result.stderr
        seen.append(int(result.stdout) / nr)
        if seen[-1] < most:
            return
    pytest.fail(f"switches for each nap: {seen}")
