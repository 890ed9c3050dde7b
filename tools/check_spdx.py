#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each source file names its licence in its first line, or in the
second one behind "#!".

usage: check_spdx.py [--fix] [ROOT]

--fix writes the line where it is missing.
"""

import pathlib
import sys

LINE = "SPDX-License-Identifier: MIT"
FOLDERS = ("src", "cli", "include", "test", "bench", "tools", "examples",
           "cmake")
FORMS = {"/* {} */": (".c", ".h", ".S", ".cpp", ".pml", ".map", ".ld"),
         "// {}": (".rs", ".go", ".java", ".js"),
         "# {}": (".py", ".toml", ".build", ".rb", ".pl", ".sh")}


def form_of(path):
    """Returns the licence's line in the file's comment style. None: the file is
    no source."""
    if path.name == "dev":
        return "# {}"
    return next((form for form, suffixes in FORMS.items()
                 if path.suffix in suffixes), None)


def sources(root):
    """Yields (file, its licence's line) of each source file."""
    paths = [root / "dev"]
    for folder in FOLDERS:
        paths += sorted((root / folder).rglob("*"))
    for path in paths:
        form = form_of(path)
        if path.is_file() and form is not None and \
                "__pycache__" not in path.parts:
            yield path, form.format(LINE)


def place_of(lines):
    return 1 if lines and lines[0].startswith("#!") else 0


def has_line(text, wanted):
    lines = text.splitlines()
    place = place_of(lines)
    return lines[place:place + 1] == [wanted]


def with_line(text, wanted):
    lines = text.splitlines(keepends=True)
    lines.insert(place_of(lines), wanted + "\n")
    return "".join(lines)


def main(argv):
    rest = [word for word in argv[1:] if word != "--fix"]
    root = pathlib.Path(rest[0] if rest else
                        pathlib.Path(__file__).resolve().parents[1])
    missing = [(path, wanted) for path, wanted in sources(root)
               if not has_line(path.read_text(), wanted)]
    if "--fix" in argv[1:]:
        for path, wanted in missing:
            path.write_text(with_line(path.read_text(), wanted))
        print(f"spdx: {len(missing)} files changed")
        return 0
    for path, wanted in missing:
        print(f"{path}: does not begin with {wanted}")
    if not missing:
        print("spdx: clean")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
