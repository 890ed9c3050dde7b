# SPDX-License-Identifier: MIT
"""Tries weft's packages in a fresh root file system of a suite of Debian's.

    print(check("bookworm", pathlib.Path("build/deb/first")))

First it installs packages of an older version, which are the same files with
another number, then the built ones. Python then runs 500 threads on weft,
`weft stacks` and `weft core` show all of them, and purging must leave no file
behind.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from debian_packages import Skipped, mirror

SUITES = ("bookworm", "trixie")
OLDER = "0.1~older"
THREADS = 500
INSTALLED = ("weft", "libweft0", "libweft-dev", "weft-doc")
# Files that the packages bring beside the command and the library.
FILES = ("usr/share/bash-completion/completions/weft",
         "usr/share/fish/vendor_completions.d/weft.fish",
         "usr/share/zsh/vendor-completions/_weft",
         "usr/share/man/man1/weft.1.gz",
         "usr/share/man/man3/weft_channel.3.gz",
         "usr/include/weft/weft.h",
         "usr/share/doc/weft/guide/getting-started.md")
# Prints the stacks of its threads while all of them wait, and writes its core.
PROGRAM = f"""
import os, subprocess, threading, time
gate = threading.Barrier({THREADS} + 1)
threads = [threading.Thread(target=gate.wait) for _ in range({THREADS})]
for thread in threads:
    thread.start()
while gate.n_waiting < {THREADS}:
    time.sleep(0.01)
with open("/tmp/stacks", "w") as out:
    subprocess.run(["weft", "stacks", str(os.getpid())], stdout=out, check=True)
subprocess.run(["weft", "core", str(os.getpid()), "/tmp/core"], check=True,
               stderr=subprocess.DEVNULL)
gate.wait()
for thread in threads:
    thread.join()
print("done")
"""


class Failed(Exception):
    """The packages are wrong."""


def run(*command, **more):
    return subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, check=False,
                          stdin=subprocess.DEVNULL, **more)


def make_root(suite, root):
    if os.geteuid() != 0:
        raise Skipped("a root file system is made by root only")
    if shutil.which("mmdebstrap") is None:
        raise Skipped("mmdebstrap is not installed")
    done = run("mmdebstrap", "--variant=minbase", "--include=python3-minimal",
               "--aptopt=APT::Install-Recommends \"false\"", suite, root,
               f"deb {mirror()} {suite} main")
    if done.returncode != 0:
        raise Skipped(f"mmdebstrap failed: {done.stderr.strip()[-300:]}")


class Root:
    def __init__(self, folder):
        self.folder = folder

    def run(self, *command, env=None):
        """Runs a command in the file system, with its own /proc."""
        whole = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C",
                 "DEBIAN_FRONTEND": "noninteractive", **(env or {})}
        return run("unshare", "--mount", "--pid", "--fork",
                   f"--mount-proc={self.folder}/proc",
                   "chroot", self.folder, *command, env=whole)

    def must(self, *command, env=None):
        done = self.run(*command, env=env)
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))}: status "
                         f"{done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def versions(self):
        """{package: version} of weft's packages that are installed."""
        listed = self.run("dpkg-query", "-W", "-f",
                          "${Package} ${Version} ${db:Status-Status}\n",
                          *INSTALLED).stdout
        return {words[0]: words[1] for words in map(str.split,
                                                    listed.splitlines())
                if len(words) == 3 and words[2] == "installed"}

    def files(self):
        """All paths, except the files that dpkg, apt and ldconfig keep for
        themselves."""
        skipped = ("var/lib/dpkg", "var/log", "var/cache", "proc", "sys",
                   "tmp", "etc/ld.so.cache", "dev", "packages")
        found = set()
        for folder, names, others in os.walk(self.folder):
            here = os.path.relpath(folder, self.folder)
            names[:] = [name for name in names if not os.path.normpath(
                os.path.join(here, name)).startswith(skipped)]
            found |= {os.path.normpath(os.path.join(here, name))
                      for name in names + others}
        return {path for path in found if not path.startswith(skipped)}


def older(package, folder):
    """Makes the same package with a lower version, which also the other
    packages' dependencies name."""
    with tempfile.TemporaryDirectory() as place:
        tree = pathlib.Path(place) / "tree"
        subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
        control = tree / "DEBIAN/control"
        text = control.read_text()
        version = next(line.split()[1] for line in text.splitlines()
                       if line.startswith("Version:"))
        control.write_text(re.sub(rf"(?<![\d.]){re.escape(version)}(?![\d.])",
                                  OLDER, text))
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, folder],
                       check=True, stdout=subprocess.DEVNULL)


def lay_out(packages, root):
    """Puts the packages into /packages/new and /packages/old of the file
    system."""
    for name in ("new", "old"):
        (root.folder / "packages" / name).mkdir(parents=True)
    for path in packages.glob("*.deb"):
        if path.name.split("_")[0] in INSTALLED:
            shutil.copy(path, root.folder / "packages/new")
            older(path, root.folder / "packages/old")


def install(root, which):
    names = [f"/packages/{which}/{path.name}" for path in
             sorted((root.folder / "packages" / which).iterdir())]
    root.must("dpkg", "--install", *names)
    versions = root.versions()
    if set(versions) != set(INSTALLED):
        raise Failed(f"installed: {versions}")
    return set(versions.values())


def use(root):
    """Checks that the program ran on weft. threads_most includes its first
    thread, and threads_made may include weft's own reaper."""
    (root.folder / "tmp/program.py").write_text(PROGRAM)
    done = root.run("weft", "run", "--stats=json", "/usr/bin/python3",
                    "/tmp/program.py")
    if done.returncode != 0 or done.stdout != "done\n":
        raise Failed(f"python3 on weft: status {done.returncode}\n"
                     f"{done.stdout}{done.stderr}")
    counters = json.loads(done.stderr.splitlines()[-1])
    if counters["threads_made"] - THREADS not in (0, 1) or \
            counters["threads_most"] != THREADS + 1:
        raise Failed(f"not {THREADS} threads on weft: {counters}")


def seen(text):
    """How many threads `weft stacks` shows in Python's interpreter, beside the
    first one."""
    stacks = re.findall(r"^(\d+) threads?, [a-z-]+: .*\n((?: .*\n)*)", text,
                        re.M)
    return sum(int(nr) for nr, frames in stacks
               if " _PyEval_EvalFrameDefault+" in frames and
               " Py_RunMain+" not in frames)


def look(root):
    """Checks that both commands found the threads that waited."""
    texts = {"weft stacks PID": (root.folder / "tmp/stacks").read_text(),
             "weft stacks CORE": root.must("weft", "stacks", "/tmp/core")}
    for command, text in texts.items():
        if seen(text) != THREADS:
            raise Failed(f"{command} shows {seen(text)} of {THREADS} "
                         f"threads:\n{text}")


def look_for_files(root):
    missing = [name for name in FILES if not (root.folder / name).is_file()]
    if missing:
        raise Failed(f"not installed: {', '.join(missing)}")


def purge(root, before):
    root.must("dpkg", "--purge", *INSTALLED)
    left = sorted(root.files() - before)
    if left:
        raise Failed(f"purging leaves {left[:10]}")


def check(suite, packages):
    with tempfile.TemporaryDirectory(prefix="weft-") as place:
        root = Root(pathlib.Path(place) / suite)
        make_root(suite, root.folder)
        before = root.files()
        lay_out(packages, root)
        if install(root, "old") != {OLDER}:
            raise Failed("the older packages have another version")
        new = install(root, "new")
        if len(new) != 1 or OLDER in new:
            raise Failed(f"after the upgrade: {new}")
        look_for_files(root)
        use(root)
        look(root)
        purge(root, before)
    return (f"installed, upgraded, ran {THREADS} threads of python3 and showed "
            "their stacks, purged")
