# SPDX-License-Identifier: MIT
"""Servers of files by HTTP."""

import random
import re
import shutil
import signal
import subprocess

import apache
import runner
from servers import ANSWER_LIMIT_S, Connection, Server, Wrong, expect, \
    free_port, in_threads


class WebServer(Server):
    """Clients fetch files of several sizes all the time."""

    def fetch(self, path, name, content):
        with Connection(path) as http:
            http.send(b"GET /%s HTTP/1.0\r\n\r\n" % name)
            expect(http.line().split()[1:2], [b"200"])
            while http.line():
                pass
            expect(http.read(-1) == content, True)

    def make_files(self, folder):
        source = random.Random(1)
        files = {b"file%d" % i: source.randbytes(100000 * i + 7)
                 for i in range(8)}
        for name, content in files.items():
            (folder / name.decode()).write_bytes(content)
        folder.chmod(0o755)
        return files

    def load(self, start, folder):
        files = self.make_files(folder)

        def client(number):
            for _ in range(20 if self.long else 2):
                for name, content in files.items():
                    self.fetch(server.path, name, content)

        with start() as server:
            with server.connect():
                pass
            in_threads(self.clients, client)
            self.more_load(server)
            return f"{self.stop.name} {server.end(self.stop)}"

    def more_load(self, server):
        """A further load that only this server has."""


class Nginx(WebServer):
    """nginx: one process with a thread pool that reads the files."""

    clients = 16
    stop = signal.SIGQUIT

    CONFIGURATION = """\
daemon off; master_process off; pid pid; error_log stderr warn;
thread_pool default threads=16;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path t; proxy_temp_path t;
  fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;
  server {{
    listen unix:{path}; root {folder};
    aio threads; sendfile off; output_buffers 2 32k;
  }}
}}
"""

    def arguments(self, folder, path):
        (folder / "c").write_text(
            self.CONFIGURATION.format(folder=folder, path=path))
        return ["-p", folder, "-c", folder / "c"]


class HAProxy(WebServer):
    """HAProxy: several threads with an event loop each, which wake each
    other."""

    clients = 24
    stop = signal.SIGUSR1  # a graceful stop
    CONFIGURATION = """\
global
  nbthread 4
  tune.bufsize 1048576
defaults
  mode http
  timeout client 60s
  timeout connect 60s
  timeout server 60s
frontend files
  bind unix@{path}
"""
    RULE = """\
  http-request return status 200 content-type text/plain file {file} \
if {{ path /{file.name} }}
"""

    def arguments(self, folder, path):
        rules = [self.RULE.format(file=file)
                 for file in sorted(folder.glob("file*"))]
        (folder / "c").write_text(
            self.CONFIGURATION.format(path=path) + "".join(rules))
        return ["-db", "-f", folder / "c"]


class Apache(WebServer):
    """Apache with the worker MPM: a thread per connection in a few processes.
    The short test has more connections than threads. The long test has a
    thousand connections at once, made by ab."""

    clients = 100
    stop = signal.SIGTERM

    def missing(self):
        if self.long and not shutil.which("ab"):
            return "there is no ab"
        return super().missing()

    def address(self, folder):
        return free_port()

    def arguments(self, folder, path):
        processes, threads = (4, 256) if self.long else (2, 64)
        (folder / "c").write_text(apache.configuration(
            folder, folder, "/dev/stderr", path, processes, threads))
        return ["-d", folder, "-f", folder / "c", "-DFOREGROUND"]

    def more_load(self, server):
        if not self.long:
            return
        for keep in (["-k"], []):
            done = subprocess.run(
                ["ab", "-q", *keep, "-n", "20000", "-c", "1000",
                 f"http://127.0.0.1:{server.path}/file1"],
                capture_output=True, text=True, env=runner.environment(),
                timeout=3 * ANSWER_LIMIT_S)
            found = re.findall(r"^(?:Complete|Failed) requests: +(\d+)",
                               done.stdout, re.M)
            if found != ["20000", "0"] or "Non-2xx" in done.stdout:
                raise Wrong(f"ab {keep}: {found} {done.stdout[-900:]} "
                            f"{done.stderr[-300:]}")


class PythonServer(WebServer):
    """Python's http.server: a new thread for each connection."""

    clients = 24
    stop = signal.SIGINT

    SCRIPT = """\
import functools, http.server, sys
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 100
handler = functools.partial(Quiet, directory=sys.argv[1])
try:
    Server(("127.0.0.1", int(sys.argv[2])), handler).serve_forever()
except KeyboardInterrupt:
    pass
"""

    def address(self, folder):
        return free_port()

    def arguments(self, folder, path):
        return ["-c", self.SCRIPT, folder, path]
