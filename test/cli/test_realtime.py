# SPDX-License-Identifier: MIT
"""Real-time threads, checked by weft's counters."""

import re

import pytest

# Two threads alternate in turns of 300 us. Then one becomes SCHED_FIFO while
# another of its priority waits, and computes for hundreds of ticks.
EQUALS = """
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void compute_us(long us)
{
	struct timespec now;
	long now_us, end = 0;

	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		now_us = now.tv_sec * 1000 * 1000 + now.tv_nsec / 1000;
		if (end == 0)
			end = now_us + us;
	} while (now_us < end);
}

static void *take_turns(void *arg)
{
	for (int i = 0; i < 100; i++) {
		compute_us(300);
		sched_yield();
	}
	return arg;
}

static void *equal(void *arg)
{
	return arg;
}

int main(void)
{
	const struct sched_param param = { .sched_priority = 1 };
	pthread_attr_t attr;
	pthread_t other, thread;
	int rc;

	pthread_create(&other, NULL, take_turns, NULL);
	take_turns(NULL);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	rc = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	if (rc == 0)
		rc = pthread_create(&thread, &attr, equal, NULL);
	if (rc != 0) {
		puts(strerror(rc));
		return 0;
	}
	compute_us(300 * 1000);
	puts("computed");
	return pthread_join(thread, NULL) + pthread_join(other, NULL);
}
"""


def number(stats, what):
    return int(re.search(rf"{what}: (\d+)", stats)[1])


def test_equals_do_not_interrupt_each_other(weft, compile_c):
    program = compile_c("-pthread", "-O1", source=EQUALS)
    result = weft("run", "--vps", "1", "--stats", program)
    assert result.returncode == 0, result.stderr
    if result.stdout != "computed\n":
        pytest.skip(result.stdout.strip())
    asked = (number(result.stderr, "preemptions")
             + number(result.stderr, "put off: in the runtime"))
    assert asked <= number(result.stderr, "monitor ticks")
