# SPDX-License-Identifier: MIT
"""tools/uninstall.py removes the files that `meson install` has installed."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = """project('p', version: '1')
install_headers('own.h', subdir: 'weft')
install_data('other.txt', install_dir: 'share/shared')
"""


def run(*command, folder):
    return subprocess.run([str(word) for word in command], cwd=folder,
                          capture_output=True, text=True, timeout=60,
                          env={**os.environ, "DESTDIR": ""})


def uninstall(folder):
    return run(sys.executable, ROOT / "tools/uninstall.py", "build",
               folder / "prefix", folder=folder)


def test_installed_files_are_removed(tmp_path):
    (tmp_path / "meson.build").write_text(PROJECT)
    (tmp_path / "own.h").touch()
    (tmp_path / "other.txt").touch()
    prefix = tmp_path / "prefix"
    assert run("meson", "setup", "build", f"-Dprefix={prefix}",
               folder=tmp_path).returncode == 0
    assert run("meson", "install", "-C", "build",
               folder=tmp_path).returncode == 0
    others = prefix / "share/shared/of-another-program"
    others.touch()
    assert (prefix / "include/weft/own.h").exists()
    result = uninstall(tmp_path)
    assert result.returncode == 0 and result.stdout.startswith("2 files")
    assert sorted(prefix.rglob("*")) == [prefix / "share",
                                         prefix / "share/shared", others]
    result = uninstall(tmp_path)
    assert result.returncode == 1 and result.stdout.startswith("0 files")


def test_usage(tmp_path):
    result = run(sys.executable, ROOT / "tools/uninstall.py", folder=tmp_path)
    assert result.returncode == 2 and "usage" in result.stderr
