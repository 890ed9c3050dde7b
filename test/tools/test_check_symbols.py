# SPDX-License-Identifier: MIT
import json
import subprocess

import check_symbols
import pytest

MAP = "V_0.1 {\nglobal:\n\tversion; # a remark\nlocal:\n\twf_*;\n};\n"
LIST = "# a remark\nlock\nunlock\n"
REFERENCE = "`lock`, `unlock`, `version`\n"
API = """
int lock(void) { return 0; }
int unlock(void) { return 0; }
int version(void) { return 0; }
"""


@pytest.fixture
def build(tree):
    """Compiles a library out of src/ and returns (build folder, root)."""
    def make(sources, link_map=MAP, reference=REFERENCE):
        root = tree({f"src/{k}": v for k, v in sources.items()} |
                    {"docs/reference/functions.md": reference})
        (root / "src/weft.map").write_text(MAP)
        (root / "src/interposed.txt").write_text(LIST)
        (root / "link.map").write_text(link_map)
        folder = root / "build"
        (folder / "libweft.so.0.p").mkdir(parents=True)
        commands = []
        for name in sources:
            output = "libweft.so.0.p/" + name.replace("/", "_") + ".o"
            commands.append({"directory": str(folder), "output": output,
                             "file": f"../src/{name}"})
            subprocess.run(["gcc", "-fPIC", "-c", root / "src" / name, "-o",
                            folder / output], check=True)
        subprocess.run(["gcc", "-shared", "-o", folder / "libweft.so.0",
                        f"-Wl,--version-script={root / 'link.map'}",
                        *(folder / c["output"] for c in commands)],
                       check=True)
        (folder / "compile_commands.json").write_text(json.dumps(commands))
        return folder, root
    return make


def run(capsys, folder, root):
    status = check_symbols.main(["", str(folder), str(root)])
    return status, capsys.readouterr().out


def test_clean(build, capsys):
    folder, root = build({
        "api/lock.c": API,
        "libc/real.c": "int lock(void); int wf_f(void) { return lock(); }\n",
        "sched/vp.c": "int wf_f(void); int wf_g(void) { return wf_f(); }\n"})
    assert run(capsys, folder, root) == (0, "symbols: clean\n")


def test_name_that_the_reference_has_not(build, capsys):
    folder, root = build({"api/lock.c": API}, reference="`lock` `version`\n")
    status, out = run(capsys, folder, root)
    assert status == 1 and "functions.md: has no unlock" in out


def test_reference_from_outside(build, capsys):
    folder, root = build({
        "api/lock.c": API,
        "sched/vp.c": "int lock(void); int g(void) { return lock(); }\n"})
    status, out = run(capsys, folder, root)
    assert status == 1
    assert "sched/ refers to lock" in out


def test_long_function_that_may_be_preempted(build, capsys):
    body = "{" + "".join(f"sink = {i};" for i in range(100)) + "}"
    folder, root = build({
        "api/lock.c": API,
        "sched/vp.c": "static volatile int sink;\n"
                      f"void wf_f(void) {body}\n"
                      '__attribute__((section("weft_preemptible")))\n'
                      f"void wf_g(void) {body}\n"})
    status, out = run(capsys, folder, root)
    assert status == 1
    assert "wf_g is in weft_preemptible" in out and "wf_f" not in out


def test_export_that_is_not_in_the_map(build, capsys):
    folder, root = build({"api/lock.c": API + "int extra;\n"})
    status, out = run(capsys, folder, root)
    assert status == 1 and "exports extra" in out


def test_name_in_the_map_that_is_not_exported(build, capsys):
    folder, root = build({"api/lock.c": "int lock(void) { return 0; }\n"})
    status, out = run(capsys, folder, root)
    assert status == 1 and "does not export unlock" in out


@pytest.mark.parametrize("link_map, problem", [
    (MAP.replace("V_0.1", "V_0.2"),
     "version has the version 'V_0.2', not 'V_0.1'"),
    (MAP.replace("version;", "version; lock;"),
     "lock has the version 'V_0.1', not ''")])
def test_wrong_version(build, capsys, link_map, problem):
    folder, root = build({"api/lock.c": API}, link_map=link_map)
    status, out = run(capsys, folder, root)
    assert status == 1 and problem in out


@pytest.mark.parametrize("text", [
    "{ global: a; local: *; };", "V_0.1 { global: a; };", "",
    "V_0.1 { global: a; local: b; }; V_0.2 { global: b; local: c; };"])
def test_map_of_another_form(text):
    with pytest.raises(ValueError):
        check_symbols.map_names(text)


def test_map_comments():
    text = "/* a;\nb */ V_0.1 { global: c; d; /* e; */ local: *; };"
    assert check_symbols.map_names(text) == {"c": "V_0.1", "d": "V_0.1"}


def test_no_build(tree, capsys):
    root = tree({"src/weft.map": MAP, "src/interposed.txt": LIST})
    status, out = run(capsys, root / "build", root)
    assert status == 1 and "libweft.so" in out


def test_no_objects(build, capsys):
    folder, root = build({"api/lock.c": API})
    (folder / "compile_commands.json").write_text("[]")
    status, out = run(capsys, folder, root)
    assert status == 1 and "no object" in out
