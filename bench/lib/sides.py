# SPDX-License-Identifier: MIT
"""The sides of a comparison: the command that starts a program on each side,
with the CPUs that it may use.

    sides = Sides(build)
    sides.command("weft", 1, ["build/bench/micro/bench_yield", "100", "2"])
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
GO_SOURCE = ROOT / "bench/peers/go"
NAMES = ("native", "weft", "go")
# Variables that would change how the programs run.
SCRUBBED = ("LD_PRELOAD", "GLIBC_TUNABLES", "GODEBUG", "GOGC")


def one_cpu():
    """Returns the CPU for programs that may use one. It is CPU 1 where that is
    allowed: the first CPU does much of the kernel's own work."""
    allowed = os.sched_getaffinity(0)
    return 1 if 1 in allowed else max(allowed)


def pinned(nr_cpus):
    """The beginning of a command that may use the last `nr_cpus` CPUs."""
    cpus = sorted(os.sched_getaffinity(0))[-nr_cpus:]
    return ["taskset", "-c", ",".join(map(str, cpus))]


def environment(**more):
    kept = {k: v for k, v in os.environ.items()
            if k not in SCRUBBED and not k.startswith("WEFT_")}
    return {**kept, **more}


def run_options(weft):
    """{option: its value} of `weft run`."""
    text = subprocess.run([weft, "run", "--help"], capture_output=True,
                          text=True, check=True, timeout=20).stdout
    return dict(re.findall(r"^  --(\S+) (\S+)", text, re.MULTILINE))


class Sides:
    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.weft = self.build / "weft"
        self.go = self.build / "bench/go_peer"
        self.go_version = None

    def program(self, name):
        return self.build / "bench/micro" / f"bench_{name}"

    def build_go(self, compiler="go"):
        """Returns the reason why there is no Go side, or None."""
        found = shutil.which(compiler)
        if not found:
            return f"no '{compiler}' is installed"
        env = environment(GOTOOLCHAIN="local", GOPROXY="off", GOFLAGS="",
                          CGO_ENABLED="0")
        self.go.parent.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run([found, "build", "-o", str(self.go.resolve()), "."],
                           cwd=GO_SOURCE, env=env, check=True, timeout=300,
                           capture_output=True, text=True)
            self.go_version = subprocess.run(
                [found, "env", "GOVERSION"], env=env, check=True, text=True,
                capture_output=True, timeout=60).stdout.strip()
        except subprocess.CalledProcessError as error:
            return f"{found} failed: {error.stderr.strip()}"
        except subprocess.TimeoutExpired:
            return f"{found} did not end"
        return None

    def command(self, side, vps, call):
        """`call` on that side; it may use one CPU if vps is 1, else all."""
        prefix = ["taskset", "-c", str(one_cpu())] if vps == 1 else []
        if side == "weft":
            prefix += [str(self.weft), "run"]
            prefix += ["--vps", str(vps)] if vps else []
            prefix += ["--"]
        elif side == "go":
            prefix += ["env", f"GOMAXPROCS={vps}"]
        return prefix + [str(word) for word in call]


def machine():
    return {"cpus": len(os.sched_getaffinity(0)), "arch": platform.machine(),
            "kernel": platform.release(),
            "libc": " ".join(platform.libc_ver())}
