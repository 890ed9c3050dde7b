#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the completions of bash, zsh and fish from the command's help.

usage: make_completions.py WEFT [--check]

The help of `weft run` comes from the table of options.
"""

import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent.parent / "cli/completion"
SPDX = "# SPDX-License-Identifier: MIT\n"
MADE = "# Made by tools/make_completions.py.\n"


def help_of(weft, *command):
    return subprocess.run([weft, "help", *command], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def read_commands(weft):
    """Returns {command: its options}."""
    names = re.findall(r"^  ([a-z]+)\b", help_of(weft), re.M)
    table = {}
    for name in names:
        text = help_of(weft, name) if name not in ("help", "version") else ""
        options = re.findall(r"^  (--[a-z-]+)", text, re.M)
        table[name] = list(dict.fromkeys([*options, "--help"])) \
            if text else []
    return table


def cases(table, line):
    return "".join(f"\t\t{name}) {line(options)} ;;\n"
                   for name, options in table.items() if options)


def bash(table):
    words = cases(table, lambda o: f"words='{' '.join(o)}'")
    return (SPDX + MADE + "_weft() {\n"
            "\tlocal word=${COMP_WORDS[COMP_CWORD]} words=\n"
            "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
            f"\t\twords='{' '.join(table)}'\n"
            "\telif [[ $word == -* ]]; then\n"
            "\t\tcase ${COMP_WORDS[1]} in\n" + words + "\t\tesac\n\tfi\n"
            "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
            "}\ncomplete -o default -F _weft weft\n")


def zsh(table):
    words = cases(table, lambda o: f"compadd -- {' '.join(o)}")
    return ("#compdef weft\n" + SPDX + MADE +
            "if (( CURRENT == 2 )); then\n"
            f"\tcompadd -- {' '.join(table)}\n"
            "elif [[ $PREFIX == -* ]]; then\n"
            "\tcase $words[2] in\n" + words + "\tesac\nelse\n\t_files\nfi\n")


def fish(table):
    lines = [f"complete -c weft -f -n __fish_use_subcommand -a {name}\n"
             for name in table]
    lines += [f"complete -c weft -n '__fish_seen_subcommand_from {name}' "
              f"-l {option[2:]}\n"
              for name, options in table.items() for option in options]
    return SPDX + MADE + "".join(lines)


def main():
    table = read_commands(sys.argv[1])
    stale = 0
    for name, make in ("weft", bash), ("_weft", zsh), ("weft.fish", fish):
        path = FOLDER / name
        if "--check" not in sys.argv:
            path.write_text(make(table))
        elif path.read_text() != make(table):
            print(f"{path} is not what the help says")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
