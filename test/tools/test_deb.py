# SPDX-License-Identifier: MIT
"""tools/deb.py: comparing and copying; ./dev deb builds the packages
themselves."""

import contextlib
import json
import shutil
import subprocess

import deb
import deb_chroot
import deb_container
import pytest


def package(folder, version="1.0", name="weft", content="text", depends=None):
    """A package of Debian's with one file."""
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "file").write_text(content)
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: all\n"
        f"Depends: {depends or 'libc6'}\n"
        "Maintainer: a <a@example.org>\nDescription: a\n")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, folder],
                   check=True, stdout=subprocess.DEVNULL,
                   env={"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": "1"})
    shutil.rmtree(tree)
    return folder / f"{name}_{version}_all.deb"


@pytest.fixture
def folders(tmp_path):
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    return tmp_path / "a", tmp_path / "b"


def test_equal(folders):
    for folder in folders:
        package(folder)
    assert deb.compare(*folders) == "1 packages, built twice, are equal"


def test_not_equal(folders):
    package(folders[0])
    package(folders[1], content="other")
    with pytest.raises(deb.Failed, match="weft_1.0_all.deb"):
        deb.compare(*folders)


def test_other_packages(folders):
    package(folders[0])
    with pytest.raises(deb.Failed, match="other packages"):
        deb.compare(*folders)
    with pytest.raises(deb.Failed, match="other packages"):
        deb.compare(folders[1], folders[1])


def test_older_package(folders):
    path = package(folders[0], version="1.0", depends="libweft0 (= 1.0)")
    deb_chroot.older(path, folders[1])
    older, = folders[1].glob("*.deb")
    shown = subprocess.run(["dpkg-deb", "-f", older, "Version", "Depends"],
                           text=True, capture_output=True, check=True).stdout
    assert shown == (f"Version: {deb_chroot.OLDER}\n"
                     f"Depends: libweft0 (= {deb_chroot.OLDER})\n")


def test_files_of_a_tarball(tmp_path):
    for name in ("src/a.c", "build/a.o", "build-gcc/a.o", "src/__pycache__/x",
                 "debian/rules"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert sorted(deb.files(tmp_path)) == ["debian/rules", "src/a.c"]


def test_files_of_a_checkout(tmp_path):
    for name in ("kept", "new", "ignored"):
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("ignored\n")
    for command in (["init", "-q"], ["add", "kept"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    assert sorted(deb.files(tmp_path)) == [".gitignore", "kept", "new"]


def test_both_builds_are_of_the_same_files(monkeypatch, tmp_path):
    """Though the tree changes between them."""
    def package_of(*_, cwd, **__):
        found.append((cwd / "file").read_text())
        return ""

    found = []
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_text("old")
    monkeypatch.setattr(deb, "ROOT", tmp_path / "root")
    monkeypatch.setattr(deb, "PLACE", tmp_path / "place")
    source = deb.snapshot()
    monkeypatch.setattr(deb, "run", package_of)
    deb.build(source, tmp_path / "first", "weft")
    (tmp_path / "root/file").write_text("new")
    deb.build(source, tmp_path / "second", "elsewhere")
    assert found == ["old", "old"]


def test_command_that_fails():
    with pytest.raises(deb.Failed, match="status 3"):
        deb.run("sh", "-c", "exit 3")


def test_usage(capsys):
    assert deb.main(["", "--other"]) == 2
    assert "usage" in capsys.readouterr().err


def test_only_root_makes_a_root(monkeypatch, tmp_path):
    monkeypatch.setattr(deb_chroot.os, "geteuid", lambda: 1000)
    with pytest.raises(deb.Skipped, match="root"):
        deb_chroot.make_root("bookworm", tmp_path)


def test_impossible_checks_are_skipped(monkeypatch, capsys, folders):
    """The other checks are made."""
    def cannot(*_):
        raise deb.Skipped("not here")

    for folder in folders:
        package(folder)
    monkeypatch.setattr(deb, "lint", cannot)
    monkeypatch.setattr(deb, "build", lambda *_: folders[1])
    monkeypatch.setattr(deb_chroot, "check", cannot)
    monkeypatch.setattr(deb_container, "check", cannot)
    deb.check(None, folders[0])
    assert capsys.readouterr().out.splitlines() == [
        "lintian: skipped: not here",
        "again: 1 packages, built twice, are equal",
        "bookworm: skipped: not here", "trixie: skipped: not here",
        "container: skipped: not here"]


def test_counters_of_the_container(tmp_path):
    """They say whether memcached ran on weft, and by io_uring."""
    def check(has_io_uring, **counters):
        (tmp_path / "tmp").mkdir(exist_ok=True)
        found = {"threads_made": 8, "parks": 99, "uring_requests": 0}
        (tmp_path / deb_container.COUNTERS).write_text(
            json.dumps(found | counters) + "\n")
        deb_container.check_counters(tmp_path, has_io_uring)

    check(False)
    check(True, uring_requests=5)
    for has_io_uring, counters in ((True, {}), (False, {"parks": 0}),
                                   (False, {"threads_made": 0}),
                                   (False, {"uring_requests": 5})):
        with pytest.raises(deb_container.Failed):
            check(has_io_uring, **counters)


STACKS = """\
499 threads, parked: 12 (python3), 13 (python3), and 497 more
    libweft.so.0+0x5d876
    _PyEval_EvalFrameDefault+0x8f0 (python3.11+0x12c2a0)

1 thread, parked: 1 (python3)
    _PyEval_EvalFrameDefault+0x8f0 (python3.11+0x12c2a0)
    Py_RunMain+0x20f (python3.11+0x25144f)

1 thread, running: 11 (python3)
    _PyEval_EvalFrameDefault+0x8f0 (python3.11+0x12c2a0)

1 thread, parked: 14 (weft)
    libweft.so.0+0x5db44
"""


def test_threads_seen_by_stacks():
    """Neither the first thread counts nor weft's own."""
    assert deb_chroot.seen(STACKS) == 500
    assert deb_chroot.seen("") == 0


@pytest.mark.parametrize("working, said", [
    ("podman", "podman likewise"),
    ("podman --runtime=runc", "podman --runtime=runc likewise"),
    (None, "podman does not work: no; podman --runtime=runc does not work: "
     "no")])
def test_engines(monkeypatch, tmp_path, working, said):
    """The first one that works serves."""
    served = []

    def tried(*command, engine):
        return subprocess.CompletedProcess(
            command, int(engine != working), "I/O backend       workers", "no")

    @contextlib.contextmanager
    def serving(*_, engine):
        yield served.append(engine)

    monkeypatch.setattr(deb_container.shutil, "which", lambda _: "/a")
    monkeypatch.setattr(deb_container, "tried", tried)
    monkeypatch.setattr(deb_container, "serving", serving)
    monkeypatch.setattr(deb_container, "ask", lambda *_: None)
    monkeypatch.setattr(deb_container, "check_counters",
                        lambda _, has_io_uring: served.append(has_io_uring))
    assert deb_container.check_podman(tmp_path) == said
    assert served == ([working, False] if working else [])
