# SPDX-License-Identifier: MIT
"""weft run: the program gets its native environment, and weft."""

import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

from conftest import BUILD, LIBRARY, complains

TUNABLE = "glibc.pthread.rseq=0"
SOURCE = pathlib.Path(__file__).parents[1] / "regress/environment_in_a_row.c"


def environment(result):
    assert result.returncode == 0, result.stderr
    return dict(line.split("=", 1) for line in result.stdout.splitlines()
                if "=" in line)


@pytest.mark.parametrize("status", [0, 1, 77, 125, 126, 127, 255])
def test_exit_status(weft, status):
    assert weft("run", "sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL,
                                    signal.SIGINT])
def test_killed_by_signal(weft, number):
    result = weft("run", "sh", "-c", f"kill -{int(number)} $$")
    assert result.returncode == -number


def test_signal_from_outside():
    child = subprocess.Popen([BUILD / "weft", "run", "sh", "-c",
                              "echo ready; exec sleep 60"],
                             stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    child.terminate()
    assert child.wait(10) == -signal.SIGTERM
    child.stdout.close()


def test_same_process():
    child = subprocess.Popen([BUILD / "weft", "run", "sh", "-c", "echo $$"],
                             stdout=subprocess.PIPE, text=True)
    assert int(child.communicate(timeout=10)[0]) == child.pid


def test_streams(weft):
    result = weft("run", "sh", "-c", "cat; echo err >&2", input="text\n")
    assert (result.stdout, result.stderr) == ("text\n", "err\n")


def test_arguments_are_left_alone(weft):
    args = ["--vps", "x", "", "a b", "--", "--help"]
    result = weft("run", "printf", "<%s>", *args)
    assert result.stdout == "".join(f"<{a}>" for a in args)


def test_argv0_is_as_given(weft):
    result = weft("run", "sh", "-c", "echo $0; tr '\\0' ' ' </proc/$$/cmdline")
    assert result.stdout.startswith("sh\nsh -c")


def test_double_dash(weft, write_file):
    result = weft("run", "--vps", "1", "--", "echo", "--vps")
    assert result.stdout == "--vps\n"
    script = write_file("--vps", "#!/bin/sh\necho script\n")
    result = weft("run", "--", script.name,
                  env={"PATH": f"{script.parent}:{os.environ['PATH']}"})
    assert result.stdout == "script\n"


def test_options_become_variables(weft):
    env = environment(weft("run", "--vps", "2", "--stack-size=64K", "--stats",
                           "--preempt-every", "1ms", "--bound", "libGL",
                           "--no-children", "env"))
    assert env["WEFT_VPS"] == "2"
    assert env["WEFT_STACK_SIZE"] == "64K"
    assert env["WEFT_PREEMPT_EVERY"] == "1ms"
    assert env["WEFT_STATS"] == "1"
    assert env["WEFT_BOUND"] == "libGL"
    assert env["WEFT_NO_CHILDREN"] == "1"


def test_option_beats_variable(weft):
    env = environment(weft("run", "--vps=2", "env", env={"WEFT_VPS": "1"}))
    assert env["WEFT_VPS"] == "2"
    env = environment(weft("run", "env", env={"WEFT_VPS": "1"}))
    assert env["WEFT_VPS"] == "1"


def test_last_option_counts(weft):
    env = environment(weft("run", "--vps=2", "--vps", "1", "env"))
    assert env["WEFT_VPS"] == "1"


def test_preload(weft):
    env = environment(weft("run", "env"))
    assert env["LD_PRELOAD"] == LIBRARY
    assert env["GLIBC_TUNABLES"] == TUNABLE


@pytest.mark.parametrize("before, after", [
    ("libm.so.6", f"libm.so.6:{LIBRARY}"),
    ("libm.so.6 libdl.so.2", f"libm.so.6:libdl.so.2:{LIBRARY}"),
    (LIBRARY, LIBRARY),
    (f"{LIBRARY}:libm.so.6", f"libm.so.6:{LIBRARY}"),
    (f"{LIBRARY} ", LIBRARY),
    ("", LIBRARY),
])
def test_preload_of_the_user(weft, before, after):
    result = weft("run", "env", env={"LD_PRELOAD": before})
    assert environment(result)["LD_PRELOAD"] == after


@pytest.mark.parametrize("before, after", [
    ("glibc.malloc.check=1", f"glibc.malloc.check=1:{TUNABLE}"),
    (TUNABLE, TUNABLE),
    ("glibc.pthread.rseq=1", TUNABLE),
    ("a.b=1:glibc.pthread.rseq=1:c.d=2", f"a.b=1:c.d=2:{TUNABLE}"),
    ("", TUNABLE),
])
def test_tunables_of_the_user(weft, before, after):
    result = weft("run", "env", env={"GLIBC_TUNABLES": before})
    assert environment(result)["GLIBC_TUNABLES"] == after


@pytest.mark.parametrize("before", [
    {}, {"GLIBC_TUNABLES": "glibc.malloc.check=1:glibc.malloc.arena_max=2"}])
def test_environment_is_in_a_row(weft, compile_c, before):
    program = compile_c(source=SOURCE.read_text())
    assert weft("run", program, env=before).returncode == 0


def test_nested(weft):
    env = environment(weft("run", "sh", "-c", f"{BUILD}/weft run env"))
    assert env["LD_PRELOAD"] == LIBRARY
    assert env["GLIBC_TUNABLES"] == TUNABLE


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_sanitizer_comes_first(weft, compile_c, sanitizer):
    program = compile_c(f"-fsanitize={sanitizer}", source="""
        #include <stdio.h>
        #include <stdlib.h>
        int main(void) { return puts(getenv("LD_PRELOAD")) < 0; }
    """)
    # This test is about the environment only, not about whether the sanitizer
    # works with the runtime.
    result = subprocess.run(
        [BUILD / "weft", "doctor", program], capture_output=True, text=True)
    assert f"preloaded first   lib{sanitizer[0]}san.so" in result.stdout
    if sanitizer == "address":
        result = weft("run", program)
        first, last = result.stdout.strip().split(":")
        assert first.startswith("libasan.so.") and last == LIBRARY
        assert result.stderr == ""


def test_script(weft, write_file):
    script = write_file("script", "#!/bin/sh -e\necho $# $1\nexit 7\n")
    result = weft("run", script, "one", "two")
    assert (result.returncode, result.stdout) == (7, "2 one\n")


def test_script_through_env_and_script(weft, write_file):
    inner = write_file("inner", "#! /usr/bin/env sh\necho inner $1\n")
    outer = write_file("outer", f"#!{inner}\n")
    assert weft("run", outer).stdout == f"inner {outer}\n"


def test_path_search(weft, write_file):
    script = write_file("frob", "#!/bin/sh\necho found\n")
    path = f"/nonexistent:{script.parent}:{os.environ['PATH']}"
    assert weft("run", "frob", env={"PATH": path}).stdout == "found\n"
    # An empty entry is the current directory.
    path = f"/nonexistent::{os.environ['PATH']}"
    result = weft("run", "frob", env={"PATH": path}, cwd=script.parent)
    assert result.stdout == "found\n"
    # No PATH at all: the system's default.
    assert weft("run", "true", env={"PATH": None}).returncode == 0


def test_path_search_skips_other_files(weft, write_file):
    plain = write_file("frob", "#!/bin/sh\n", mode=0o644)
    good = plain.parent / "bin"
    (good / "x").mkdir(parents=True)
    shutil.copy(plain, good / "frob")
    (good / "frob").chmod(0o755)
    path = f"{plain.parent}:{good}:{os.environ['PATH']}"
    assert weft("run", "frob", env={"PATH": path}).returncode == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user's file")
def test_executable_that_cannot_be_read(weft):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        for file in (BUILD / "weft", LIBRARY, "/usr/bin/id"):
            shutil.copy(file, folder)
        program = os.path.join(folder, "id")
        os.chmod(program, 0o711)
        result = weft("run", program, command=f"{folder}/weft", user=65534,
                      group=65534, extra_groups=[])
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("uid=65534")


def loaded(name):
    """Returns the path of a library that this process has loaded."""
    with open("/proc/self/maps") as maps:
        paths = (line.split()[-1] for line in maps)
        return next(p for p in paths if os.path.basename(p).startswith(name))


def test_loader_with_a_program(weft):
    result = weft("run", loaded("ld-linux"), sys.executable, "-c", """if True:
        import threading
        thread = threading.Thread(target=print, args=["from a thread"])
        thread.start()
        thread.join()
    """, env={"WEFT_STATS": "1"})
    assert result.returncode == 0
    assert result.stdout == "from a thread\n"
    assert "threads made: 1\n" in result.stderr


@pytest.mark.parametrize("way", [[], ["sh", "-c", '"$0"']])
def test_libc_as_a_program(weft, way):
    libc = loaded("libc.so")
    if not os.access(libc, os.X_OK):
        pytest.skip("this libc is no program")
    result = weft("run", *way, libc)
    assert result.returncode == 0
    assert "GNU C Library" in result.stdout
    assert result.stderr == ""


def test_moved_installation(weft, tmp_path):
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild",
                    "--quiet", "--destdir", tmp_path], check=True)
    installed = {p.name: p for p in tmp_path.rglob("*") if p.is_file()}
    env = environment(weft("run", "env", command=installed["weft"]))
    assert env["LD_PRELOAD"] == str(installed["libweft.so.0"])
    assert {"weft.h", "weft.pc"} <= set(installed)


def test_no_library(weft, tmp_path):
    command = tmp_path / "weft"
    shutil.copy(BUILD / "weft", command)
    result = weft("run", "true", command=command)
    if result.returncode == 0:
        pytest.skip("weft is installed on this system")
    assert result.returncode == 125
    assert "libweft.so.0 is neither" in result.stderr


def test_mpi_preloads_a_second_library(weft, tmp_path):
    """With --mpi the program has libweft-mpi preloaded, too. Without the
    library the command refuses --mpi. A program that makes no MPI calls runs as
    it does without --mpi."""
    command = tmp_path / "weft"
    shutil.copy(BUILD / "weft", command)
    shutil.copy(LIBRARY, tmp_path / "libweft.so.0")
    complains(weft("run", "--mpi", "true", command=command), 125,
              "libweft-mpi.so.0", "--mpi needs this library")
    shutil.copy(BUILD / "libweft-mpi.so.0", tmp_path)
    both = f"{tmp_path}/libweft.so.0:{tmp_path}/libweft-mpi.so.0"
    env = environment(weft("run", "--mpi", "env", command=command))
    assert env["LD_PRELOAD"] == both
    # A program that such a program starts on weft has each of them once.
    env = environment(weft("run", "--mpi", str(command), "run", "env",
                           command=command))
    assert env["LD_PRELOAD"] == both


@pytest.mark.parametrize("name", ["with space", "with:colon", "$LIB"])
def test_library_path_that_cannot_be_preloaded(weft, tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    shutil.copy(BUILD / "weft", folder / "weft")
    shutil.copy(LIBRARY, folder / "libweft.so.0")
    complains(weft("run", "true", command=folder / "weft"), 125, "move weft")


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF", None])
def test_library_that_cannot_be_preloaded(weft, tmp_path, content):
    """The command refuses a library that ld.so could not load. ld.so would
    print an error and run the program without weft."""
    library = tmp_path / "libweft.so.0"
    if content is None:
        library.mkdir()
    else:
        library.write_bytes(content)
    shutil.copy(BUILD / "weft", tmp_path / "weft")
    complains(weft("run", "true", command=tmp_path / "weft"), 125,
              str(library), "build or install weft anew")


def test_library_of_another_origin(weft, compile_c):
    """The command refuses a library that has weft's name and is not weft's.
    ld.so would load it, and the program would run without weft."""
    folder = compile_c("-shared", "-fPIC", "-Wl,-soname,libweft.so.0",
                       name="libweft.so.0", source="int weft;").parent
    shutil.copy(BUILD / "weft", folder)
    for command in ("run", "doctor"):
        result = weft(*(["run", "true"] if command == "run" else ["doctor"]),
                      command=folder / "weft")
        assert result.returncode == 125
        assert "libweft.so.0: not weft's library" in result.stderr


def test_library_of_another_release(weft, tmp_path):
    content = pathlib.Path(LIBRARY).read_bytes()
    version = weft("version").stdout.split()[1].encode()
    at = content.index(b"weft\0\0\0\0" + version)
    changed = content[:at + 8] + b"9" + content[at + 9:]
    (tmp_path / "libweft.so.0").write_bytes(changed)
    shutil.copy(BUILD / "weft", tmp_path)
    complains(weft("run", "true", command=tmp_path / "weft"), 125,
              "the library of weft 9", "build or install weft anew")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to mount")
def test_library_on_a_noexec_mount(weft, tmp_path):
    # The executable command is bound over the one on the noexec mount.
    script = f"""mount -t tmpfs -o noexec none {tmp_path} || exit 77
        cp {LIBRARY} {tmp_path} && touch {tmp_path}/weft &&
        mount --bind {BUILD}/weft {tmp_path}/weft &&
        mount -o remount,bind,exec {tmp_path}/weft &&
        {tmp_path}/weft run true"""
    result = subprocess.run(["unshare", "-m", "sh", "-c", script], text=True,
                            capture_output=True, timeout=60)
    if result.returncode == 77:
        pytest.skip("nothing can be mounted here")
    complains(result, 125, "libweft.so", "noexec", "move weft")


def test_command_that_runs_itself(weft):
    """If weft runs itself, the inner options win, and LD_PRELOAD names the
    library once."""
    inner = [BUILD / "weft", "run", "--vps", "3", "env"]
    env = environment(weft("run", "--vps", "2", "--stats", *inner))
    assert env["WEFT_VPS"] == "3" and env["WEFT_STATS"] == "1"
    assert env["LD_PRELOAD"] == LIBRARY
    result = weft("run", BUILD / "weft", "run", "/nonexistent")
    complains(result, 127, "/nonexistent")


def test_variable_that_is_there_twice(weft, compile_c):
    """If a variable is in the environment twice, programs take the first value,
    and ld.so takes the last."""
    twice = compile_c(source="""
        #include <unistd.h>
        int main(int argc, char **argv)
        {
            char *all[] = { "LD_PRELOAD=", "A=1", "LD_PRELOAD=/none/1.so",
                            "LD_PRELOAD=", "B=2", "LD_PRELOAD=/none/2.so",
                            NULL };

            return execve(argv[1], argv + 1, all);
        }
        """)
    result = subprocess.run([twice, BUILD / "weft", "run", shutil.which("env")],
                            text=True, capture_output=True, timeout=60)
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("LD_PRELOAD=")] == \
        [f"LD_PRELOAD={LIBRARY}"]
    assert lines[1:3] == ["A=1", "B=2"] and result.stderr == ""


@pytest.mark.parametrize("args, status", [
    (["run", "--stats", "/bin/true"], 0), (["run", "/nonexistent"], 127),
    (["doctor", "/bin/true"], 0)])
def test_small_stack(weft, args, status):
    """The command works on the smallest stack on which programs with few
    variables start."""
    def lower():
        resource.setrlimit(resource.RLIMIT_STACK, (20 << 10, 20 << 10))
    result = weft(*args, env=dict.fromkeys(os.environ), preexec_fn=lower)
    assert result.returncode == status
    assert result.stdout or result.stderr
