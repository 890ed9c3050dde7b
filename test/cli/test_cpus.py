# SPDX-License-Identifier: MIT
"""How many CPUs a program sees, and how many virtual processors it gets."""

import os
import pathlib
import random
import re
import shutil
import subprocess
import time

import pytest

from conftest import BUILD

CPUS = sorted(os.sched_getaffinity(0))

# Prints the CPUs that it sees before it has threads, in a thread, and after.
# With an argument it first restricts itself to its first CPU.
SEER = r"""
#include <cstdio>
#include <sched.h>
#include <sys/sysinfo.h>
#include <thread>
#include <unistd.h>

static void look(const char *when)
{
	cpu_set_t set;
	int err = sched_getaffinity(0, sizeof(set), &set);

	printf("%s: %d %d, %ld %ld, %d %d, %u\n", when, err, CPU_COUNT(&set),
	       sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_NPROCESSORS_CONF),
	       get_nprocs(), get_nprocs_conf(),
	       std::thread::hardware_concurrency());
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		cpu_set_t all, one;
		int cpu = 0;

		sched_getaffinity(0, sizeof(all), &all);
		while (!CPU_ISSET(cpu, &all))
			cpu++;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	look("before");
	std::thread([] { look("in a thread"); }).join();
	look("after");
	if (argc > 2) {
		fflush(stdout);
		pause();
	}
}
"""

# Threads compute and meet; their sum must be right.
WORKERS = """
#include <pthread.h>
#include <stdio.h>

enum { NR = 4, ROUNDS = 3000 };
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		for (volatile int k = 0; k < 20000; k++)
			;
		pthread_mutex_lock(&mutex);
		sum++;
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[NR];

	pthread_barrier_init(&barrier, NULL, NR);
	for (int i = 0; i < NR; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	puts("begun");
	fflush(stdout);
	for (int i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\\n", sum);
	return 0;
}
"""


@pytest.fixture
def seer(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no g++")
    program = tmp_path / "seer"
    subprocess.run(["g++", "-x", "c++", "-", "-o", program, "-pthread"],
                   input=SEER, text=True, check=True)
    return program


def output(command, cpus=CPUS):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                          preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("args", [[], ["one"]])
@pytest.mark.parametrize("cpus", [CPUS, CPUS[:1], CPUS[-1:]])
def test_sees_the_same(seer, cpus, args):
    native = output([seer, *args], cpus)
    assert native.count("\n") == 3
    assert output([BUILD / "weft", "run", seer, *args], cpus) == native
    assert output([BUILD / "weft", "run", "--vps", "3", seer, *args],
                  cpus) == native


def nr_tasks(seer, args, *options, cpus=CPUS):
    """Runs the program and returns its number of kernel threads, which includes
    one for each virtual processor."""
    process = subprocess.Popen(
        [BUILD / "weft", "run", *options, seer, *args],
        stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    try:
        for _ in range(3):
            process.stdout.readline()
        time.sleep(0.2)
        return len(os.listdir(f"/proc/{process.pid}/task"))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def quota_holds():
    """Is there a CPU quota on this test? Then CPUs do not count alone."""
    files = [*pathlib.Path("/sys/fs/cgroup").rglob("cpu.max"),
             *pathlib.Path("/sys/fs/cgroup").rglob("cpu.cfs_quota_us")]
    return any(not re.match(r"max|-1", file.read_text()) for file in files)


@pytest.mark.skipif(quota_holds(), reason="there is a CPU quota")
def test_as_many_processors_as_cpus(seer):
    by_number = {nr: nr_tasks(seer, ["all", "wait"], "--vps", str(nr))
                 for nr in {1, 2, len(CPUS)}}
    assert by_number[2] == by_number[1] + 1
    assert nr_tasks(seer, ["all", "wait"], cpus=CPUS[:1]) == by_number[1]


def test_affinity_changes_while_it_runs(compile_c):
    program = compile_c("-pthread", source=WORKERS)
    rng = random.Random(1)
    process = subprocess.Popen([BUILD / "weft", "run", "--vps", "2", program],
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    while process.poll() is None:
        cpus = rng.sample(CPUS, rng.randint(1, len(CPUS)))
        for task in os.listdir(f"/proc/{process.pid}/task"):
            try:
                os.sched_setaffinity(int(task), cpus)
            except OSError:
                break
        time.sleep(0.005)
    assert process.stdout.read() == "12000\n"
    assert process.returncode == 0
    process.stdout.close()
