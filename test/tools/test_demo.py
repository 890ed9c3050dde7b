# SPDX-License-Identifier: MIT
import demo
import pytest


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a shell script in the program's place and a fake weft beside."""
    def make(text):
        script = tmp_path / "program.sh"
        script.write_text(text)
        weft = tmp_path / "weft"
        weft.write_text("#!/bin/sh\nshift 2\nON_WEFT=1 exec \"$@\"\n")
        weft.chmod(0o755)
        monkeypatch.setattr(demo, "PROGRAM", ["/bin/sh", str(script)])
        monkeypatch.setattr(demo, "LIMIT_S", 2)
        return ["demo.py", str(tmp_path)]
    return make


def test_same_output(program, capsys):
    assert demo.main(program("echo result\n")) == 0
    out = capsys.readouterr().out
    assert "native threads" in out and "times faster" in out
    assert "same output in all 6 runs" in out


@pytest.mark.parametrize("text, why", [
    ("echo $ON_WEFT", "outputs differ"),
    ("exit 3", "status 3"),
    ("[ -z \"$ON_WEFT\" ] || kill -11 $$", "status -11"),
    ("sleep 10", "no end after 2 s"),
])
def test_failure(program, capsys, text, why):
    assert demo.main(program(text)) == 1
    assert why in capsys.readouterr().err
