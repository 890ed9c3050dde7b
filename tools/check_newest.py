#!/usr/bin/env python3
"""Checks src/ and cli/ with the newest gcc and clang of Debian testing.

usage: tools/check_newest.py BUILD

Unpacks the compilers and the C library's headers into BUILD/testing, installs
nothing, and compiles each file there with the flags that BUILD has for it and
-Werror. With optimisation, since many warnings come from it; nothing is
written. The packages are kept: the next run downloads only newer ones.

The mirror is the one that apt has for Debian. Where there is none, or it cannot
be reached, or the caller is not root, one line says that it was skipped.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUITE = "testing"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = ["libc6-dev", "linux-libc-dev", "binutils"]
FOLDERS = ("src", "cli", "include")
# Of a compile command these go on to the other compiler.
KEPT = re.compile(r"-(D|I|O|U|W(?!l,)|std=|f(?!lto|diagnostics)|m)")
# Options that gcc alone knows.
GCC_ONLY = ("-mmemset-strategy",)


class Skipped(Exception):
    """It cannot be done here, which is not the code's fault."""


def output(command, **more):
    done = subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, check=False, **more)
    if done.returncode != 0:
        raise Skipped(f"{command[0]} failed: {done.stderr.strip()[-200:]}")
    return done.stdout


# --- packages -----------------------------------------------------------------

class Packages:
    """apt with lists and a state of its own, in which nothing is installed."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("lists/partial", "archives/partial", "etc"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "etc/sources.list").write_text(
            f"deb [signed-by={KEYRING}] {mirror()} {SUITE} main\n")

    def options(self):
        paths = {"Dir::State::Lists": "lists", "Dir::State::Status": "status",
                 "Dir::Cache::Archives": "archives",
                 "Dir::Cache::pkgcache": "pkgcache.bin",
                 "Dir::Cache::srcpkgcache": "srcpkgcache.bin",
                 "Dir::Etc::SourceList": "etc/sources.list",
                 "Dir::Etc::SourceParts": "etc/none",
                 "Dir::Etc::Preferences": "etc/none",
                 "Dir::Etc::PreferencesParts": "etc/none"}
        found = ["-qq", "-o", "APT::Sandbox::User=root", "-o",
                 "APT::Install-Recommends=false", "-o",
                 "Acquire::Languages=none", "-o", "Debug::NoLocking=1"]
        for option, name in paths.items():
            found += ["-o", f"{option}={self.folder / name}"]
        return found

    def apt_get(self, *args):
        return output(["apt-get", *self.options(), *args])

    def newest(self, compiler):
        """The name of its package with the highest version: gcc-15."""
        text = output(["apt-cache", *self.options(), "pkgnames",
                       f"{compiler}-"])
        versions = re.findall(rf"^{compiler}-(\d+)$", text, re.M)
        if not versions:
            raise Skipped(f"{SUITE} has no {compiler}")
        return f"{compiler}-{max(versions, key=int)}"

    def fetch(self, names):
        """Paths of these packages and of all that they depend on."""
        self.apt_get("--download-only", "-y", "install", *names)
        uris = self.apt_get("--print-uris", "--reinstall", "-y", "install",
                            *names)
        wanted = re.findall(r"^'[^']*' (\S+\.deb) ", uris, re.M)
        archives = self.folder / "archives"
        # Those that are there already are not printed.
        return [archives / name for name in wanted] or \
            sorted(archives.glob("*.deb"))


def mirror():
    text = output(["apt-get", "indextargets", "--format",
                   "$(REPO_URI) $(LABEL)", "Created-By: Packages"])
    for line in text.splitlines():
        uri, _, label = line.partition(" ")
        if label == "Debian":
            return uri
    raise Skipped("apt has no mirror of Debian")


def unpack(archives, tree):
    """Makes the tree anew if it is of other packages."""
    names = "\n".join(sorted(path.name for path in archives))
    stamp = tree / "packages"
    if stamp.exists() and stamp.read_text() == names:
        return
    shutil.rmtree(tree, ignore_errors=True)
    # As an installed system has them.
    for folder in ("bin", "lib", "lib64", "sbin"):
        (tree / "usr" / folder).mkdir(parents=True)
        (tree / folder).symlink_to(f"usr/{folder}")
    (tree / "tmp").mkdir()
    for path in archives:
        # Over what is there: a folder of the package may be a link.
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", path],
                              stdout=subprocess.PIPE) as data:
            output(["tar", "-x", "-C", tree, "--keep-directory-symlink"],
                   stdin=data.stdout)
    stamp.write_text(names)


# --- compiling ----------------------------------------------------------------

def flags_of(command, is_gcc):
    """Of a command in the build, but for its folders, which are ours."""
    words = [word for word in shlex.split(command) if KEPT.match(word)]
    words = [word for word in words
             if not word.startswith("-I") and
             (is_gcc or not word.startswith(GCC_ONLY))]
    folders = ["-Isrc", "-Iinclude"]
    unknown = [] if is_gcc else ["-Wno-unknown-warning-option",
                                  "-Wno-gcc-install-dir-libstdcxx"]
    return [*words, *folders, "-Werror", *unknown]


def sources(build):
    """{file from the root: command}, one for each file of src/ and cli/."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not path.is_relative_to(ROOT):
            continue
        name = path.relative_to(ROOT)
        if name.parts[0] in ("src", "cli") and name.suffix == ".c":
            found.setdefault(str(name), entry["command"])
    return found


def check(tree, compiler, name, command):
    """What the compiler says of one file."""
    words = ["chroot", str(tree), "env", "-C", "/weft", "PATH=/usr/bin",
             compiler, *flags_of(command, compiler.startswith("gcc")), "-S",
             "-o", "/dev/null", name]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    return done.stderr.strip() or f"{name}: {compiler} failed"


def check_all(tree, compiler, files):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda item: check(tree, compiler, *item),
                        files.items())
        complaints = [text for text in said if text]
    version = output(["chroot", tree, compiler, "--version"]).splitlines()[0]
    print(f"{version}: {len(files)} files, {len(complaints)} with warnings")
    for text in complaints:
        print(text)
    return not complaints


def copy_sources(tree):
    target = tree / "weft"
    shutil.rmtree(target, ignore_errors=True)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, target / folder)


def make_device(tree):
    (tree / "dev").mkdir(exist_ok=True)
    if not (tree / "dev/null").exists():
        output(["mknod", "-m", "666", tree / "dev/null", "c", "1", "3"])


def main(argv):
    if len(argv) != 1:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    build = pathlib.Path(argv[0]).resolve()
    folder = build / "testing"
    try:
        if os.geteuid() != 0:
            raise Skipped("only root can use chroot")
        packages = Packages(folder)
        packages.apt_get("update")
        compilers = [packages.newest("gcc"), packages.newest("clang")]
        tree = folder / "tree"
        unpack(packages.fetch([*PACKAGES, *compilers, "coreutils"]), tree)
        copy_sources(tree)
        make_device(tree)
    except (Skipped, OSError) as why:
        print(f"skipped: {why}")
        return 0
    files = sources(build)
    results = [check_all(tree, compiler, files) for compiler in compilers]
    return 0 if all(results) and files else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
