# SPDX-License-Identifier: MIT
"""--stats=json, --stats-file: one JSON object per line, with stable keys."""

import json
import re
import signal

import pytest

from conftest import ROOT, complains

KEYS = """
    program process threads_made bound switches parks steals threads_started
    preemptions_cooperative preemptions preemptions_deferred_runtime
    preemptions_deferred_stack preemptions_deferred_libc vps_offline bound_later
    handoffs reacquires uring_requests requests_migrated polls poll_hits
    poll_wakes polled_us vp_sleeps vp_wakes word_waits word_hits word_doorbells
    ticks stack_dumps stack_dumps_guessed carriers foreign_threads
    worker_requests worker_requests_at_once
    io_server_completions io_servers_lost threads_most runnable_wait_most_us
    stacks stack_kib memory_most_kib""".split()

# Makes threads one after the other, then ends in one of several ways. With
# "fork" a child makes two threads, then the parent three.
PROGRAM = """
    #include <pthread.h>
    #include <signal.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>

    static void *run(void *arg) { return arg; }

    static void make(int nr)
    {
        pthread_t t;

        for (; nr > 0; nr--) {
            pthread_create(&t, NULL, run, NULL);
            pthread_join(t, NULL);
        }
    }

    int main(int argc, char **argv)
    {
        if (strcmp(argv[1], "fork") == 0) {
            if (fork() == 0) {
                make(2);
                _exit(0);
            }
            wait(NULL);
            make(3);
            return 0;
        }
        make(5);
        if (strcmp(argv[1], "_exit") == 0)
            _exit(0);
        if (strcmp(argv[1], "quick_exit") == 0)
            quick_exit(0);
        exit(0);
    }
"""

# Makes five threads and ends by the signal argv[1]. argv[2] says how it comes.
# "wait": from another process, while all threads wait. "run": the same, while
# they compute. "raise": by raise. "fault": by an instruction.
BY_SIGNAL = r"""
    #include <pthread.h>
    #include <signal.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/resource.h>
    #include <unistd.h>

    static const char *way;
    static int started[2];

    /* Another process, which sends the signal when it is told to. */
    static void make_sender(int sig)
    {
        char c;

        pipe(started);
        if (fork() != 0)
            return;
        close(started[1]);
        if (read(started[0], &c, 1) == 1)
            kill(getppid(), sig);
        _exit(0);
    }

    static void *run(void *arg)
    {
        volatile int computes = strcmp(way, "run") == 0;

        while (computes)
            ;
        pause();
        return arg;
    }

    static void fault(int sig)
    {
        static volatile int seven = 7, zero;

        if (sig == SIGSEGV)
            *(volatile int *)8 = 1;
        if (sig == SIGFPE)
            exit(seven / zero);
        if (sig == SIGILL)
            __builtin_trap();
        if (sig == SIGABRT)
            abort();
    }

    int main(int argc, char **argv)
    {
        const struct rlimit no_core = { 0, 0 };
        int sig = atoi(argv[1]);
        pthread_t t;

        way = argv[2];
        signal(sig, SIG_DFL); /* nohup and the like have it ignored */
        setrlimit(RLIMIT_CORE, &no_core);
        make_sender(sig);
        for (int i = 0; i < 5; i++)
            pthread_create(&t, NULL, run, NULL);
        if (strcmp(way, "raise") == 0)
            raise(sig);
        if (strcmp(way, "fault") == 0)
            fault(sig);
        write(started[1], "s", 1);
        run(NULL);
        return 1;
    }
"""


# The program sees and changes the default action as natively.
WITH_HANDLER = r"""
    #include <pthread.h>
    #include <signal.h>
    #include <stdlib.h>
    #include <unistd.h>

    static void *run(void *arg) { return arg; }

    static void leave(int sig) { exit(7); }

    int main(void)
    {
        struct sigaction old;
        pthread_t t;

        pthread_create(&t, NULL, run, NULL);
        pthread_join(t, NULL);
        if (sigaction(SIGTERM, NULL, &old) != 0 || old.sa_handler != SIG_DFL)
            return 1;
        if (signal(SIGTERM, SIG_IGN) != SIG_DFL || raise(SIGTERM) != 0)
            return 2;
        if (signal(SIGTERM, leave) != SIG_IGN)
            return 3;
        raise(SIGTERM);
        return 4;
    }
"""


@pytest.fixture
def program(compile_c):
    return compile_c("-pthread", source=PROGRAM)


@pytest.fixture
def program_by_signal(compile_c):
    return compile_c("-pthread", source=BY_SIGNAL)


def threads_made(form, text):
    """Returns the number of threads made in each of the reports in the text."""
    if form == "json":
        return [each["threads_made"] for each in objects(text)]
    return [value for row, value in text_rows(text) if row == "threads made"]


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def text_rows(text):
    """[(text, value)] of the text form."""
    return [(row, int(value)) for row, value in
            re.findall(r"^weft: (.*): (\d+)$", text, re.M)]


@pytest.mark.parametrize("how", ["exit", "_exit", "quick_exit"])
def test_json(weft, program, how):
    result = weft("run", "--vps", "1", "--stats=json", program, how)
    [found] = objects(result.stderr)
    assert result.returncode == 0 and result.stderr.count("\n") == 1
    assert list(found) == KEYS
    assert found["program"] == "program" and found["process"] > 1
    assert all(type(found[key]) is int for key in KEYS[1:])
    assert found["threads_made"] == found["threads_started"] == 5
    assert found["threads_most"] == 2
    assert found["switches"] > 0 and found["stacks"] > 0


def test_values_are_those_of_the_text_form(weft, program):
    """Compares the counters that do not depend on time in both forms. The unit
    test compares all counters."""
    [found] = objects(weft("run", "--vps", "1", "--stats=json", program,
                           "exit").stderr)
    rows = text_rows(weft("run", "--vps", "1", "--stats=1", program,
                          "exit").stderr)
    assert len(rows) == len(KEYS) - 2
    values = {key: value for key, (_, value) in zip(KEYS[2:], rows)}
    for key in ("threads_made", "bound", "threads_started", "steals",
                "threads_most", "stacks", "stack_kib", "bound_later"):
        assert found[key] == values[key], key


def test_variable(weft, program):
    result = weft("run", program, "exit", env={"WEFT_STATS": "json"})
    assert list(objects(result.stderr)[0]) == KEYS
    result = weft("run", "--stats", program, "exit",
                  env={"WEFT_STATS": "json"})
    assert text_rows(result.stderr)[0] == ("threads made", 5)


def test_without_threads(weft):
    result = weft("run", "--stats=json", "/bin/true")
    [found] = objects(result.stderr)
    assert list(found) == KEYS
    assert found["program"] == "true" and found["threads_made"] == 0



@pytest.mark.parametrize("form", ["json", "1"])
@pytest.mark.parametrize("sig, way", [
    (signal.SIGTERM, "wait"), (signal.SIGTERM, "run"),
    (signal.SIGTERM, "raise"), (signal.SIGINT, "wait"),
    (signal.SIGINT, "run"), (signal.SIGHUP, "wait"), (signal.SIGQUIT, "wait"),
    (signal.SIGUSR1, "run"), (signal.SIGALRM, "raise"),
    (signal.SIGRTMAX, "wait"), (signal.SIGSEGV, "fault"),
    (signal.SIGSEGV, "raise"), (signal.SIGFPE, "fault"),
    (signal.SIGILL, "fault"), (signal.SIGABRT, "fault")])
def test_end_by_a_signal(weft, program_by_signal, tmp_path, form, sig, way):
    """The counters are printed, and the process still ends by the signal."""
    options = ["run", "--vps", "2", f"--stats={form}"]
    result = weft(*options, program_by_signal, int(sig), way)
    assert result.returncode == -sig
    assert threads_made(form, result.stderr) == [5]
    file = tmp_path / "stats"
    result = weft(*options, "--stats-file", file, program_by_signal, int(sig),
                  way)
    assert (result.returncode, result.stderr) == (-sig, "")
    assert threads_made(form, file.read_text()) == [5]


def test_end_by_sigkill_prints_nothing(weft, program_by_signal):
    result = weft("run", "--stats", program_by_signal, int(signal.SIGKILL),
                  "wait")
    assert (result.returncode, result.stderr) == (-signal.SIGKILL, "")


def test_signal_that_the_program_has_a_handler_for(weft, compile_c):
    """weft handles all signals; the program sees its own handlers."""
    program = compile_c("-pthread", source=WITH_HANDLER)
    result = weft("run", "--stats=json", program)
    assert result.returncode == 7 and len(objects(result.stderr)) == 1


def test_program_with_a_name_that_json_has_to_escape(weft, program):
    other = program.with_name('a "b"\\c\n')
    program.rename(other)
    result = weft("run", "--stats=json", other, "exit")
    assert objects(result.stderr)[0]["program"] == 'a "b"\\c?'


@pytest.mark.parametrize("form", ["json", "1"])
def test_file(weft, program, tmp_path, form):
    """All processes append their reports to the file; standard error stays
    empty."""
    file = tmp_path / "stats"
    for _ in range(2):
        result = weft("run", f"--stats={form}", "--stats-file", file, program,
                      "fork")
        assert (result.returncode, result.stderr) == (0, "")
    assert threads_made(form, file.read_text()) == [2, 3, 2, 3]


def test_file_that_cannot_be_opened(weft, program, tmp_path):
    result = weft("run", "--stats=json", "--stats-file", tmp_path / "a/b",
                  program, "exit")
    assert result.returncode == 0
    assert list(objects(result.stderr)[0]) == KEYS


def test_file_without_stats(weft, program, tmp_path):
    file = tmp_path / "stats"
    result = weft("run", "--stats-file", file, program, "exit")
    assert (result.returncode, result.stderr) == (0, "") and not file.exists()


def test_doctor_does_not_write_to_the_file(weft, tmp_path):
    """doctor tries the library, and reads the line that --stats prints in the
    text form. WEFT_STATS and WEFT_STATS_FILE do not change that."""
    file = tmp_path / "stats"
    env = {"WEFT_STATS": "json", "WEFT_STATS_FILE": file}
    result = weft("doctor", env=env)
    assert result.returncode == 0, result.stdout
    assert result.stdout.splitlines() == weft("doctor").stdout.splitlines()
    assert not file.exists()


def test_value_is_no_argument(weft):
    """A program may be called json."""
    complains(weft("run", "--stats", "json"), 127, "json")


def test_reference_lists_every_key(weft, program):
    page = (ROOT / "docs/reference/options.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| ([^`|]*) \|$", page, re.M)
    result = weft("run", "--stats", program, "exit")
    texts = [row for row, _ in text_rows(result.stderr)]
    assert listed == list(zip(KEYS[2:], texts))
