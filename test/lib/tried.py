# SPDX-License-Identifier: MIT
"""test/tried.json: how each program did on weft when it was last tried with
--save. tools/make_tried.py makes docs/guide/tried.md of it.

    counters = Counters()
    result = app.run([weft, "run", *counters.options(), "--"])
    save("nginx", result=AS_NATIVELY, program="nginx",
         threads=counters.threads())
"""

import json
import pathlib
import shutil
import subprocess
import tempfile

import runner

PATH = runner.ROOT / "test/tried.json"
AS_NATIVELY = "as natively"


class Counters:
    """weft's counters of all processes of a run."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="weft-tried-")
        self.file = pathlib.Path(self.folder.name) / "counters"
        self.file.touch()
        # Servers may change their user.
        pathlib.Path(self.folder.name).chmod(0o755)
        self.file.chmod(0o666)

    def options(self):
        return ["--stats=json", "--stats-file", str(self.file)]

    def threads(self):
        """Returns how many threads were made on weft until now. A process that
        a signal kills does not count."""
        return sum(json.loads(line)["threads_made"]
                   for line in self.file.read_text().splitlines())


def upstream(version):
    """Returns the version of a Debian version: 1.22.1 of 1:1.22.1-9+deb12u1."""
    without_epoch = version.rpartition(":")[2]
    return without_epoch.rpartition("-")[0] or without_epoch


def package(program):
    """"nginx 1.22.1": the distribution's package of a program and the
    program's version, or an empty string."""
    path = shutil.which(program, path="/usr/bin:/bin:/usr/sbin:/sbin")
    if not path or not shutil.which("dpkg-query"):
        return ""
    # The package has one of these names, where /bin is a link to /usr/bin.
    for name in (path, str(pathlib.Path(path).resolve()),
                 path.removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "-S", name], text=True,
                               capture_output=True, check=False)
        if found.returncode == 0:
            owner = found.stdout.partition(":")[0]
            version = subprocess.run(
                ["dpkg-query", "-W", "-f", "${Version}", owner],
                text=True, capture_output=True, check=True).stdout
            return f"{owner} {upstream(version)}"
    return ""


def read(path=None):
    path = path or PATH
    return json.loads(path.read_text()) if path.exists() else {}


def save(name, path=None, **record):
    """Stores the record of a program in place of its earlier record."""
    path = path or PATH
    found = read(path) | {name: record}
    path.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")
