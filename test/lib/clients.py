# SPDX-License-Identifier: MIT
"""Programs that fetch many files at once, from a server that runs natively."""

import dataclasses
import hashlib
import pathlib
import shutil
import tempfile

import runner
import webservers
from programs import LIMIT_S

NR_URLS = 60
PYTHON = "/usr/bin/python3"

# A thread for each of several concurrent URLs.
FETCH = """\
import concurrent.futures, sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def fetch(i):
    with opener.open(f"{sys.argv[1]}/{i}", timeout=60) as answer:
        open(str(i), "wb").write(answer.read())
with concurrent.futures.ThreadPoolExecutor(24) as pool:
    list(pool.map(fetch, range(int(sys.argv[2]))))
"""


@dataclasses.dataclass
class Fetch:
    """Fetches numbered files into its folder, and compares them."""
    name: str
    program: str

    def missing(self):
        found = shutil.which(self.program)
        return None if found else f"there is no {self.program}"

    def command(self, url):
        raise NotImplementedError

    def fetched(self, folder, result):
        files = sorted(folder.iterdir(), key=lambda path: int(path.name))
        everything = b"".join(path.read_bytes() for path in files)
        digest = hashlib.sha256(everything).hexdigest()
        result.stdout = f"{len(files)} files, {digest}\n".encode()
        return result

    def run(self, prefix):
        server = webservers.PythonServer("files", PYTHON)
        with tempfile.TemporaryDirectory(prefix="weft-fetch-") as name, \
                tempfile.TemporaryFile() as log:
            served, folder = pathlib.Path(name, "s"), pathlib.Path(name, "f")
            served.mkdir()
            folder.mkdir()
            for i in range(NR_URLS):
                (served / str(i)).write_bytes(bytes([i]) * (i * 4001 + 1))
            with server.started([], served, log) as running:
                with running.connect():
                    pass
                url = f"http://localhost:{running.path}"
                return self.fetched(folder, runner.run(
                    prefix + self.command(url), LIMIT_S, cwd=folder))


class Urllib(Fetch):
    """Python's urllib, called by a pool of threads. Each makes one transfer at
    a time."""

    def command(self, url):
        return [PYTHON, "-c", FETCH, url, str(NR_URLS)]


class Curl(Fetch):
    """curl with 60 transfers at once. It resolves each name in a new thread."""

    def command(self, url):
        return ["curl", "--noproxy", "*", "-sS", "--fail", "--parallel",
                "--parallel-immediate", "--parallel-max", "24",
                "--remote-name-all", f"{url}/[0-{NR_URLS - 1}]"]
