# SPDX-License-Identifier: MIT
"""An installed weft, and small programs that find it there."""

import os
import pathlib
import shutil
import subprocess
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", ROOT / "build")).resolve()

# Each program prints the version, and whether its threads run on weft.
C = """
#include <stdio.h>
#include <threads.h>
#include <weft/weft.h>
static int serve(void *arg) { (void)arg; return 0; }
int main(void)
{
    thrd_t thread;
    if (thrd_create(&thread, serve, NULL) != thrd_success)
        return 1;
    thrd_join(thread, NULL);
    printf("%s %d\\n", weft_version(), weft_is_active());
}
"""
CPP = """
#include <iostream>
#include <thread>
#include <weft/weft.h>
int main()
{
    { std::jthread thread([] {}); }
    std::cout << weft_version() << ' ' << weft_is_active() << '\\n';
}
"""
RUST = """
use std::ffi::{c_char, c_int, CStr};
// So it comes ahead of libc, which the standard library is linked with.
#[cfg_attr(not(api), link(name = "weft"))]
#[cfg_attr(api, link(name = "weft-api"))]
extern "C" {
    fn weft_version() -> *const c_char;
    fn weft_is_active() -> c_int;
}
fn main() {
    std::thread::spawn(|| {}).join().unwrap();
    let version = unsafe { CStr::from_ptr(weft_version()) };
    println!("{} {}", version.to_str().unwrap(), unsafe { weft_is_active() });
}
"""
SOURCES = {"main.c": C, "main.cpp": CPP, "main.rs": RUST}
SCRUBBED = ("LD_PRELOAD", "GLIBC_TUNABLES", "LD_LIBRARY_PATH",
            "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "DESTDIR", "CC", "CXX",
            "CFLAGS", "CXXFLAGS", "LDFLAGS")


def need(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def version():
    text = (ROOT / "include/weft/weft.h").read_text()
    return text.partition('#define WEFT_VERSION "')[2].partition('"')[0]


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Where `meson install` has put weft, which is not its prefix."""
    root = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
                    "--destdir", root], check=True, capture_output=True)
    return types.SimpleNamespace(
        root=root, lib=next(root.rglob("libweft.so.0")).parent,
        prefix=next(root.rglob("bin/weft")).parents[1])


@pytest.fixture
def project(tmp_path, installed):
    """A folder with the sources: project.run("cc", ...) runs in it."""
    for name, text in SOURCES.items():
        (tmp_path / name).write_text(text)
    env = {key: value for key, value in os.environ.items()
           if key not in SCRUBBED and not key.startswith("WEFT_")}
    env |= {"PKG_CONFIG_PATH": str(installed.lib / "pkgconfig"),
            "PKG_CONFIG_SYSROOT_DIR": str(installed.root),
            "CMAKE_PREFIX_PATH": str(installed.prefix),
            "LD_LIBRARY_PATH": str(installed.lib)}

    def run(*command, **more):
        done = subprocess.run([str(word) for word in command], cwd=tmp_path,
                              env=env, text=True, capture_output=True,
                              timeout=200, **more)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def runs_on_weft(program, on_weft):
        assert run(tmp_path / program) == f"{version()} {int(on_weft)}\n"

    return types.SimpleNamespace(path=tmp_path, run=run,
                                 runs_on_weft=runs_on_weft)
