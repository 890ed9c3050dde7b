# SPDX-License-Identifier: MIT
"""libweft-api.a as a program uses it: pkg-config finds it, for C and C++, with
and without PIC. The library finds the runtime if it is loaded."""

import os
import shutil
import subprocess

import pytest

from conftest import BUILD

SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <weft/weft.h>

static void *ring(void *arg)
{
	uint32_t *word = (uint32_t *)arg;

	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	weft_word_ring(word);
	return NULL;
}

int main(void)
{
	uint32_t *word = weft_word_new(0);
	pthread_t thread;
	int err;

	pthread_create(&thread, NULL, ring, word);
	err = weft_word_wait_until(word, 4 | WEFT_WORD_RUNG, UINT32_MAX, 0,
				   NULL);
	pthread_join(thread, NULL);
	weft_word_free(word);
	printf("%d %d\\n", err, weft_is_active());
	return 0;
}
"""


@pytest.fixture(scope="module")
def flags():
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    folder = BUILD / "meson-uninstalled"
    return subprocess.run(
        ["pkg-config", "--cflags", "--libs", "weft-api"], text=True,
        capture_output=True, check=True,
        env={**os.environ, "PKG_CONFIG_PATH": str(folder)}).stdout.split()


@pytest.mark.parametrize("how", ["-pie", "-no-pie"])
@pytest.mark.parametrize("language,compiler", [("c", "gcc"), ("c++", "g++")])
def test_with_weft_and_without(weft, tmp_path, flags, language, compiler, how):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    source, program = tmp_path / "source", tmp_path / "program"
    source.write_text(SOURCE)
    pic = "-fPIE" if how == "-pie" else "-fno-pie"
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-pedantic",
                    "-Wno-unused-parameter", pic, how, "-pthread", "-o",
                    program, "-x", language, source, "-x", "none", *flags],
                   check=True)
    native = subprocess.run([program], capture_output=True, text=True,
                            timeout=60, check=True)
    assert native.stdout == "0 0\n"
    assert weft("run", program).stdout == "0 1\n"
