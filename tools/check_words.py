#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The words of comments, documents, messages and the change log.

usage: check_words.py [--update | --list RULE] [ROOT]

A rule finds sentences without a subject, or a private word that has a standard
term. The last rule finds private words in the identifiers of C files.
tools/check_words.limits has the count of each rule over the whole tree. The
check fails if a count is above its limit, and prints the lines of the last
change that match. It also fails if a count is below its limit: --update lowers
the limits. --update never raises a limit: that takes an edit of the file, and
an answer in the review. --list prints all matches of one rule.
"""

import collections
import pathlib
import re
import subprocess
import sys

import prose

LIMITS = "tools/check_words.limits"
HEADER = """\
# Matches of each rule of tools/check_words.py in the whole tree. A commit that
# removes matches lowers the number: tools/check_words.py --update
"""

PEOPLE = ("administrator author contributor customer developer engineer "
          "maintainer newcomer operator programmer reader reviewer stranger "
          "student user visitor").split()
PERSON = "|".join([*(f"{noun}s?" for noun in PEOPLE), "people", "persons?"])
# "people who", "the reader, to whom"
OF_PEOPLE = re.compile(rf"\b({PERSON}),?\s((to|of|for|with|by|from)\s)?$", re.I)
# The end of a sentence, and the begin of the next.
SENTENCE = re.compile(r"[.!?][\"')]*\s+(?=[A-Z\"'(])")

Rule = collections.namedtuple("Rule", "name pattern instead")
Hit = collections.namedtuple("Hit", "name line text")


def word(pattern):
    """The pattern of a whole word that is in no identifier, no file name and
    no quotes."""
    return re.compile(
        rf"(?<![\w/.>`-])(?:{pattern})(?![\w/(`\"]|\.\w|-\w)", re.I)


SENTENCES = [
    Rule("sentence-who", word("(who|whom|whose)(ever)?"),
         "begin with a noun"),
    Rule("sentence-what", word("what(ever)?"),
         "begin with a noun"),
]
WHO = [
    Rule("who", word("who|whom|whoever|whomever"),
         "name the thread, the caller, the process"),
    Rule("whose", word("whose"), "name the owner, or use 'with' or 'of which'"),
]
# Words of the project's first names, in the order of their table. These have no
# rule, since the private meaning looks like the ordinary one: stop, turns,
# share, longest and waits, protect, server, hold and held and kept, place, own
# and uses, part, arrive, receiver, alive, end of a wait, see, tell. Nor have
# "ring" alone, which io_uring and channels have, and "arrivals", the field's
# word at a barrier. The same holds for "look" as a verb, unless "for work"
# follows, and for "retake", which is a standard term.
RETIRED = [Rule(name, word(pattern), instead) for name, pattern, instead in (
    ("ring-i-b", r"(?-i:rings? [IB]|[IB] rings?)",
     "interactive run queue, batch run queue"),
    ("lifo-slot", "LIFO slots?", "next slot"),
    ("surplus", "(?<!TLS )surplus", "stealable work"),
    ("inbox", "gifts?|inbox(es)?", "remote queue"),
    ("offer", "unstarted|(an|the|its|no|each|every) offer",
     "not-yet-started thread"),
    ("hog", "hogs?", "CPU-bound thread"),
    ("suspect", "suspects?|suspected", "CPU-bound candidate"),
    ("deaf", "deaf|deafness", "ignores cooperative preemption"),
    ("gentle", "gentle|gently", "cooperative preemption request"),
    ("give-way", "(give|gives|gave|given|giving) way", "yield"),
    ("patience", "patience|patient", "starvation bound"),
    ("balance", "(?<!load )balances?",
     "batch deficit; between VPs: load balancing"),
    ("hunger", "hunger|hungry", "throttled time"),
    ("pace", "paces?|paced|pacing", "tick interval"),
    ("run-length", "run lengths?", "mean burst"),
    ("promotion", "promot(e|es|ed|ing|ion|ions)",
     "requeue on a priority change"),
    ("budget", "(?<!spin )budgets?", "spin budget"),
    ("promise", r"(a|the|its|each) \*?promise|promised(?! to ring\b)",
     "reserved carrier"),
    ("retire", "retire|retires|retired|retiring", "exited carrier"),
    ("bury", "bury|buries|buried", "exited carrier"),
    ("rescue", "rescues?|rescued|rescuing", "handoff"),
    ("rejoin", "rejoins?|rejoined|rejoining", "reacquire"),
    ("borrow", "borrow(s|ed|ing|er|ers)?|loans?|lenders?", "vfork child"),
    ("sole", "sole", "biased lock"),
    ("outsider", "outsiders?", "revoking thread"),
    ("lend", "lends?|lent|lending", "priority inheritance"),
    ("keeper", "keepers?", "supervisor of the I/O servers"),
    ("let-close", "lets? close|wait for call", "close barrier"),
    ("unasked", "unasked", "deferred O_NONBLOCK check"),
    ("move-requests", "requests? ((is|are|was|were) )?(move|moves|moved)|"
     "(move|moves|moved|moving) ((a|the) )?requests?", "migrate"),
    ("proxy", "(?<!epoll )(proxy|proxies)", "epoll proxy"),
    ("watch", "(a|an|the|each|its|of|no|one) watch(es)?",
     "readiness watcher"),
    ("under-way", "under way", "in flight"),
    ("abroad", "abroad", "other process"),
    ("route", "routes?|routed", "signal routing"),
    ("soil", "soil(s|ed|ing)?", "dirty"),
    ("nudge", "nudg(e|es|ed|ing)", "kick"),
    ("living", "living", "not yet exited"),
    ("outcome", "outcomes?", "wait result"),
    ("a-look", "(a|the|by|of|no|each|every|last|next|one|first) look|"
     "(the|of) looks|"
     "(look|looks|looked|looking) for work", "poll, check"),
)]
RULES = SENTENCES + WHO + RETIRED
# Parts of identifiers in C: wf_rescue_all, vp->inbox.
NAMES = Rule("names", re.compile(
    r"(?<![A-Za-z0-9])(lifo|gifts?|inbox|unstarted|hogs?|suspects?|deaf|gently|"
    r"patience|hunger|pace|promot(e|ed|ion)|promised?|retired?|bury|"
    r"rescue[ds]?|rejoins?|borrow(s|ed|ers?|ing)?|loans?|lenders?|lending|"
    r"lent|outsiders?|sole|keeper|unasked|under_way|abroad|soiled|nudge[ds]?|"
    r"living|outcomes?)(?![A-Za-z0-9])"),
    "the standard term (docs/internals/glossary.md)")
NAMED = ("src/", "cli/", "include/")
ALL = RULES + [NAMES]


def beginnings(unit):
    """Yields the offsets at which sentences begin. A heading is no sentence.
    In a document, nor is an item or a cell that begins with a small letter."""
    text = unit.text
    if unit.kind == "heading" or not text:
        return
    if unit.kind != "document" or not text[0].islower():
        yield 0
    for match in SENTENCE.finditer(text):
        yield match.end()


def is_question(text, start):
    end = re.compile(r"[.!?](?=\s|$|[\"')])").search(text, start)
    return end is not None and end[0] == "?"


def matches(unit):
    """(rule, offset) of all matches in a unit."""
    text = unit.text
    for start in beginnings(unit):
        for rule in SENTENCES:
            if rule.pattern.match(text, start) and not is_question(text, start):
                yield rule, start
    for rule in WHO:
        for match in rule.pattern.finditer(text):
            if not OF_PEOPLE.search(text, 0, match.start()):
                yield rule, match.start()
    for rule in RETIRED:
        for match in rule.pattern.finditer(text):
            # A word in capitals is a constant's name.
            if not match[0].isupper():
                yield rule, match.start()


def git(root, *args):
    done = subprocess.run(["git", "-C", str(root), *args], text=True,
                          capture_output=True)
    return done.stdout if done.returncode == 0 else None


def hits_of_names(name, text):
    """Yields the hits in the code of a C file; comments and messages are
    prose."""
    if not name.endswith((".c", ".h", ".S")):
        return
    code = prose.C_TOKEN.sub(
        lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    for nr, line in enumerate(code.split("\n"), 1):
        if NAMES.pattern.search(line):
            yield Hit(name, nr, line.strip()[:65])


def hits_of(root):
    """{rule's name: [Hit]} of the tree, its files in order."""
    listed = git(root, "ls-files", "-z", "-co", "--exclude-standard")
    if listed is None:
        sys.exit(f"words: {root} is no git repository")
    hits = {rule.name: [] for rule in ALL}
    for name in sorted(set(listed.split("\0")[:-1])):
        try:
            text = (root / name).read_text()
        except (OSError, UnicodeDecodeError):
            continue
        for unit in prose.units(name, text):
            for rule, offset in matches(unit):
                hits[rule.name].append(
                    Hit(name, unit.line_at(offset),
                        unit.text[max(0, offset - 25):offset + 40]))
        if name.startswith(NAMED):
            hits[NAMES.name] += hits_of_names(name, text)
    return hits


def added(root, base):
    """{(file, line)} that are not in the commit `base`. If that commit is
    missing, all lines of the files in HEAD are new."""
    diff = git(root, "diff", "-U0", "--no-color", "--no-ext-diff",
               "--no-renames", "--src-prefix=a/", "--dst-prefix=b/", base)
    if diff is None:
        return None
    lines, name = set(), None
    for line in diff.splitlines():
        if line.startswith("+++ "):
            name = line[len("+++ b/"):].rstrip("\t")
        hunk = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if hunk:
            first, nr = int(hunk[1]), int(hunk[2] or 1)
            lines |= {(name, first + i) for i in range(nr)}
    for name in git(root, "ls-files", "-zo", "--exclude-standard").split("\0"):
        if name:
            nr = (root / name).read_bytes().count(b"\n") + 1
            lines |= {(name, i) for i in range(1, nr + 1)}
    return lines


def new_hits(root, hits):
    """The hits of the uncommitted change, or else those of the last commit."""
    for base in ("HEAD", "HEAD~1"):
        lines = added(root, base)
        found = hits if lines is None else [
            hit for hit in hits if (hit.name, hit.line) in lines]
        if found:
            return found
    return []


def read_limits(root):
    path = root / LIMITS
    rows = (line.split() for line in path.read_text().splitlines()
            if line and not line.startswith("#")) if path.exists() else ()
    return {name: int(count) for name, count in rows}


def write_limits(root, limits):
    (root / LIMITS).parent.mkdir(exist_ok=True)
    (root / LIMITS).write_text(HEADER + "".join(
        f"{rule.name} {limits[rule.name]}\n" for rule in ALL))


def compare(root, hits, limits):
    """Lines that say which counts differ from their limits."""
    for rule in ALL:
        count, limit = len(hits[rule.name]), limits.get(rule.name, 0)
        if count < limit:
            yield (f"{rule.name}: {count}, the limit is {limit}: lower the "
                   "limit (check_words.py --update)")
        elif count > limit:
            yield f"{rule.name}: {count}, {limit} at most: {rule.instead}"
            found = new_hits(root, hits[rule.name])
            for hit in found:
                yield f"    {hit.name}:{hit.line}: {hit.text}"
            if not found:
                yield ("    no line of the last commit; check_words.py --list "
                       f"{rule.name}")
    for name in sorted(limits.keys() - hits.keys()):
        yield f"{name}: there is no such rule; check_words.py --update"


def main(argv):
    args = argv[1:]
    mode = args.pop(0) if args and args[0].startswith("--") else None
    listed = args.pop(0) if mode == "--list" and args else None
    root = pathlib.Path(args[0] if args
                        else pathlib.Path(__file__).parents[1])
    hits = hits_of(root)
    if mode == "--list" and listed in hits:
        for hit in hits[listed]:
            print(f"{hit.name}:{hit.line}: {hit.text}")
        return 0
    if mode not in (None, "--update") or len(args) > 1:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    limits = read_limits(root)
    if mode == "--update":
        limits = {name: min(len(found), limits.get(name, len(found)))
                  for name, found in hits.items()}
        write_limits(root, limits)
    errors = list(compare(root, hits, limits))
    print("\n".join(errors) if errors else "words: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
