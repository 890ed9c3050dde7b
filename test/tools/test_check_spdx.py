# SPDX-License-Identifier: MIT
import check_spdx
import pytest

LINE = "SPDX-License-Identifier: MIT"
GOOD = {"src/a.c": f"/* {LINE} */\nint a;\n",
        "src/b.map": f"/* {LINE} */\nV_1 {{ }};\n",
        "cli/meson.build": f"# {LINE}\nx = 1\n",
        "tools/a.py": f"#!/usr/bin/env python3\n# {LINE}\n",
        "test/apps/a.rs": f"// {LINE}\nfn main() {{}}\n",
        "dev": f"#!/bin/sh\n# {LINE}\n",
        "test/cli/a.service": "[Service]\n",
        "docs/a.py": "not looked at\n"}


def run(capsys, root, *options):
    status = check_spdx.main(["", *options, str(root)])
    return status, capsys.readouterr().out


def test_clean(tree, capsys):
    assert run(capsys, tree(GOOD)) == (0, "spdx: clean\n")


@pytest.mark.parametrize("name, text", [
    ("src/a.c", "int a;\n"), ("src/a.c", ""),
    ("src/a.c", f"int a;\n/* {LINE} */\n"),
    ("src/a.c", f"/* {LINE} or others */\n"), ("src/a.c", f"// {LINE}\n"),
    ("tools/a.py", "#!/usr/bin/env python3\nprint()\n"),
    ("dev", "#!/bin/sh\n"), ("include/weft/a.h", "\n")])
def test_missing(tree, capsys, name, text):
    root = tree(GOOD | {name: text})
    status, out = run(capsys, root)
    assert status == 1 and f"{name}: does not begin with" in out
    assert run(capsys, root, "--fix") == (0, "spdx: 1 files changed\n")
    assert run(capsys, root) == (0, "spdx: clean\n")
    assert text in (root / name).read_text().replace(
        f"# {LINE}\n", "", 1) or text in (root / name).read_text()


def test_fix_twice(tree, capsys):
    root = tree({"src/a.c": "int a;\n", "tools/b.py": "#!/bin/sh\nc\n"})
    assert run(capsys, root, "--fix") == (0, "spdx: 2 files changed\n")
    assert run(capsys, root, "--fix") == (0, "spdx: 0 files changed\n")
    assert (root / "src/a.c").read_text() == f"/* {LINE} */\nint a;\n"
    assert (root / "tools/b.py").read_text() == f"#!/bin/sh\n# {LINE}\nc\n"
