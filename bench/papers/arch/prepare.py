# SPDX-License-Identifier: MIT
"""Downloads what the emulated machines need from Debian, unpacks it, compiles
the programs for them and packs the files that they boot with.

    place = prepare.Place(build / "arch")
    machine = place.ready(machines.named("aarch64"))
    machine.kernel, machine.emulator, ...
    image = place.image(machine, programs.BENCHES)

Nothing is installed: Debian's cross compilers conflict with gcc-multilib. All
raise Skipped with a reason.
"""

import dataclasses
import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from bench.papers.arch import cpio, machines, programs  # noqa: E402
from tools.debian_packages import (Packages, Skipped,  # noqa: E402
                                   extract, output)

# The host's libraries are at least as new, and its programs need them.
HOSTS_OWN = ("libc6_", "libc-bin_", "libgcc-s1_", "libstdc++6_")
# vmlinuz-VERSION or vmlinuz, in /boot or with the modules.
KERNEL = "*/vmlinu*"
LIBRARY = "liblinuxthreads.so"
FLAGS = ("-std=gnu17", "-O2", "-D_GNU_SOURCE", "-pthread")
LIBRARY_FLAGS = ("-shared", "-fPIC", "-fvisibility=hidden",
                 "-ftls-model=initial-exec", "-Wl,-z,now")


@dataclasses.dataclass(frozen=True)
class Ready:
    """A machine with the files that were made for it."""
    machine: machines.Machine
    kernel: pathlib.Path
    tree: pathlib.Path          # of the emulator and the compiler
    built: pathlib.Path         # programs are compiled into this folder

    @property
    def environment(self):
        libraries = self.tree / "usr/lib/x86_64-linux-gnu"
        return {**os.environ, "LD_LIBRARY_PATH": str(libraries)}

    def compiler(self):
        if not self.machine.target:
            return [shutil.which("cc") or "cc"], None
        path = self.tree / f"usr/bin/{self.machine.target}gcc-12"
        return [str(path), f"--sysroot={self.tree}"], self.environment

    def command(self, *more):
        """Returns the emulator's command, without the files to boot."""
        return [str(self.tree / "usr/bin" / self.machine.emulator), "-L",
                str(self.tree / "usr/share/qemu"), "-L",
                str(self.tree / "usr/share/seabios"),
                *self.machine.options, "-nic", "none", "-vga", "none",
                "-display", "none", "-no-reboot", *more]

    def compiler_version(self):
        command, environment = self.compiler()
        return output([*command, "--version"],
                      env=environment).splitlines()[0]

    def version(self):
        text = output([*self.command()[:1], "--version"],
                      env=self.environment)
        return text.splitlines()[0].removeprefix("QEMU emulator version ")


class Place:
    """A folder below the build folder; it is kept for the next run."""

    def __init__(self, folder):
        self.folder = folder
        self.tree = folder / "tools/tree"
        self.updated = set()

    # --- downloading ----------------------------------------------------------

    def packages(self, name, suite, architecture=None):
        found = Packages(self.folder / name, suite, architecture)
        if name not in self.updated:
            found.apt_get("update")
            self.updated.add(name)
        return found

    def fetch_tools(self, names):
        packages = self.packages("tools", machines.TOOLS, "amd64")
        done = self.tree / "unpacked"
        for folder in ("bin", "lib", "lib64", "sbin"):
            (self.tree / "usr" / folder).mkdir(parents=True, exist_ok=True)
            if not (self.tree / folder).is_symlink():
                (self.tree / folder).symlink_to(f"usr/{folder}")
        before = done.read_text().splitlines() if done.exists() else []
        for path in packages.fetch(names):
            if path.name in before or path.name.startswith(HOSTS_OWN):
                continue
            extract(path, self.tree)
            with done.open("a") as file:
                file.write(f"{path.name}\n")

    def fetch_kernel(self, machine, folder):
        packages = self.packages(
            f"packages-{machine.suite}-{machine.architecture}", machine.suite,
            machine.architecture)
        path = packages.fetch_alone(machine.kernel)
        shutil.rmtree(folder / "kernel", ignore_errors=True)
        (folder / "kernel").mkdir()
        try:
            extract(path, folder / "kernel", KERNEL)
        except Skipped:
            # In newer suites the kernel is in a package beside this one.
            path.unlink()
            name = path.name.partition("_")[0]
            path = packages.fetch_alone(name.replace("image", "binary", 1))
            extract(path, folder / "kernel", KERNEL)
        path.unlink()           # of up to 110 MB, modules for the most part

    @staticmethod
    def wanted(machine):
        return " ".join((machines.TOOLS, machine.suite, machine.kernel,
                         *machine.packages))

    def has(self, machine):
        """Are all packages of the machine downloaded already?"""
        stamp = self.folder / machine.name / "packages"
        return stamp.exists() and stamp.read_text() == self.wanted(machine)

    def ready(self, machine):
        folder = self.folder / machine.name
        folder.mkdir(parents=True, exist_ok=True)
        if not self.has(machine):
            self.fetch_tools(machine.packages)
            self.fetch_kernel(machine, folder)
            (folder / "packages").write_text(self.wanted(machine))
        kernels = sorted((folder / "kernel").rglob("vmlinu*"))
        if not kernels:
            raise Skipped(f"{machine.kernel} has no kernel")
        return Ready(machine, kernels[-1], self.tree, folder)

    # --- compiling ------------------------------------------------------------

    def compile(self, ready, name, sources, flags):
        """Returns the path of the program or library `name`. It is made again
        if a source, or a header beside one, is newer."""
        target = ready.built / name
        paths = [ROOT / source for source in sources]
        headers = [header for path in paths
                   for header in (*path.parent.glob("*.h"),
                                  *(ROOT / "bench/lib").glob("*.h"),
                                  *(ROOT / "bench/micro").glob("*.h"))]
        newest = max(path.stat().st_mtime for path in (*paths, *headers))
        if target.exists() and target.stat().st_mtime > newest:
            return target
        compiler, environment = ready.compiler()
        output([*compiler, *FLAGS, *flags, *paths, "-o", target],
               env=environment)
        return target

    def guest(self, ready):
        """Returns the machine's first process."""
        return self.compile(ready, "guest", programs.GUEST, ("-static",))

    def libraries(self, ready):
        """{path in the machine: file} of libc and the loader."""
        compiler, environment = ready.compiler()
        loader, found = ready.machine.loader, {}
        for name in programs.LIBRARIES:
            path = output([*compiler, f"-print-file-name={name}"],
                          env=environment).strip()
            found[f"lib/{name}"] = pathlib.Path(path)
        beside = found["lib/libc.so.6"].parent / os.path.basename(loader)
        # Debian has mips64el's loader in the other folder.
        other = beside.parent.parent / "lib64" / beside.name
        found[loader.lstrip("/")] = beside if beside.exists() else other
        for path in found.values():
            if not path.is_absolute() or not path.exists():
                raise Skipped(f"the compiler has no {path.name}")
        return found

    def image(self, ready, wanted, more=None, name="image.cpio"):
        """The first file system of the machine, with these programs, {name:
        (sources, flags)}, `more` files, and the model of LinuxThreads in
        /lib."""
        library = self.compile(ready, LIBRARY, programs.linuxthreads(),
                               LIBRARY_FLAGS)
        files = {"init": self.guest(ready), f"lib/{LIBRARY}": library,
                 **self.libraries(ready), **(more or {})}
        for program, (sources, flags) in wanted.items():
            files[f"bin/{program}"] = self.compile(ready, program, sources,
                                                   flags)
        path = ready.built / name
        path.write_bytes(cpio.archive(
            {name: file.read_bytes() for name, file in files.items()}))
        return path

