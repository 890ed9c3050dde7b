# SPDX-License-Identifier: MIT
"""Go libraries (go build -buildmode=c-shared) in programs of C and Python.

test/regress/own_runtime.c makes the same system calls without Go.
"""

import os
import re
import shutil
import subprocess

import pytest

from conftest import WEFT, compile_c, environment, run

# The first version that asks libc for a thread's stack before it inspects it.
LEAST_VERSION = (1, 21)
LIBRARY = """package main

import "C"
import (
	"sync"
	"time"
)

//export Work
func Work(n C.long) C.long {
	var group sync.WaitGroup
	var lock sync.Mutex
	total := 0
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			sum := 0
			for k := 0; k < int(n)*1000; k++ {
				sum += k ^ i
			}
			bytes := make([]byte, 100000)
			bytes[i] = byte(sum)
			time.Sleep(100 * time.Microsecond)
			lock.Lock()
			total += i
			lock.Unlock()
		}(i)
	}
	group.Wait()
	return C.long(total)
}

//export Spin
func Spin(n C.long) C.long {
	sum := 0
	for k := 0; k < int(n)*100000; k++ {
		sum += k ^ (sum << 1)
	}
	return C.long(sum & 1)
}

//export Recovered
func Recovered() (result C.long) {
	defer func() {
		if recover() != nil {
			result = 7
		}
	}()
	var nothing *int
	return C.long(*nothing)
}

func main() {}
"""
# Six threads call Go while three compute; Go preempts its own threads.
CALLERS = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef LINKED
long Work(long), Spin(long), Recovered(void);
#define work Work
#define spin Spin
#define recovered Recovered
static void load(void) { }
#else
static long (*work)(long), (*spin)(long), (*recovered)(void);
static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW);
    *(void **)&work = dlsym(library, "Work");
    *(void **)&spin = dlsym(library, "Spin");
    *(void **)&recovered = dlsym(library, "Recovered");
}
#endif
static atomic_int is_over;
static void *call(void *arg)
{
    for (int i = 0; i < 10; i++) {
        if (work(100) != 6 || recovered() != 7)
            exit(1);
        spin(10);
    }
    return arg;
}
static void *compute(void *arg)
{
    volatile unsigned long n = 0;
    while (!is_over)
        n++;
    return arg;
}
int main(void)
{
    pthread_t callers[6], computing[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&computing[i], NULL, compute, NULL);
    load();
    for (int i = 0; i < 6; i++)
        pthread_create(&callers[i], NULL, call, NULL);
    call(NULL);
    for (int i = 0; i < 6; i++)
        pthread_join(callers[i], NULL);
    is_over = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(computing[i], NULL);
    return puts("right") < 0;
}
"""
PYTHON = """
import ctypes, sys, threading
is_over = threading.Event()
def compute():
    while not is_over.is_set():
        sum(range(100))
computing = [threading.Thread(target=compute) for _ in range(3)]
for thread in computing: thread.start()
library = ctypes.CDLL(sys.argv[1])
results = []
def call():
    for _ in range(5):
        results.append(library.Work(ctypes.c_long(50)))
callers = [threading.Thread(target=call) for _ in range(6)]
for thread in callers: thread.start()
call()
for thread in callers: thread.join()
is_over.set()
for thread in computing: thread.join()
assert results == [6] * 35, results
print("right")
"""
WAYS = [["--vps", "1"], ["--vps", "2"], ["--vps", "2", "--bound", "callers"],
        ["--vps", "2", "--preempt-every", "1ms"]]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.access(go, os.X_OK):
        pytest.skip("go is not installed")
    folder = tmp_path_factory.mktemp("go")
    more = {**environment(), "HOME": str(folder), "GOTOOLCHAIN": "local",
            "GOPROXY": "off", "GOFLAGS": "", "CGO_ENABLED": "1",
            "GOCACHE": str(folder / "cache")}
    found = subprocess.run([go, "env", "GOVERSION"], text=True, env=more,
                           capture_output=True).stdout
    version = re.match(r"go(\d+)\.(\d+)", found)
    if version is None or tuple(map(int, version.groups())) < LEAST_VERSION:
        pytest.skip(f"{found.strip()} is too old")
    (folder / "lib.go").write_text(LIBRARY)
    (folder / "go.mod").write_text("module lib\n\ngo 1.21\n")
    made = subprocess.run([go, "build", "-buildmode=c-shared", "-o",
                           "libcalled.so", "."], cwd=folder, env=more,
                          text=True, capture_output=True, timeout=300)
    if made.returncode != 0:
        pytest.skip(f"go cannot build libraries: {made.stderr[-200:]}")
    return folder / "libcalled.so"


def right(command, way):
    for _ in range(3):
        result = run([*WEFT, *way, *command])
        assert (result.returncode, result.stdout) == (0, "right\n"), \
            result.stderr[-2000:]


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_linked(tmp_path, library, way):
    program = compile_c(tmp_path, CALLERS, "-pthread", "-DLINKED",
                        f"-L{library.parent}", "-lcalled",
                        f"-Wl,-rpath,{library.parent}", name="callers")
    right([program], way)


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_loaded_after_threads(tmp_path, library, way):
    program = compile_c(tmp_path, CALLERS, "-pthread",
                        f'-DLIBRARY="{library}"', name="callers")
    right([program], way)


@pytest.mark.parametrize("way", WAYS[:2], ids=" ".join)
def test_from_python(library, way):
    right(["/usr/bin/python3", "-c", PYTHON, library], way)
