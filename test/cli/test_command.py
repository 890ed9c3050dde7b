# SPDX-License-Identifier: MIT
"""weft without a program: help, version, doctor, options."""

import os
import re
import subprocess

import pytest

from conftest import LIBRARY, ROOT, complains

OPTIONS = ["vps", "wait", "agents", "io", "io-nice", "stack-size",
           "preempt-every", "stats", "stats-file", "dump-on", "bound", "mpi",
           "no-children"]


def test_help(weft):
    result = weft("help")
    assert result.returncode == 0
    assert "usage: weft" in result.stdout
    assert weft("--help").stdout == result.stdout
    assert weft("-h").stdout == result.stdout
    complains(weft("help", "fly"), 125, "unknown command 'fly'")


@pytest.mark.parametrize("command", ["run", "doctor"])
def test_help_on_a_command(weft, command):
    result = weft("help", command)
    assert result.returncode == 0 and result.stderr == ""
    assert f"usage: weft {command} " in result.stdout
    for option in "--help", "-h":
        again = weft(command, option)
        assert (again.returncode, again.stdout) == (0, result.stdout)


def test_no_command(weft):
    result = weft()
    assert result.returncode == 125
    assert result.stdout == "" and "usage: weft" in result.stderr


def test_unknown_command(weft):
    complains(weft("fly"), 125, "unknown command 'fly'", "weft help")


@pytest.mark.parametrize("argument", ["--version", "version", "-V"])
def test_version(weft, argument):
    result = weft(argument)
    version = os.environ.get("WEFT_PROJECT_VERSION", r"\d+\.\d+\.\d+")
    assert result.returncode == 0
    assert re.fullmatch(f"weft {version}\n", result.stdout)


@pytest.mark.parametrize("args", [["help"], ["help", "run"], ["--version"],
                                  ["run", "--help"], ["doctor"],
                                  ["doctor", "--help"], ["doctor", "true"]])
def test_output_that_cannot_be_written(weft, args):
    with open("/dev/full", "w") as full:
        result = weft(*args, stdout=full)
    complains(result, 125, "cannot write to standard output")


def test_run_help_is_made_from_the_table(weft):
    result = weft("run", "--help")
    assert result.returncode == 0 and result.stderr == ""
    for option in OPTIONS:
        variable = "WEFT_" + option.upper().replace("-", "_")
        assert f"  --{option}" in result.stdout
        assert f"{variable}: " in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_reference_lists_every_option(weft):
    text = (ROOT / "docs/reference/options.md").read_text()
    for option in OPTIONS:
        variable = "WEFT_" + option.upper().replace("-", "_")
        assert re.search(rf"\| `--{option}.*`{variable}` \|", text)
    listed = re.findall(r"^  --([a-z-]+)", weft("run", "--help").stdout, re.M)
    assert listed == OPTIONS


def test_manual_page_lists_every_option():
    text = (ROOT / "docs/man/weft.1").read_text().replace("\\-", "-")
    for option in OPTIONS:
        variable = "WEFT_" + option.upper().replace("-", "_")
        assert re.search(rf"^\.BI? --{option}\b.*\n\.RB \( {variable}\b",
                         text, re.M)
    listed = re.findall(r"^\.TP\n\.BI? --([a-z-]+)", text, re.M)
    assert listed == OPTIONS


def test_manual_page_names_every_command(weft):
    """The manual page names each command, and each option of the commands other
    than `run`."""
    text = (ROOT / "docs/man/weft.1").read_text().replace("\\", "")
    commands = re.findall(r"^  (\w+)", weft("help").stdout, re.M)
    assert {"run", "doctor", "stacks", "core"} <= set(commands)
    for command in commands:
        assert f"\n.B weft {command}\n" in text
        if command in ("run", "help", "version"):
            continue
        shown = re.findall(r"--([a-z-]+)", weft(command, "--help").stdout)
        for option in set(shown) - {"help"}:
            assert f"--{option}" in text, (command, option)


def test_run_nothing(weft):
    complains(weft("run"), 125, "no program")
    complains(weft("run", "--"), 125, "no program")
    complains(weft("run", "--vps", "2"), 125, "no program")


@pytest.mark.parametrize("args, words", [
    (["--frobnicate"], ["unknown option '--frobnicate'", "weft run --help"]),
    (["--vp", "2"], ["unknown option '--vp'", "did you mean --vps?"]),
    (["--preempt=1ms"], ["'--preempt'", "did you mean --preempt-every?"]),
    (["--vpsx=2"], ["unknown option '--vpsx'"]),
    (["-v"], ["unknown option '-v'"]),
    (["-"], ["unknown option '-'"]),
    (["--vps"], ["--vps needs a value"]),
    (["--vps", "four"], ["--vps: 'four'", "from 1 to 1024"]),
    (["--vps", ""], ["--vps: ''"]),
    (["--vps", "0"], ["--vps: '0'"]),
    (["--vps=1025"], ["--vps: '1025'"]),
    (["--vps="], ["--vps: ''"]),
    (["--vps", "-1"], ["--vps: '-1'"]),
    (["--stack-size", "4K"], ["--stack-size: '4K'", "16K"]),
    (["--stack-size", "1T"], ["--stack-size: '1T'"]),
    (["--stack-size", "99999999999999999999"], ["--stack-size"]),
    (["--preempt-every", "100"], ["--preempt-every: '100'", "100us"]),
    (["--preempt-every", "1us"], ["--preempt-every: '1us'"]),
    (["--stats=yes"], ["--stats: 'yes' is not 1, 0 or json"]),
    (["--stats="], ["--stats: ''"]),
    (["--stats-file="], ["--stats-file: '' is not 1 to 127 characters"]),
    (["--no-children=2"], ["--no-children: '2' is not 1 or 0"]),
    (["--vps", "0x2"], ["--vps: '0x2'"]),
    (["--vps", "2 "], ["--vps: '2 '"]),
    (["--io-nice", "20"], ["--io-nice: '20'", "from -20 to 19"]),
    (["--wait", "spin"], ["--wait: 'spin' is not adaptive, poll or park"]),
    (["--bound", ""], ["--bound: ''"]),
    (["--bound", "x" * 128], ["--bound"]),
])
def test_bad_option(weft, args, words):
    program = [] if args == ["--vps"] else ["/bin/true"]
    complains(weft("run", *args, *program), 125, *words)


def test_bad_variable(weft):
    result = weft("run", "/bin/true", env={"WEFT_VPS": "many"})
    complains(result, 125, "WEFT_VPS: 'many'", "from 1 to 1024")


@pytest.mark.parametrize("variable, words", [
    ("WEFT_VPZ", "did you mean WEFT_VPS?"),
    ("WEFT_STACKSIZE", "did you mean WEFT_STACK_SIZE?"),
])
@pytest.mark.parametrize("preloaded", [False, True])
def test_mistyped_variable(weft, variable, words, preloaded):
    """The command refuses the variable with one line. So does the library, if
    it is loaded without the command."""
    env = {variable: "1"}
    if preloaded:
        result = subprocess.run(
            ["/bin/true"], env={**env, "LD_PRELOAD": LIBRARY}, text=True,
            capture_output=True, timeout=60)
    else:
        result = weft("run", "/bin/true", env=env)
    complains(result, 125, f"{variable}: weft has no such variable", words)


def test_variable_of_another_program(weft):
    """Kubernetes sets variables WEFT_... for a service called weft: `run`
    ignores them, and `doctor` lists them."""
    env = {"WEFT_SERVICE_HOST": "10.0.0.1", "WEFT_STATS": "0"}
    result = weft("run", "true", env=env)
    assert result.returncode == 0 and result.stderr == ""
    result = weft("doctor", env=env)
    unused = [line for line in result.stdout.splitlines()
              if line.startswith("not used")]
    assert len(unused) == 1
    assert "WEFT_SERVICE_HOST: weft has no such variable" in unused[0]


def test_bad_variable_of_a_preloaded_library():
    result = subprocess.run(
        ["/bin/true"], env={"WEFT_VPS": "many", "LD_PRELOAD": LIBRARY},
        text=True, capture_output=True, timeout=60)
    complains(result, 125, "WEFT_VPS: 'many' is not a number from 1 to 1024")


@pytest.mark.parametrize("value, made", [("--stats=0", False),
                                         ("--stats=1", True),
                                         ("--stats", True)])
def test_flag_with_a_value(weft, value, made):
    result = weft("run", value, "/bin/true", env={"WEFT_STATS": "1"})
    assert result.returncode == 0
    assert ("made no threads" in result.stderr) == made


def test_option_replaces_bad_variable(weft):
    result = weft("run", "--vps", "2", "/bin/true", env={"WEFT_VPS": "many"})
    assert result.returncode == 0
