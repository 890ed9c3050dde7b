# SPDX-License-Identifier: MIT
import re
import subprocess

import check_words
import prose
import pytest

LIMITS = check_words.LIMITS
RULES = {rule.name: rule for rule in check_words.RULES}

# A bad and a good sentence for each rule.
SENTENCES = {
    "sentence-who": ("Who waits is woken.", "The waiter is woken."),
    "sentence-what": ("It ends. What is left goes on.", "What is left?"),
    "who": ("The thread who has the lock goes on.",
            "This is for people who write filters, or a user, to whom it says"
            " why."),
    "whose": ("It is a socket whose peer has closed.",
              "It is for readers whose kernel is old."),
    "ring-i-b": ("The thread goes to ring B's tail.", "The ring is full."),
    "lifo-slot": ("It takes the LIFO slot.", "It takes the next slot."),
    "surplus": ("It tells of a surplus.", "TLS surplus: 2048 bytes."),
    "inbox": ("The VP polls its inbox.", "The VP polls its remote queue."),
    "offer": ("The entry is an offer.", "The system offers two clocks."),
    "hog": ("A hog has the VP.", "A CPU-bound thread has the VP."),
    "suspect": ("It is suspected.", "The state is SUSPECT."),
    "deaf": ("The thread is deaf.", "The thread ignores the request."),
    "gentle": ("It asks gently.", "It asks by a flag."),
    "give-way": ("The thread gave way to it.", "The thread yields to it."),
    "patience": ("The patience is over.", "The bound is reached."),
    "balance": ("The balance changes.", "The load balance changes."),
    "hunger": ("It counts the hunger.", "It counts the throttled time."),
    "pace": ("The pace changes.", "The word space changes."),
    "run-length": ("Its run length is long.", "Its mean burst is long."),
    "promotion": ("The thread is promoted.", "The thread is queued anew."),
    "budget": ("The budget is zero.", "The spin budget is zero."),
    "promise": ("It leaves the promised carrier.",
                "A writer promised to ring."),
    "retire": ("The carrier retires.", "The carrier has exited."),
    "bury": ("The carrier is buried.", "The carrier is removed."),
    "rescue": ("A rescue costs 30 us.", "A handoff costs 30 us."),
    "rejoin": ("The carrier rejoins.", "The carrier comes back."),
    "borrow": ("The borrower has it.", "The vfork child has it."),
    "sole": ("It is the sole owner.", "It solely has a biased lock."),
    "outsider": ("An outsider waits.", "A revoking thread waits."),
    "lend": ("The mutex lent it.", "The thread inherits it."),
    "keeper": ("The keeper ends it.", "io/keeper.c has the supervisor."),
    "let-close": ("It lets close go on.", "It lets the closer go on."),
    "unasked": ("The receive is unasked.", "The field is is_unasked."),
    "move-requests": ("It moves requests.", "It moves the cursor."),
    "proxy": ("It waits for a proxy.", "It waits for an epoll proxy."),
    "watch": ("It asks for a watch.", "It asks others to watch."),
    "under-way": ("A request is under way.", "A request is in flight."),
    "abroad": ("It is sent abroad.", "It is sent to another process."),
    "route": ("A signal is routed.", "The signal routing is described."),
    "soil": ("The block is soiled.", "The block is dirty."),
    "nudge": ("The nudge ends it.", "The kick ends it."),
    "living": ("It is a living thread.", "It is a thread that has not ended."),
    "outcome": ("It tells the outcome.", "It returns the result."),
    "a-look": ("It looks for work.", "It looks at the file."),
}


def found(text, kind="document"):
    """The names of the rules that the text breaks."""
    unit = prose.Unit(kind, [(1, text)])
    return [rule.name for rule, _ in check_words.matches(unit)]


def git(root, *args):
    subprocess.run(["git", "-C", str(root), "-c", "user.name=t", "-c",
                    "user.email=t@t", "-c", "commit.gpgsign=false", *args],
                   check=True, capture_output=True)


@pytest.fixture
def repository(tree):
    """Writes files, and commits them: repository({"a.md": "text"})."""
    def write(files, is_committed=True):
        root = tree(files)
        if not (root / ".git").exists():
            git(root, "init", "-q")
        if is_committed:
            git(root, "add", "-A")
            git(root, "commit", "-qm", "a change")
        return root
    return write


def check(root, capsys, *args):
    status = check_words.main(["", *args, str(root)])
    return status, capsys.readouterr().out


def test_every_rule_has_sentences():
    assert list(SENTENCES) == list(RULES)


@pytest.mark.parametrize("name", RULES)
def test_rule(name):
    bad, good = SENTENCES[name]
    assert name in found(bad) and name not in found(good)


def test_rules_in_a_repository(repository, capsys):
    """The good sentences are clean; the bad ones are printed and fail."""
    root = repository({f"docs/{name}.md": f"# A\n\n{good}\n"
                       for name, (_, good) in SENTENCES.items()})
    assert check(root, capsys, "--update") == (0, "words: clean\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "limits")
    for name, (bad, _) in SENTENCES.items():
        with (root / f"docs/{name}.md").open("a") as file:
            file.write(f"\n{bad}\n")
    status, out = check(root, capsys)
    assert status == 1 and ".md:3:" not in out
    for name, rule in RULES.items():
        part = re.search(rf"^{name}: \d+, \d+ at most: (.*)\n((    .*\n?)+)",
                         out, re.M)
        assert part[1] == rule.instead and f"    docs/{name}.md:5: " in part[2]


# --- where it looks ---

@pytest.mark.parametrize("name, text", [
    ("src/a.c", "int x; /* Who waits. */\n"),
    ("src/a.h", "/*\n * An idea.\n *\n * A-1. Who waits.\n */\n"),
    ("src/a.S", "\tnop // Who waits.\n"),
    ("test/a.cpp", "// The one\n// who waits.\n"),
    ("test/model/a.pml", "/* Who waits. */\n"),
    ("src/a.c", 'f("cannot wait "\n  "for who waits");\n'),
    ("cli/a.c", 'f("Who waits");\n'),
    ("tools/a.py", "x = 1  # Who waits.\n"),
    ("tools/a.py", '#!/usr/bin/python3\n"""Who waits."""\n'),
    ("tools/a.py", 'def f():\n    """Waits.\n\n    For who waits."""\n'),
    ("dev", "#!/bin/sh\n# Who waits.\ntrue\n"),
    (".ci/run", "true # who waits\n"),
    ("src/meson.build", "# Who waits.\n"),
    ("CHANGELOG.md", "## Unreleased\n\n* Who waits goes on.\n"),
    ("README.md", "| a | b |\n| --- | --- |\n| x | Who waits. |\n"),
    ("docs/man/weft.1", ".SH NAME\nIt wakes\n.B who\nwaits.\n"),
])
def test_found_in(repository, capsys, name, text):
    root = repository({name: text})
    status, out = check(root, capsys)
    assert status == 1 and f"{name}:" in out


@pytest.mark.parametrize("name, text", [
    ("src/a.c", 'int who; char c = \'"\'; int what; /* done */\n'),
    ("src/a.c", '#include "who/who.h"\n'),
    ("test/a.c", 'f("Who waits");\n'),
    ("tools/a.py", 'f("""Who waits""", "who", 1)\n'),
    ("docs/a.md", "## Who waits\n\nText `who` and:\n\n    who -a\n"),
    ("docs/a.md", "```\nWho waits.\n```\n"),
    ("docs/a.txt", "Who waits.\n"),
    ("dev", "echo ${who#who}\n"),
])
def test_not_found_in(repository, capsys, name, text):
    root = repository({name: text})
    hits = check_words.hits_of(root)
    assert hits["sentence-who"] == []
    if "## Who" not in text:
        assert hits["who"] == []


def test_sentences_of_several_lines():
    text = "/*\n * The thread\n * ends. What\n * is left stays.\n */\n"
    [unit] = prose.units("src/a.c", text)
    [(rule, offset)] = check_words.matches(unit)
    assert (rule.name, unit.line_at(offset)) == ("sentence-what", 3)


def test_people_in_the_line_before():
    [unit] = prose.units("a.md", "For readers\nwho know Linux.\n")
    assert list(check_words.matches(unit)) == []


@pytest.mark.parametrize("text", [
    "It is about whoever.c here.", "See sched/budget.c, wf_nudge and `soiled`.",
    "Call keeper() first.", "The state is NUDGED.", "The next-outcome-file."])
def test_names_of_code_are_no_words(text):
    assert found(text) == []


@pytest.mark.parametrize("text, nr", [
    ("int wf_rescue_all;\n", 1), ("vp->inbox = x;\nif (is_deaf)\n", 2),
    ("struct wf_loan *l = own;\nr->is_unasked = lent;\n", 2),
    ("int namespace, hogwash; /* inbox */ f(\"hog\");\n", 0)])
def test_identifiers(repository, text, nr):
    root = repository({"src/a.c": text, "test/a.c": text})
    assert len(check_words.hits_of(root)["names"]) == nr


# --- limits ---

@pytest.fixture
def project(repository, capsys):
    """Two bad sentences, and limits that say so."""
    root = repository({"a.md": "The hog runs.\n\nA hog runs.\n"})
    assert check(root, capsys, "--update")[0] == 0
    git(root, "add", "-A")
    git(root, "commit", "-qm", "limits")
    return root


def test_limits_are_written_and_kept(project, capsys):
    rows = dict(line.split() for line in
                (project / LIMITS).read_text().splitlines()
                if not line.startswith("#"))
    assert list(rows) == [*RULES, "names"]
    assert rows.pop("hog") == "2" and set(rows.values()) == {"0"}
    assert check(project, capsys) == (0, "words: clean\n")


def test_uncommitted_line(project, capsys):
    (project / "a.md").write_text("The hog runs.\n\nA hog runs.\n\nNo hog.\n")
    status, out = check(project, capsys)
    assert status == 1 and "hog: 3, 2 at most: CPU-bound thread" in out
    assert "a.md:5: No hog." in out and "a.md:1:" not in out


def test_untracked_file(project, capsys):
    (project / "new.md").write_text("A hog.\n")
    (project / ".gitignore").write_text("build\n")
    (project / "build").mkdir()
    (project / "build/a.md").write_text("A hog.\n")
    status, out = check(project, capsys)
    assert status == 1 and "hog: 3," in out and "new.md:1: A hog." in out


def test_line_of_the_last_commit(project, capsys):
    (project / "b.md").write_text("A hog.\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "one more")
    status, out = check(project, capsys)
    assert status == 1 and "b.md:1: A hog." in out and "a.md:" not in out
    # An uncommitted change elsewhere does not hide it.
    (project / "c.md").write_text("Nothing.\n")
    assert "b.md:1: A hog." in check(project, capsys)[1]


def test_older_line(project, capsys):
    for name in ("b.md", "c.txt"):
        (project / name).write_text("A hog.\n")
        git(project, "add", "-A")
        git(project, "commit", "-qm", name)
    status, out = check(project, capsys)
    assert status == 1 and "check_words.py --list hog" in out
    status = check_words.main(["", "--list", "hog", str(project)])
    listed = capsys.readouterr().out.splitlines()
    assert status == 0 and [row.split(" ")[0] for row in listed] == \
        ["a.md:1:", "a.md:3:", "b.md:1:"]


def test_lower_count(project, capsys):
    (project / "a.md").write_text("The hog runs.\n")
    status, out = check(project, capsys)
    assert status == 1 and "hog: 1, the limit is 2: lower the limit" in out
    assert check(project, capsys, "--update")[0] == 0
    assert "hog 1\n" in (project / LIMITS).read_text()
    assert check(project, capsys)[0] == 0


def test_update_does_not_raise(project, capsys):
    (project / "b.md").write_text("A hog.\n")
    status, out = check(project, capsys, "--update")
    assert status == 1 and "hog: 3, 2 at most" in out
    assert "hog 2\n" in (project / LIMITS).read_text()


def test_unknown_rule_in_the_limits(project, capsys):
    with (project / LIMITS).open("a") as file:
        file.write("old-rule 7\n")
    status, out = check(project, capsys)
    assert status == 1 and "old-rule: there is no such rule" in out
    assert check(project, capsys, "--update")[0] == 0


@pytest.mark.parametrize("args", [["--frob"], ["--list", "nothing"]])
def test_wrong_arguments(project, capsys, args):
    assert check(project, capsys, *args)[0] == 2


def test_no_repository(tree):
    with pytest.raises(SystemExit):
        check_words.main(["", str(tree({"a.md": "Text.\n"}))])


@pytest.mark.parametrize("name, begin, end", [
    ("dev", "# ", ""), ("src/meson.build", "# ", ""),
    ("src/a.c", "/* ", " */")])
def test_sentence_behind_the_licence(name, begin, end):
    """The licence line is no sentence, and the next line begins a new one."""
    text = "".join(f"{begin}{line}{end}\n" for line in
                   ("SPDX-License-Identifier: MIT", "Who waits."))
    assert [unit.text for unit in prose.units(name, text)] == ["Who waits."]
