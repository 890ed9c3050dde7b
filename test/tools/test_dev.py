# SPDX-License-Identifier: MIT
"""./dev with a stand-in for the package manager."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ("sh", "env", "dirname", "cat", "id", "mkdir")


@pytest.fixture
def dev(tmp_path):
    """Runs a copy of dev that sees only these commands; each is a script."""
    def run(*args, **commands):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name in NEEDED:
            if not (folder / name).exists():
                (folder / name).symlink_to(shutil.which(name))
        for name, script in commands.items():
            path = folder / name.replace("_", "-")
            path.unlink(missing_ok=True)
            path.write_text("#!/bin/sh\n" + script)
            path.chmod(0o755)
        shutil.copy(ROOT / "dev", tmp_path / "dev")
        return subprocess.run([tmp_path / "dev", *args], capture_output=True,
                              text=True, env={"PATH": str(folder),
                                              "LOG": str(tmp_path / "log")})
    return run


ALL_BUT_GCC = '[ "$4" != gcc ] && echo installed'
RECORD = 'echo "${0##*/} $*" >> "$LOG"\n'


def test_unknown_command(dev):
    result = dev("fly")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1 and "'fly'" in result.stderr


def test_help(dev):
    result = dev("help")
    assert result.returncode == 0
    for command in ("demo", "test", "build", "bench", "stress", "conformance",
                    "lint", "install", "uninstall"):
        assert f"\n  {command} " in result.stdout


def test_no_apt(dev):
    result = dev("build", dpkg_query=ALL_BUT_GCC)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("install yourself: gcc\n")


def test_no_root(dev):
    result = dev("build", dpkg_query=ALL_BUT_GCC, apt_get="exit 0\n",
                 id="echo 1000\n")
    assert result.returncode == 1
    assert "needs root and there is no sudo" in result.stderr


def test_apt_fails(dev):
    result = dev("build", dpkg_query=ALL_BUT_GCC, id="echo 0\n",
                 apt_get='[ "$2" = update ]\n')
    assert result.returncode == 1
    assert "apt-get could not install: gcc" in result.stderr


@pytest.mark.parametrize("uid", [0, 1000])
def test_installs_missing_packages(dev, tmp_path, uid):
    result = dev("build", dpkg_query=ALL_BUT_GCC, id=f"echo {uid}\n",
                 sudo='echo sudo >> "$LOG"\nexec "$@"\n', apt_get=RECORD,
                 meson=RECORD, ninja=RECORD)
    assert result.returncode == 0, result.stderr
    log = (tmp_path / "log").read_text().splitlines()
    assert log.count("sudo") == (0 if uid == 0 else 2)
    log = [line for line in log if line != "sudo"]
    assert log[0] == "apt-get -qq update"
    assert log[1].startswith("apt-get -qq install -y")
    assert "DPkg::Lock::Timeout=600" in log[1]
    assert log[1].endswith("--no-install-recommends gcc")
    assert log[2] == "meson setup build"
    assert log[3].startswith("ninja -C build")


def test_installs_nothing_if_nothing_is_missing(dev, tmp_path):
    result = dev("build", dpkg_query="echo installed\n", apt_get=RECORD,
                 meson=RECORD, ninja=RECORD)
    assert result.returncode == 0
    assert "apt-get" not in (tmp_path / "log").read_text()


def updates(tmp_path):
    log = (tmp_path / "log").read_text().splitlines()
    return [line for line in log if line.startswith("apt-get -qq update")]


def test_one_update_a_run(dev, tmp_path):
    """All packages are missing, and the optional ones cannot be installed."""
    result = dev("test", dpkg_query="exit 1\n", id="echo 0\n",
                 apt_get=RECORD + 'case "$*" in *nginx*) exit 1 ;; esac\n',
                 meson=RECORD, ninja=RECORD, nproc="echo 2\n",
                 rm="exit 0\n", grep="exit 1\n")
    assert len(updates(tmp_path)) == 1, result.stderr
    assert "going on without nginx-light" in result.stderr
    assert "going on without curl" not in result.stderr
    assert "meson test" in (tmp_path / "log").read_text()


def test_no_update_after_one_that_failed(dev, tmp_path):
    result = dev("bench", dpkg_query='[ "$4" = gcc ] && echo installed',
                 id="echo 0\n", apt_get=RECORD + "exit 1\n", meson=RECORD,
                 ninja=RECORD)
    assert len(updates(tmp_path)) == 1
    assert "apt-get update failed" in result.stderr


def test_conformance_installs_the_tests_of_its_python(dev, tmp_path):
    version = subprocess.run(["/usr/bin/python3", "--version"], text=True,
                             capture_output=True).stdout.split()[1]
    package = f"libpython{version.rpartition('.')[0]}-testsuite"
    result = dev("conformance", dpkg_query='case "$4" in *testsuite) ;; '
                 "*) echo installed ;; esac\n", id="echo 0\n",
                 apt_get=RECORD, meson=RECORD, ninja=RECORD)
    log = (tmp_path / "log").read_text().splitlines()
    installs = [line for line in log if " install " in line]
    assert len(installs) == 1, result.stderr
    assert installs[0].endswith(f"--no-install-recommends {package}")


@pytest.mark.parametrize("name", ["a b", "a:b", "a$b"])
def test_path_that_cannot_hold_the_library(dev, tmp_path, name):
    """It is said before anything is built."""
    (tmp_path / name).mkdir()
    result = dev("install", tmp_path / name, dpkg_query="echo installed\n",
                 meson=RECORD, ninja=RECORD)
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert name in result.stderr and "another one" in result.stderr
    shutil.copy(tmp_path / "dev", tmp_path / name)
    result = subprocess.run(
        [tmp_path / name / "dev", "build"], capture_output=True, text=True,
        env={"PATH": str(tmp_path / "bin"), "LOG": str(tmp_path / "log")})
    assert result.returncode == 1 and result.stderr.count("\n") == 1
    assert "move the checkout" in result.stderr
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("uid", [0, 1000])
def test_uninstall(dev, tmp_path, uid):
    result = dev("uninstall", "/proc/sys", id=f"echo {uid}\n",
                 dpkg_query="echo installed\n", meson=RECORD, ninja=RECORD,
                 sudo='echo sudo >> "$LOG"\nexit 0\n')
    log = (tmp_path / "log").read_text().splitlines()
    assert "meson configure build -Dprefix=/proc/sys" in log
    assert log.count("sudo") == (0 if uid == 0 else 2)
    # The copy of dev lies in a folder without tools.
    assert uid != 0 or "tools/uninstall.py" in result.stderr
    result = dev("uninstall", "/nonexistent", dpkg_query="echo installed\n")
    assert result.returncode == 1 and result.stderr.count("\n") == 1


def test_build_fails(dev):
    result = dev("build", dpkg_query="echo installed\n", meson="exit 0\n",
                 ninja="exit 3\n")
    assert result.returncode != 0


def test_meson_fails(dev, tmp_path):
    result = dev("build", dpkg_query="echo installed\n", meson="exit 1\n",
                 ninja=RECORD)
    assert result.returncode == 1
    assert "meson could not configure build" in result.stderr
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("uid", [0, 1000])
def test_install(dev, tmp_path, uid):
    result = dev("install", tmp_path / "prefix", id=f"echo {uid}\n",
                 dpkg_query="echo installed\n", meson=RECORD, ninja=RECORD,
                 ldconfig=RECORD)
    assert result.returncode == 0, result.stderr
    log = [line.strip() for line in
           (tmp_path / "log").read_text().splitlines()]
    assert f"meson configure build -Dprefix={tmp_path}/prefix" in log
    # Only root may update the loader's cache.
    ends = ["meson install -C build --no-rebuild", "ldconfig"]
    assert log[-2:] == ends if uid == 0 else log[-1] == ends[0]


def test_install_where_root_alone_may(dev, tmp_path):
    result = dev("install", "/proc/prefix", id="echo 1000\n",
                 dpkg_query="echo installed\n", meson=RECORD, ninja=RECORD,
                 sudo='echo sudo >> "$LOG"\nexec "$@"\n', ldconfig=RECORD)
    assert result.returncode == 0, result.stderr
    log = (tmp_path / "log").read_text().splitlines()
    assert [line.strip() for line in log[-4:]] == [
        "sudo", "meson install -C build --no-rebuild", "sudo", "ldconfig"]


def test_two_results_are_compared_without_a_build(dev):
    result = dev("bench", "papers", "--compare", "old.json", "new.json",
                 dpkg_query="exit 1\n")
    # The copy of dev lies in a folder without benchmarks.
    assert "bench/run.py" in result.stderr and "gcc" not in result.stderr


def test_bench_goes_on_without_go(dev, tmp_path):
    result = dev("bench", dpkg_query='[ "$4" != golang-go ] && echo installed',
                 id="echo 0\n", apt_get="exit 1\n", meson=RECORD, ninja=RECORD)
    assert "going on without golang-go" in result.stderr
    assert "ninja" in (tmp_path / "log").read_text()
    # The copy of dev lies in a folder without benchmarks.
    assert "bench/run.py" in result.stderr
