# SPDX-License-Identifier: MIT
"""`weft unit`: the drop-in for a service, and sandbox settings that prevent
weft."""

import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import BUILD, LIBRARY, ROOT, complains

UNITS = sorted((pathlib.Path(__file__).parent / "units").glob("*.service"))
FOLDER = "etc/systemd/system"
# Calls "as called" are left out: the program also makes them without weft.
SECTIONS = ("Before the first thread", "Threads",
            "Preemption and blocked kernel threads", "Wait words",
            "Descriptors", "Signals")


@pytest.fixture
def root(tmp_path):
    """Writes units below a root folder: root({"a.service": "text"})."""
    def write(files):
        for name, text in files.items():
            path = tmp_path / "root" / FOLDER / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "root"
    return write


@pytest.fixture
def check(weft, root):
    """Runs --check for settings of [Service]; (status, {row: [text, ...]})."""
    def run(settings, command=BUILD / "weft", program="/bin/true"):
        place = root({"a.service":
                      f"[Service]\nExecStart={program}\n{settings}\n"})
        result = weft("unit", "--check", "--root", place, "a", command=command)
        rows = {}
        for line in result.stdout.splitlines():
            rows.setdefault(line[:15].strip(), []).append(line[15:])
        return result.returncode, rows
    return run


def start_lines(text):
    return [line.removeprefix("ExecStart=") for line in text.splitlines()
            if line.startswith("ExecStart=")]


def test_drop_in(weft, root):
    place = root({"a.service": "[Unit]\nExecStart=/not/this\n"
                               "[Service]\nExecStart=/bin/sleep 1 \\\n"
                               "# a remark\n  2\n[Install]\n"})
    result = weft("unit", "--root", place, "a")
    assert result.returncode == 0 and result.stderr == ""
    assert result.stdout.startswith(
        "# /etc/systemd/system/a.service.d/weft.conf\n[Service]\nExecStart=\n")
    assert start_lines(result.stdout)[1].split() == \
        [f"{BUILD.resolve()}/weft", "run", "/bin/sleep", "1", "2"]


@pytest.mark.parametrize("given, printed", [
    ("-/bin/true a", "-WEFT run /bin/true a"),
    ("+:/bin/true", "+:WEFT run /bin/true"),
    ("!!/bin/true", "!!WEFT run /bin/true"),
    ("@/bin/true name a b", "WEFT run /bin/true a b"),
    ("-@/bin/true name", "-WEFT run /bin/true"),
    ("/bin/sh -c 'a  b'", "WEFT run /bin/sh -c 'a  b'")])
def test_command_line(weft, root, given, printed):
    place = root({"a.service": f"[Service]\nExecStart={given}\n"})
    lines = start_lines(weft("unit", "--root", place, "a.service").stdout)
    assert lines == ["", printed.replace("WEFT", str(BUILD.resolve() / "weft"))]


def test_drop_ins_of_the_unit(weft, root):
    """Drop-ins apply in order of their names, and an empty value resets
    earlier ones. The command's own drop-in is replaced."""
    place = root({
        "a@.service": "[Service]\nExecStart=/bin/one\n",
        "a@.service.d/20.conf": "[Service]\nExecStart=/bin/three %i\n",
        "a@x.service.d/10.conf": "[Service]\nExecStart=\n"
                                 "ExecStart=/bin/two\n",
        "a@x.service.d/weft.conf": "[Service]\nExecStart=\n"
                                   "ExecStart=/usr/bin/weft run /bin/two\n"})
    lines = start_lines(weft("unit", "--root", place, "a@x").stdout)
    assert [line.partition(" run ")[2] for line in lines] == \
        ["", "/bin/two", "/bin/three %i"]


def test_file_of_a_unit(weft, root):
    path = root({"a.service": "[Service]\nExecStart=/bin/true\n"}) / FOLDER
    result = weft("unit", path / "a.service")
    assert start_lines(result.stdout)[1].endswith("weft run /bin/true")


def test_refusals(weft, root):
    place = root({"a.service": "[Service]\nType=notify\n",
                  "b.service": "[Service]\nExecStart=/opt/weft run /bin/true"})
    for service, problem in (("a", "has no ExecStart="),
                             ("b", "runs on weft already"),
                             ("c", "no such unit"),
                             ("x" * 300, "too long a name"),
                             (f"{place}/c.service", "No such file")):
        complains(weft("unit", "--root", place, service), 125, problem)
    for wrong in (["unit"], ["unit", "a", "b"], ["unit", "--root"],
                  ["unit", "--other", "a"]):
        complains(weft(*wrong), 125, "usage: weft unit")
    assert "drop-in" in weft("help", "unit").stdout


@pytest.mark.parametrize("setting, added", [
    ("SystemCallFilter=@system-service",
     "SystemCallFilter=cachestat pidfd_getfd"),
    ("SystemCallFilter=@system-service\nSystemCallErrorNumber=EPERM",
     "SystemCallFilter=pidfd_getfd"),
    ("SystemCallFilter=~@timer", "SystemCallFilter=timer_create "
     "timer_delete timer_settime timerfd_create timerfd_settime"),
    ("SystemCallFilter=~@timer:EPERM", "SystemCallFilter=timer_delete"),
    ("SystemCallFilter=~@timer:EPERM timer_delete:kill",
     "SystemCallFilter=timer_delete"),
    ("SystemCallFilter=~@aio:ENOSYS epoll_ctl:EPERM",
     "SystemCallFilter=epoll_ctl"),
    ("LimitNOFILE=64", "LimitNOFILE=1024"),
    ("LimitNPROC=16:4096", "LimitNPROC=infinity"),
    ("TasksMax=10", "TasksMax=infinity"),
    ("LimitSIGPENDING=8", "LimitSIGPENDING=1024"),
    ("LimitAS=1G", "Environment=WEFT_STACK_SIZE=256K"),
    ("RootDirectory=/srv", "MountAPIVFS=yes"),
    ("NoExecPaths=/", "ExecPaths=FILES"),
    ("NoExecPaths=/\nExecPaths=/bin/true /usr", "ExecPaths=FILES"),
    ("InaccessiblePaths=-/nowhere +FOLDER", "BindReadOnlyPaths=FILES"),
    ("TemporaryFileSystem=FOLDER:ro /x", "BindReadOnlyPaths=FILES")])
def test_in_the_way(check, setting, added):
    key = setting.partition("=")[0]
    status, rows = check(setting.replace("FOLDER", str(BUILD.resolve())))
    assert status == 1
    assert any(text.startswith(key + "=: ") for text in rows["in the way"])
    assert added.replace("FILES", f"{BUILD.resolve()}/weft {LIBRARY}") in \
        rows["add"]
    assert rows["verdict"] == ["something is in the way: see above"]


@pytest.mark.parametrize("setting", [
    "SystemCallFilter=~@mount @raw-io", "SystemCallFilter=",
    "SystemCallFilter=~@aio\nSystemCallErrorNumber=ENOSYS",
    "SystemCallFilter=@system-service cachestat pidfd_getfd",
    "SystemCallFilter=@system-service @debug cachestat",
    "SystemCallFilter=~@timer\nSystemCallFilter=@timer",
    "SystemCallFilter=~@timer\nSystemCallFilter=",
    "LimitNOFILE=64\nLimitNOFILE=4096", "LimitNOFILE=infinity",
    "TasksMax=99%", "LimitAS=infinity", "ProtectHome=read-only",
    "PrivateTmp=no", "InaccessiblePaths=/nowhere",
    "NoExecPaths=/\nExecPaths=/bin/true\nExecPaths=FOLDER"])
def test_not_in_the_way(check, setting):
    status, rows = check(setting.replace("FOLDER", str(BUILD.resolve())))
    assert status == 0, rows
    assert "add" not in rows and "in the way" not in rows
    assert rows["verdict"] == ["nothing is in the way"]


@pytest.mark.parametrize("setting", [
    "LockPersonality=yes", "MemoryDenyWriteExecute=yes",
    "NoNewPrivileges=yes", "PrivateDevices=yes", "ProtectSystem=strict",
    "RestrictAddressFamilies=AF_INET", "RestrictNamespaces=yes",
    "RestrictRealtime=yes", "ProtectProc=invisible"])
def test_no_effect(check, setting):
    status, rows = check(setting)
    assert status == 0
    assert rows["no effect"][0].startswith(setting.partition("=")[0])


def test_folders_that_are_hidden(check, tmp_path):
    """PrivateTmp hides weft's files if they lie below /tmp. The tests put them
    there if their own folder is below /tmp."""
    folder = tmp_path / "weft"
    folder.mkdir()
    for name in ("weft", "libweft.so.0"):
        shutil.copy(BUILD / name, folder)
    if not str(folder.resolve()).startswith(("/tmp/", "/var/tmp/")):
        pytest.skip("the tests do not run below /tmp")
    status, rows = check("PrivateTmp=yes", command=folder / "weft")
    assert status == 1 and "hides weft's files" in rows["in the way"][0]


def test_program_that_cannot_run(check, compile_c):
    program = compile_c("-static")
    assert check("", program=program)[0] == 1
    program.chmod(0o4755)
    assert check("", program=program)[0] == 1
    status, rows = check("", program="/nonexistent/program")
    assert status == 0
    assert rows["not looked at"] == ["/nonexistent/program"]


def page_calls():
    """Returns {system call: whether weft needs it} from the reference page."""
    text = (ROOT / "docs/reference/syscalls.md").read_text()
    found = {}
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        if section.split("\n", 1)[0] not in SECTIONS:
            continue
        section = section.partition("With `--io process`")[0]
        for names, use, refused in re.findall(
                r"^\| (`.*?) \| (.*?) \| (.*?) \|$", section, re.M):
            if use.startswith("as called"):
                continue
            for name in re.findall(r"`(\w+)`", names):
                found[name] = found.get(name, False) or \
                    "needed" in refused
    return found


def test_calls_are_those_of_the_page():
    text = (ROOT / "cli/unit_calls.h").read_text()
    rows = dict(re.findall(r"^WF_UNIT_CALL\((\w+), (\w+),", text, re.M))
    calls = page_calls()
    assert set(rows) == set(calls)
    for name, need in rows.items():
        assert calls[name] == (need != "BETTER"), name


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_systemd_takes_it(weft, tmp_path, unit):
    """With the drop-in and the additions that --check suggests, nothing
    prevents weft, and systemd accepts the unit."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    text = unit.read_text()
    # Programs that are not installed are replaced by one that is.
    for path in set(re.findall(r"^Exec\w+=[-+!@:]*(/\S+)", text, re.M)):
        if not shutil.which(path):
            text = text.replace(path, "/bin/true")
    path = tmp_path / unit.name
    path.write_text(text)
    drop_in = tmp_path / f"{unit.name}.d" / "weft.conf"
    drop_in.parent.mkdir()
    lines = weft("unit", path).stdout
    assert " run /" in lines
    check = weft("unit", "--check", path)
    added = re.findall(r"^add +(.*)", check.stdout, re.M)
    drop_in.write_text(lines + "".join(line + "\n" for line in added))
    again = weft("unit", "--check", path)
    assert re.findall(r"^add ", again.stdout, re.M) == []
    assert (unit.stem == "redis-server") == bool(added)
    result = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", path], text=True,
        capture_output=True, timeout=60,
        env={"PATH": "/usr/bin:/bin", "SYSTEMD_UNIT_PATH": f"{tmp_path}:"})
    assert unit.name not in result.stderr, result.stderr
    assert result.returncode == 0, result.stderr
