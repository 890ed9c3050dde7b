# SPDX-License-Identifier: MIT
"""Job control: an interactive bash on its own terminal, with threaded programs
as jobs, natively and on weft."""

import fcntl
import re
import struct
import termios
import time

import pytest

from conftest import BUILD, LIMIT_S, PROGRAM, WEFT, both, need
from terminal import END, INTERRUPT, QUIT, STOP, terminal

JOBS = BUILD / "test/manners/manners_jobs"
PROMPT = "<next>"
VARIABLES = {"PS1": PROMPT, "P": str(PROGRAM), "J": str(JOBS)}


def on_both(dialogue):
    """Runs the same dialogue on each side; the dialogue checks the answers."""
    for prefix in ([], WEFT, [*WEFT, "--vps", "1"]):
        bash = [*prefix, need("bash"), "--norc", "--noprofile", "--noediting",
                "-i"]
        with terminal(bash, PROMPT, VARIABLES) as sh:
            dialogue(sh)


def start(sh, job):
    """In the background: it is ready before or after the prompt."""
    sh.send(job + " &\n")
    sh.expect(f"(?s)ready\n.*{PROMPT}|{PROMPT}.*ready\n")


def until(sh, state):
    """Waits until the shell shows the job in this state."""
    end = time.monotonic() + LIMIT_S
    while state not in (shown := sh.do("jobs")):
        assert time.monotonic() < end and "Exit" not in shown, shown


def test_foreground():
    def dialogue(sh):
        assert "total 16000\n" in sh.do("$P work; $P work | cat | wc -l")
        assert "status 3\n" in sh.do("$P end-in-thread exit; echo status $?")
        assert "a 1 b\n" in sh.do("echo a $($P work | wc -l) b")
    on_both(dialogue)


def test_stop_and_go_on():
    def dialogue(sh):
        sh.send("$P wait\n")
        sh.expect("ready\n")
        sh.send(STOP)
        assert re.search(r"\[1\]\+ +Stopped", sh.expect(PROMPT))
        sh.send("fg\n")
        sh.expect(r"\$P wait\n")
        sh.send("x\n")
        assert sh.expect("total 16000\ntotal 16000\n")
        sh.send(STOP)
        sh.expect("Stopped[^<]*" + PROMPT)
        sh.do("echo between")
        sh.send("%1\n")
        sh.expect(r"\$P wait\n")
        sh.send(END)
        sh.expect(PROMPT)
        assert "status 0\n" in sh.do("echo status $?")
        assert "Stopped" not in sh.do("jobs")
    on_both(dialogue)


def test_background_reader_stops():
    def dialogue(sh):
        start(sh, "$J")
        until(sh, "Stopped")
        for number in range(2):
            sh.send("fg\n")
            sh.send(f"line {number}\n")
            sh.expect(f"answer: line {number}\n")
            # Stop it while it reads; it continues to read in the background.
            sh.send(STOP)
            sh.expect("Stopped[^<]*" + PROMPT)
            sh.do("bg")
            until(sh, "Stopped")
        sh.send("fg\n")
        sh.send(END)
        # The handler of SIGCONT may be slower than the reading thread.
        sh.expect("end\n(going on\n)?" + PROMPT)
        assert "status 5\n" in sh.do("echo status $?")
    on_both(dialogue)


def test_handlers_for_stopping():
    def dialogue(sh):
        sh.send("$J\n")
        sh.expect("ready\n")
        for number in range(3):
            sh.send(f"line {number}\n")
            sh.expect(f"answer: line {number}\n")
            sh.send(STOP)
            assert "stopping\n" in sh.expect("Stopped[^<]*" + PROMPT)
            sh.send("fg\n")
            sh.expect("going on\n")
        fcntl.ioctl(sh.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 30, 100, 0, 0))
        sh.expect("resized\n")
        sh.send("last\n")
        sh.expect("answer: last\n")
        sh.send(END)
        sh.expect("end\n" + PROMPT)
        assert "status 5\n" in sh.do("echo status $?")
    on_both(dialogue)


@pytest.mark.parametrize("key, status", [(INTERRUPT, 130), (QUIT, 131)])
def test_keys_that_end(key, status):
    def dialogue(sh):
        sh.do("ulimit -c 0")
        for program in ("$P wait", "$P wait | cat"):
            sh.send(program + "\n")
            sh.expect("ready\n")
            sh.send(key)
            sh.expect(PROMPT)
            assert f"status {status}\n" in sh.do(
                "echo status ${PIPESTATUS[0]}")
    on_both(dialogue)


def test_background():
    def dialogue(sh):
        assert "total 16000\n" in sh.do("$P work & wait")
        sh.do("for i in 1 2 3; do $P work & done; wait >/dev/null")
        sh.do("jobs")
        assert "no jobs" in sh.do("jobs; echo no jobs")
        start(sh, "sleep 1000 | $P wait")
        sh.do("kill -STOP %1")
        until(sh, "Stopped")
        sh.do("kill -CONT %1")
        until(sh, "Running")
        assert "status 143\n" in sh.do("kill %1; wait %1; echo status $?")
    on_both(dialogue)


def test_traps():
    def dialogue(sh):
        assert "caught\n" in sh.do(
            "trap 'echo caught' USR1; kill -USR1 $$; $P work")
        # A trapped signal ends bash's `wait`.
        sh.do("(sleep 0.2; kill -USR1 $$) & sleep 1000 &")
        assert re.search("caught\n(?s:.*)status 138\n",
                         sh.do("wait; echo status $?"))
        sh.do("kill %%; trap 'echo at the end' EXIT")
        sh.send("exit 7\n")
        sh.expect("at the end\n")
        assert sh.end() == 7
    on_both(dialogue)


def test_jobs_end_with_the_terminal():
    def dialogue(sh):
        start(sh, "$P wait")
        # A job that is about to stop when the shell ends stays stopped.
        until(sh, "Stopped")
        sh.send("$P wait\n")
        sh.expect("ready\n")
        sh.hang_up()
        sh.end()
        end = time.monotonic() + LIMIT_S
        while sh.processes():
            assert time.monotonic() < end
            time.sleep(0.01)
    on_both(dialogue)


SCRIPT = """
set -m
$P work &
wait $!; echo "ended $?"
$P end-in-thread term & wait $!; echo "ended $?"
{ $P work; $P work; } | sort | uniq -c
coproc { cat; }
echo by a coprocess >&${COPROC[1]}; read -r line <&${COPROC[0]}; echo "$line"
kill $COPROC_PID; wait $COPROC_PID 2>/dev/null
diff <($P work) <($P work) && echo the same
timeout 50 $P end return; echo "ended $?"
$P wait </dev/null >/dev/null & disown; wait; echo none
exec $P work
"""


def test_script():
    assert "none\n" in both([need("bash"), "-c", SCRIPT],
                            {"P": str(PROGRAM)}).stdout
