# SPDX-License-Identifier: MIT
"""The table of all real programs that are run natively and on weft, and what
makes a result good."""

import caches
import clients
import daemons
import databases
import runner
import sanitized
import webservers
from programs import Crowd, Program, RoundTrip, Script

PYTHON = "/usr/bin/python3"
APPS = runner.ROOT / "test/apps"


def own(build):
    """Programs of this project."""
    built = build / "test/apps"
    return [
        Program("threads2000", [PYTHON, APPS / "threads2000.py"]),
        Program("cpp_threads", [built / "app_cpp_threads"]),
        Program("boost_threads", [built / "app_boost_threads"]),
        Program("rust_threads", [built / "app_rust_threads"]),
        Program("mp", [PYTHON, APPS / "mp.py"]),
        Program("pools", [PYTHON, APPS / "pools.py"]),
        Program("queues_perl", ["perl", APPS / "queues.pl"]),
        Program("queues_ruby", ["ruby", APPS / "queues.rb"]),
        Program("pools_java", ["java", "-Xmx256m", APPS / "Pools.java"]),
        Program("workers_node", ["node", APPS / "workers.js"]),
        Program("openmp", [built / "app_openmp"]),
        Program("openmp_pinned", ["env", "OMP_PROC_BIND=spread",
                                  built / "app_openmp"]),
        Program("openmp_crowded", [built / "app_openmp", "12"]),
        Program("storm", [built / "app_storm"]),
        Program("churn", [built / "app_churn"]),
        Crowd("parked", built / "app_parked"),
        Crowd("alarms", built / "app_alarms"),
    ]


def compressors():
    return [
        RoundTrip("pigz", ["pigz", "-1", "-p", "8", "-n", "-c"],
                  ["pigz", "-d", "-p", "8", "-c"]),
        RoundTrip("xz", ["xz", "-0", "-T", "8", "-c"],
                  ["xz", "-d", "-T", "8", "-c"]),
        RoundTrip("zstd", ["zstd", "-q", "-3", "-T8", "-c"],
                  ["zstd", "-q", "-d", "-c"]),
        RoundTrip("lbzip2", ["lbzip2", "-n", "8", "-1", "-c"],
                  ["lbzip2", "-d", "-n", "8", "-c"], mib=8),
        RoundTrip("pbzip2", ["pbzip2", "-p8", "-1", "-b1", "-c"],
                  ["pbzip2", "-d", "-p8", "-c"], mib=4),
        RoundTrip("7z", ["7z", "a", "-txz", "-mx1", "-mmt8", "-so", "x"],
                  ["7z", "x", "-txz", "-mmt8", "-so"], mib=4),
    ]


def stressor(name, seconds):
    """A stressor of stress-ng, which verifies its own results. The tests only
    compare whether it did something."""
    return Program(f"stress_ng_{name}", [
        "stress-ng", "--verify", "--metrics-brief", "--timeout", str(seconds),
        f"--{name}", "2"],
        shows=rf"\b{name}(?= +[1-9]\d* +[\d.]+ +[\d.]+)|fail:|error:")


def sysbench(name, *arguments):
    """A test of sysbench. It stops after a known number of events or bytes."""
    return Program(f"sysbench_{name}", ["sysbench", name, *arguments, "run"],
                   shows=r"total number of events: +\d+|[\d.]+ MiB transferred")


def benchmarks(long):
    seconds, times = (5, 20) if long else (1, 1)
    return [stressor(name, seconds) for name in
            ("pthread", "mutex", "sem", "futex", "mcontend")] + [
        sysbench("cpu", "--threads=8", f"--events={200 * times}", "--time=0"),
        sysbench("threads", "--threads=16", f"--events={100 * times}",
                 "--time=0"),
        sysbench("mutex", "--threads=8", "--mutex-num=16",
                 f"--mutex-locks={1000 * times}"),
        sysbench("memory", "--threads=8",
                 f"--memory-total-size={20 * times}M"),
    ]


GIT = """
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git -c init.defaultBranch=main init -q .
for i in $(seq 60); do seq $i 7 3000 >file$i; done
git add .
git -c user.name=n -c user.email=e commit -q -m all --date=@0
git -c pack.threads=8 repack -adfq
git index-pack --threads=8 --verify .git/objects/pack/*.pack
git -c grep.threads=8 grep -c 77 | sort | cksum
git fsck --full
git clone -q --no-local -c index.threads=8 . copy
git -C copy -c core.preloadIndex=true status --porcelain | grep -v '??' | cat
git -C copy -c pack.threads=8 repack -adfq
git -C copy fsck --full
git -C copy log --format=%T
cat copy/file* | cksum
"""
SORT = """
seq 300000 >numbers
sort --parallel=8 -S 20M -k1.3 numbers | cksum
sort --parallel=8 -S 1M -r numbers | cksum
"""
SQLITE = """
sqlite3 data '
pragma threads = 8;
pragma cache_size = 100;
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 60000)
insert into t select (x * 7919) % 1000, x from c;
create index i on t(a, b);
select count(*), sum(b) from (select * from t order by b % 97, a);
pragma integrity_check;'
"""
LLD = f"""
clang -fuse-ld=lld -Wl,--threads=8 -O1 -pthread -o program {APPS}/churn.c
cksum program
"""
# gdb reads symbols with threads of its own; its program runs on weft, too.
GDB = f"""
cc -g -pthread -o program {APPS}/churn.c
gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'break pthread_create' \\
    -ex run -ex 'print 6 * 7' -ex kill program 2>messages | grep '^\\$1'
"""


def ffmpeg():
    """ffmpeg encodes with threads for frames and slices, then decodes the
    result."""
    return Script("ffmpeg", ["ffmpeg"], """
ffmpeg -v error -f lavfi -i testsrc2=size=320x240:duration=1 \\
    -c:v libx264 -preset veryfast -threads 6 -f h264 video
ffmpeg -v error -threads 4 -i video -f framemd5 - | cksum
""")


def tools():
    """Tools that use threads for a part of their work."""
    return [
        Script("gdb", ["gdb", "cc"], GDB),
        ffmpeg(),
        Script("sort", ["sort"], SORT),
        Script("sqlite", ["sqlite3"], SQLITE),
        Script("lld", ["clang", "ld.lld"], LLD),
    ]


def fio(long):
    """fio writes files from several threads and verifies their contents."""
    size, jobs = ("16m", 16) if long else ("2m", 4)
    return Program("fio", [
        "fio", "--thread", "--ioengine=psync", "--rw=randrw", "--bs=4k",
        "--verify=crc32c", "--do_verify=1", "--verify_fatal=1",
        "--verify_state_save=0",
        "--directory=/var/tmp", "--unlink=1", "--group_reporting",
        f"--size={size}", f"--numjobs={jobs}", "--name=weft-buffered",
        "--name=weft-direct", "--direct=1"],
        shows=r"err= *\d+|issued rwts: total=[\d,]+|verify.*failed.*")


def io(long):
    """Programs that wait for descriptors most of the time."""
    return [
        fio(long),
        Script("git", ["git"], GIT),
        clients.Urllib("urllib", clients.PYTHON),
        clients.Curl("curl", "curl"),
        webservers.PythonServer("http_server", clients.PYTHON, long),
        caches.Redis("redis", "redis-server", long),
        caches.Memcached("memcached", "memcached", long),
        webservers.Nginx("nginx", "nginx", long),
        webservers.Apache("apache", "apache2", long),
        databases.MariaDB("mariadb", "mariadbd", long),
        daemons.Rsyslog("rsyslog", "rsyslogd", long),
        *([daemons.Sshd("sshd", "sshd", long),
           webservers.HAProxy("haproxy", "haproxy", long)] if long else []),
    ]


def all_apps(build, long=False):
    """The short programs: each runs for a second or two."""
    return [*own(build), *compressors(), *benchmarks(long), *tools(),
            *io(long), *sanitized.all_sanitized(build)]


def program_of(app):
    """The name of the program that an app is about."""
    if isinstance(app, Script):
        return app.tools[0]
    if isinstance(app, RoundTrip):
        return app.compress[0]
    if isinstance(app, Program):
        words = [str(word) for word in app.command]
        return words[2] if words[0] == "env" else words[0]
    return str(app.program)


def difference(native, result):
    """Returns how a result differs from the native one, or None."""
    if native.outcome() != "ok":
        return f"native: {native.outcome()}"
    if result.outcome() != "ok":
        return f"{result.outcome()} after {result.seconds:.1f} s"
    if not native.stdout.strip():
        return "natively nothing to compare"
    if result.stdout != native.stdout:
        return "other output than natively"
    if b"came back: False" in result.stdout:
        return "the data did not come back"
    return None
