# SPDX-License-Identifier: MIT
"""Every example in the documents runs. An unknown kind of example fails."""

import pathlib
import re
import shutil

import pytest

from conftest import BUILD, ROOT, run

DOCUMENTS = sorted(
    str(path.relative_to(ROOT)) for path in
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md",
     *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
UNITS = "/lib/systemd/system"


def blocks(text):
    """Returns indented blocks without their indentation. A block begins after
    an empty line; other indented lines continue an item of a list."""
    found, block, before = [], None, ""
    for line in [*text.splitlines(), "end"]:
        if line.startswith("    ") and (block is not None or not before):
            block = [*(block or []), line[4:]]
        elif not line and block is not None:
            block.append("")
        elif block is not None:
            found.append("\n".join(block).strip("\n"))
            block = None
        before = line
    return found


def examples():
    for name in DOCUMENTS:
        for block in blocks((ROOT / name).read_text()):
            yield name, block


def commands(block):
    """Its lines without remarks, which begin with # or behind two spaces and
    may take several lines."""
    lines = (re.split(r"  +| +# ", line)[0] for line in block.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


# --- kinds of examples --------------------------------------------------------

def check_dev(line, folder):
    """`./dev COMMAND` is one, and its options are. It is run by CI."""
    words = re.sub(r"[\[\]]|\.\.\.", "", line).split()[1:]
    help_text = run(ROOT, ROOT / "dev", "help").stdout
    assert re.search(rf"^  {words[0]}\b", help_text, re.M), line
    if words[0] != "bench" or len(words) == 1:
        return
    suites = run(ROOT, "python3", "bench/run.py", "--help").stdout
    suite = words[1]
    assert re.search(rf"\b{re.escape(suite)}\b", suites), line
    options = run(ROOT, "python3", "bench/run.py", suite, "--help").stdout
    for word in words[2:]:
        assert not word.startswith("--") or word in options, line


def check_weft(line, folder):
    """Runs `weft ...`, by any path: it has to succeed."""
    if re.search(r"\b(OPTIONS|PROGRAM|COMMAND|SERVICE|PID|CORE)\b", line):
        check_usage(line, folder)
        return
    service = re.match(r"weft run (?!server|python3|weft)([\w.-]+) ", line)
    if service:
        check_service(service[1], folder)
        return
    result = run(folder, "sh", "-c", line)
    assert result.returncode == 0, (line, result.stderr)
    if " run " in line:
        assert result.stdout == "served\n"
    if "--stats" in line:
        assert "threads made: 1\n" in result.stderr


def check_service(program, folder):
    """./dev bench servers runs it on weft, and it can run where it is
    installed."""
    sources = "".join(path.read_text() for path in
                      (ROOT / "bench/servers").glob("*.py"))
    assert program.removesuffix("-serve") in sources, program
    path = shutil.which(program, path="/usr/bin:/usr/sbin:/bin") or max(
        map(str, pathlib.Path("/usr/lib").glob(f"*/*/bin/{program}")),
        default=None)
    if path:
        done = run(folder, "weft", "doctor", path)
        assert done.returncode == 0, done.stdout + done.stderr


def check_usage(line, folder):
    """The help names the command so."""
    command = line.split()[1]
    result = run(folder, "weft", "help")
    assert f"  {command}" in result.stdout


def check_compiler(line, folder, installed):
    result = run(folder, "sh", "-c", line + " -pthread", env=installed)
    assert result.returncode == 0, (line, result.stderr)
    result = run(folder, folder / "a.out", env=installed | {"WEFT_STATS": "1"})
    assert result.stdout == "served\n", result.stderr
    assert "threads made: 1\n" in result.stderr


def check_kv(line, folder):
    """The programs of examples/kv print their usage in these words."""
    name, *words = line.split()
    program = BUILD / "examples/kv" / name
    usage = run(folder, program).stderr
    assert usage, line
    for word in re.findall(r"[A-Z_]{4,}|channel|unix|tcp", " ".join(words)):
        assert word.lower() in usage.lower(), (line, usage)


def check_mpi(line, folder):
    """A program of examples/mpi on weft, by MPICH."""
    name = re.search(r"--mpi (\w+)", line)[1]
    program = BUILD / f"examples/mpi/{name}_mpich"
    if shutil.which("mpiexec.mpich") is None or not program.exists():
        pytest.skip("MPICH is not installed")
    line = line.replace("mpiexec ", "mpiexec.mpich ")
    line = line.replace(f" {name} ", f" {program} ")
    line = line.replace(" weft ", f" {BUILD}/weft ")
    done = run(folder, "sh", "-c", line)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equal to one thread's\n" in done.stdout


def run_commands(block, folder, installed):
    for line in commands(block):
        if line.startswith("./dev "):
            check_dev(line, folder)
        elif re.match(r"(build/)?weft ", line):
            check_weft(line, folder)
        elif line.startswith("cc "):
            check_compiler(line, folder, installed)
        elif line.startswith("mpiexec "):
            check_mpi(line, folder)
        elif line.startswith("kv_"):
            check_kv(line, folder)
        else:
            pytest.fail(f"unknown command in the documents: {line}")


# The code around an example in C, chosen by a word in it: above main, before
# the example, after it.
FRAMES = {
    "weft_is_active": ("", "", "if (0) puts(weft_version());"),
    "ring->tail": ("""
        struct ring { _Atomic unsigned long tail; };
        static struct ring memory, *ring = &memory;
        static void *fill(void *arg) { memory.tail = 1; return arg; }
        """, """
        unsigned long seen = 0;
        pthread_t thread;
        pthread_create(&thread, NULL, fill, NULL);""", """
        pthread_join(thread, NULL);
        if (ring->tail != 1) return 1;"""),
    "sleep_in_the_kernel": ("""
        static _Atomic unsigned memory;
        static void *fill(void *arg) { memory = 1; return arg; }
        static void sleep_in_the_kernel(_Atomic unsigned *word, unsigned seen)
        { while (*word == seen) sched_yield(); }
        """, """
        _Atomic unsigned *word = &memory;
        unsigned seen = 0;
        pthread_t thread;
        pthread_create(&thread, NULL, fill, NULL);""", """
        pthread_join(thread, NULL);
        if (*word != 1) return 1;"""),
    "weft_channel_create": ("""
        static void serve(int fd)
        {
            struct weft_channel *in;
            char text[64];
            size_t size;
            int err = weft_channel_open(fd, WEFT_CHANNEL_RECEIVER, &in);
            if (err == 0)
                err = weft_channel_receive(in, text, sizeof(text), &size);
            _exit(err != 0 || strcmp(text, "hello") != 0);
        }
        """, "", """
        int status;
        if (wait(&status) < 0 || status != 0) return 1;"""),
}
INCLUDES = """
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/channel.h>
#include <weft/weft.h>
"""


def run_c(block, folder):
    """As it stands, natively and on weft."""
    frame = next((FRAMES[mark] for mark in FRAMES if mark in block), None)
    if frame is None:
        pytest.fail(f"an example in C that has no frame here:\n{block}")
    body = "\n".join(line for line in block.splitlines()
                     if not line.startswith("#include"))
    above, before, after = frame
    (folder / "example.c").write_text(
        f"{INCLUDES}{above}\nint main(void)\n{{\n{before}\n{body}\n{after}\n"
        "return 0;\n}\n")
    done = run(folder, "cc", "-D_GNU_SOURCE", f"-I{ROOT}/include", "example.c",
               "-o", "example", "-pthread", BUILD / "libweft-api.a")
    assert done.returncode == 0, done.stderr
    for way in ([], [folder / "build/weft", "run"]):
        done = run(folder, *way, folder / "example")
        assert done.returncode == 0, (way, done.stdout, done.stderr)


def run_kv_client(block, folder):
    """Against a server at an address of the test's own."""
    address = f"channel:{folder}/kv"
    body = block.replace("channel:/run/kv", address)
    body = body.replace('#include "kv.h"', "")
    (folder / "client.c").write_text(
        '#include <string.h>\n#include "kv.h"\nint main(void)\n{\n'
        f"{body}\nreturn size != 5 || memcmp(value, \"value\", 5) != 0;\n}}\n")
    kv = BUILD / "examples/kv"
    done = run(folder, "cc", f"-I{ROOT}/examples/kv", "client.c", "-o",
               "client", *kv.glob("libkv*.a"), BUILD / "libweft-api.a",
               "-pthread")
    assert done.returncode == 0, done.stderr
    script = (f"{kv}/kv_server {address} > ready & server=$!; "
              "until grep -q ready ready; do kill -0 $server || exit 9; done; "
              "./client; status=$?; kill $server; exit $status")
    done = run(folder, "sh", "-c", script)
    assert done.returncode == 0, done.stderr


def verify_unit(folder, text, drop_in=None):
    """Returns systemd's remarks on a service, with paths of this machine."""
    units = folder / "units"
    shutil.rmtree(units, ignore_errors=True)
    units.mkdir()
    paths = {"/usr/local/bin/weft": BUILD / "weft",
             "/usr/bin/memcached": folder / "server"}

    def here(lines):
        for path, other in paths.items():
            lines = lines.replace(path, str(other))
        return lines
    (units / "example.service").write_text(here(text))
    if drop_in is not None:
        (units / "example.service.d").mkdir()
        (units / "example.service.d/weft.conf").write_text(here(drop_in))
    return run(folder, "systemd-analyze", "verify", "--man=no",
               "example.service",
               env={"SYSTEMD_UNIT_PATH": f"{units}:{UNITS}"})


def check_unit(block, folder):
    if shutil.which("systemd-analyze") is None or \
            not pathlib.Path(UNITS, "sysinit.target").exists():
        pytest.skip("systemd is not installed")
    if not re.search(r"^ExecStart=$", block, re.M):
        done = verify_unit(folder, block)
        assert (done.returncode, done.stderr) == (0, "")
        return
    unit = "[Service]\nExecStart=/usr/bin/memcached -m 64\n"
    done = verify_unit(folder, unit, block)
    assert (done.returncode, done.stderr) == (0, "")
    # Without the empty line systemd refuses the unit, and this check notices.
    done = verify_unit(folder, unit, block.replace("ExecStart=\n", ""))
    assert done.returncode != 0 and "more than one" in done.stderr


def act_out_image(block, folder):
    """COPY and ENTRYPOINT, with folders in place of an image's."""
    image = folder / "image"
    for line in block.splitlines():
        word, _, rest = line.partition(" ")
        if word == "COPY":
            *files, target = rest.split()
            place = image / target.strip("/")
            place.mkdir(parents=True)
            for name in files:
                shutil.copy(folder / name, place)
        elif word == "ENTRYPOINT":
            words = re.findall(r'"([^"]*)"', rest)
            assert words[2] == "/usr/bin/memcached"
            command = [image / words[0].strip("/"), words[1],
                       folder / "server", *words[3:]]
        else:
            pytest.fail(f"unknown line of an image: {line}")
    done = run(folder, *command)
    assert (done.returncode, done.stdout) == (0, "served\n"), done.stderr


# {how a block begins: why it is not run}
SHOWN = {
    "/usr/bin/python3 with 2000 threads": "output of ./dev demo",
    "base arch os libc": "the layers, which tools/check_layers.py reads",
    "weft unit --check": "changes services; test/cli/test_unit.py runs it",
    "     PID  PROGRAM": "output of weft ps; test/see checks such lines",
    "       TID  NAME": "output of weft threads; test/see checks such lines",
    "Deadlock of": "output of weft threads --waits; the same",
    "2 threads, parked": "output of weft stacks; test/see checks such lines",
    "weft: SIGQUIT: the stacks": "output of --dump-on; the same",
    "process           27244": "output of weft doctor PID; the same",
    "page;lock 2": "output of weft stacks --folded; the same",
    "echo '|/usr/bin/weft core": "changes a setting of the kernel's; "
                                 "test/see/test_core.py runs the filter",
    "gdb -p PID": "test/see/test_gdb.py gives gdb these commands",
    "add-auto-load-safe-path": "a setting of gdb's; the same test",
    "(lldb) settings set": "test/see/test_lldb.py gives lldb these commands",
    "mkdir ~/lldb-python": "test/see/test_lldb.py makes such a folder",
    "find_package(weft": "test/packages/test_find.py builds with it",
    "weft = dependency(": "test/packages/test_find.py builds with it",
    "meson setup build -Dtests": "test/packages/test_dist.py builds so",
    "examples/container/container.sh": "tools/deb_container.py runs it",
    "apt-get install": "tools/deb_chroot.py installs the packages",
    "folder: what changes": "the form of a commit's message",
}


@pytest.mark.parametrize("document, block", [
    pytest.param(name, block, id=f"{name}: {block.splitlines()[0][:40]}")
    for name, block in examples()])
def test_example(document, block, folder, installed):
    first = block.splitlines()[0]
    if any(first.startswith(begin) for begin in SHOWN):
        return
    if '"kv.h"' in block:
        run_kv_client(block, folder)
    elif re.search(r"#include|weft_\w+\(", block):
        run_c(block, folder)
    elif "[Service]" in block:
        check_unit(block, folder)
    elif first.startswith("COPY "):
        act_out_image(block, folder)
    else:
        run_commands(block, folder, installed)


def test_examples_of_manual_pages(folder):
    """Those between .EX and .EE."""
    nr = 0
    for page in sorted((ROOT / "docs/man").glob("*.3")):
        for block in re.findall(r"^\.EX\n(.*?)^\.EE$", page.read_text(),
                                re.M | re.S):
            run_c(block.replace("\\(aq", "'").replace("\\e", "\\"), folder)
            nr += 1
    assert nr >= 1


def test_unknown_examples_are_seen(folder, installed):
    for block in ("make it so", "weft_fly(3);", "COPY server.c /b\nRUN true"):
        with pytest.raises(pytest.fail.Exception):
            test_example("none", block, folder, installed)


def test_links_lead_somewhere():
    """Checks relative links, and the headings that they name."""
    broken = []
    for name in DOCUMENTS:
        text = (ROOT / name).read_text()
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, heading = link.partition("#")
            if path.startswith("http"):
                continue
            target = ROOT / name if not path else (ROOT / name).parent / path
            if not target.exists():
                broken.append((name, link))
            elif heading and heading not in headings(target.read_text()):
                broken.append((name, link))
    assert not broken


def test_glossary_names_files_that_exist():
    """Each term has a file, and the terms are in order."""
    text = (ROOT / "docs/internals/glossary.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in
            text.split("## Old words")[0].splitlines()
            if line.startswith("| ")][2:]
    assert len(rows) > 50
    missing = []
    for term, _, where in rows:
        files = re.findall(r"`([\w.]+/[\w./]+)`", where)
        missing += [(term, name) for name in files
                    if not (ROOT / name).is_file()]
        if not files:
            missing.append((term, where))
    assert not missing
    terms = [row[0].lower() for row in rows]
    assert terms == sorted(terms)


def headings(text):
    found = set()
    for title in re.findall(r"^#+ (.*)$", text, re.M):
        plain = re.sub(r"[^\w\- ]", "", title.lower())
        found.add(plain.strip().replace(" ", "-"))
    return found
