# SPDX-License-Identifier: MIT
"""Servers of pages by HTTP, each loaded by ab over TCP."""

import pathlib
import re
import socket

import apache
from bench.servers.servers import MOST_CONNECTIONS, PYTHON, Failed, Server

HERE = pathlib.Path(__file__).resolve().parent
BYTES = 1000
# The threads in the pool of each server, so that each connection can have one.
THREADS = MOST_CONNECTIONS + 100
KEEP = {"keep": ["-k"]}
# The page takes 10 ms, in which its thread sleeps: as long as a query takes.
WAIT = {"wait": ["-k"]}


class Web(Server):
    """`loads`: arguments of ab."""
    nr_bytes = BYTES

    def new_port(self):
        with socket.socket() as any_port:
            any_port.bind(("127.0.0.1", 0))
            self.port = any_port.getsockname()[1]
        return self.port

    def files(self):
        """The folder with the page."""
        self.folder.chmod(0o755)
        (self.folder / "files").mkdir()
        (self.folder / "files/page").write_bytes(b"x" * self.nr_bytes)
        return self.folder / "files"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port))

    def client(self, load, connections):
        # -t sets a number of requests, which -n sets to more than there can be.
        return ["ab", "-q", "-r", *self.loads[load],
                "-t", self.options.seconds, "-n", 100000000,
                "-c", connections, f"http://127.0.0.1:{self.port}/page"]

    def nr_requests(self, printed):
        found = {name: int(nr) for name, nr in re.findall(
            r"^(Complete|Failed|Non-2xx).*: +(\d+)", printed, re.M)}
        if found.get("Failed") or "Non-2xx" in found:
            raise Failed(f"ab: {found}")
        return found["Complete"]


class Apache(Web):
    """Apache with the worker MPM: a listener and a pool of threads. A thread of
    the pool serves a connection as long as that lasts."""
    programs = ("apache2", "ab")
    loads = {"keep": ["-k"], "new": []}
    has_targets = True

    def command(self):
        port, processes = self.new_port(), self.options.processes
        (self.folder / "conf").write_text(apache.configuration(
            self.folder, self.files(), self.folder / "log", port, processes,
            THREADS // processes))
        return ["apache2", "-d", self.folder, "-f", self.folder / "conf",
                "-DFOREGROUND"]


class Nginx(Web):
    """nginx: one process, with a pool of threads that read the files."""
    programs = ("nginx", "ab")
    loads = KEEP
    nr_bytes = 100000
    CONFIGURATION = """\
daemon off; master_process off; pid pid; error_log stderr warn;
thread_pool default threads=32;
events {{ worker_connections {connections}; }}
http {{
  access_log off; client_body_temp_path t; proxy_temp_path t;
  fastcgi_temp_path t; uwsgi_temp_path t; scgi_temp_path t;
  keepalive_requests 1000000000;
  server {{
    listen 127.0.0.1:{port} backlog=1100; root {files};
    aio threads; sendfile off; output_buffers 2 32k;
  }}
}}
"""

    def command(self):
        (self.folder / "conf").write_text(self.CONFIGURATION.format(
            port=self.new_port(), files=self.files(), connections=2 * THREADS))
        return ["nginx", "-p", self.folder, "-c", self.folder / "conf"]


class Tomcat(Web):
    """Tomcat as Debian configures it, with a folder of its own. A pool of
    threads answers; one other thread waits for all connections."""
    programs = ("java", "ab")
    loads = KEEP
    HOME = pathlib.Path("/usr/share/tomcat10")
    SERVER = """\
<Server port="-1">
  <Service name="Catalina">
    <Connector port="{port}" address="127.0.0.1" maxThreads="{threads}"
               maxConnections="8192" acceptCount="1100"
               maxKeepAliveRequests="-1"/>
    <Engine name="Catalina" defaultHost="localhost">
      <Host name="localhost" appBase="none">
        <Context path="" docBase="{files}"/>
      </Host>
    </Engine>
  </Service>
</Server>
"""
    DEFAULT = """\
<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="5.0">
  <servlet>
    <servlet-name>default</servlet-name>
    <servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class>
  </servlet>
  <servlet-mapping>
    <servlet-name>default</servlet-name>
    <url-pattern>/</url-pattern>
  </servlet-mapping>
</web-app>
"""

    @classmethod
    def missing(cls):
        if not (cls.HOME / "bin/bootstrap.jar").exists():
            return "there is no tomcat10"
        return super().missing()

    def command(self):
        for name in ("conf", "temp", "logs", "work"):
            (self.folder / name).mkdir()
        (self.folder / "conf/server.xml").write_text(self.SERVER.format(
            port=self.new_port(), threads=THREADS, files=self.files()))
        (self.folder / "conf/web.xml").write_text(self.DEFAULT)
        jars = ":".join(str(self.HOME / "bin" / name)
                        for name in ("bootstrap.jar", "tomcat-juli.jar"))
        return ["java", "-Xmx256m", "-cp", jars,
                f"-Dcatalina.home={self.HOME}",
                f"-Dcatalina.base={self.folder}",
                f"-Djava.io.tmpdir={self.folder}/temp",
                "org.apache.catalina.startup.Bootstrap", "start"]


class Java(Web):
    """The JDK's own HTTP server, with a pool of threads."""
    programs = ("java", "javac", "ab")
    loads = WAIT

    def command(self):
        # As many connections may be idle.
        return ["java", "-Xmx256m", "-Dsun.net.httpserver.nodelay=true",
                f"-Dsun.net.httpserver.maxIdleConnections={THREADS}",
                HERE / "Pages.java", self.new_port(), THREADS]


class Gunicorn(Web):
    """gunicorn: a page in Python, from one process with threads."""
    programs = ("gunicorn", "ab")
    modules = ("gunicorn",)
    loads = WAIT
    page = "pages:plain"

    def command(self):
        return [PYTHON, "-m", "gunicorn", "--chdir", HERE, "--bind",
                f"127.0.0.1:{self.new_port()}", "--workers", "1",
                "--threads", THREADS, "--worker-connections", 2 * THREADS,
                "--backlog", "1100", "--keep-alive", "60",
                "--worker-tmp-dir", self.folder, self.page]


class Django(Gunicorn):
    """Django in gunicorn: the same page as Gunicorn's."""
    modules = ("gunicorn", "django")
    page = "pages:django()"


class Waitress(Web):
    programs = ("ab",)
    modules = ("waitress",)
    loads = WAIT

    def command(self):
        return ["env", f"PYTHONPATH={HERE}", PYTHON, "-m", "waitress",
                f"--listen=127.0.0.1:{self.new_port()}",
                f"--threads={THREADS}", f"--connection-limit={2 * THREADS}",
                "--backlog=1100", "--asyncore-use-poll", "pages:plain"]


class Puma(Web):
    programs = ("puma", "ab")
    loads = WAIT
    SCRIPT = """\
run ->(env) { sleep 0.01; [200, {"Content-Type" => "text/plain"}, ["x" * %d]] }
"""

    def command(self):
        (self.folder / "config.ru").write_text(self.SCRIPT % BYTES)
        return ["puma", "-C", "-", "-e", "production", "-b",
                f"tcp://127.0.0.1:{self.new_port()}", "-t",
                f"{THREADS}:{THREADS}", self.folder / "config.ru"]
