#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The names that libweft.so.0 exports are those of src/weft.map, with that
version, and those of src/interposed.txt, with none. The reference has them all.
Only the folders api and libc refer to them: any other folder would call weft's
own wrapper where the runtime means libc's function. The functions of the
section weft_preemptible (WF_PREEMPTIBLE in base/compiler.h) are short: the
linker has copied nothing of the runtime into them.

usage: check_symbols.py BUILD_DIR [ROOT]
"""

import json
import pathlib
import re
import subprocess
import sys

MAY_REFER = {"api", "libc"}
SECTION = "weft_preemptible"
# The longest function of the section has 300 bytes; a wake alone has 900.
MOST_BYTES = 400


def map_names(text):
    """Returns {name: version} of a linker map with one version."""
    text = re.sub(r"/\*.*?\*/|#[^\n]*", " ", text, flags=re.S)
    match = re.fullmatch(
        r"\s*(\w+\.\d+)\s*\{\s*global:([^{}]*)\blocal:[^{}]*\}\s*;\s*", text)
    if not match:
        raise ValueError("not of the form VERSION { global: NAME; ... "
                         "local: NAME; };")
    return dict.fromkeys(filter(None, re.split(r"[;\s]+", match[2])), match[1])


def list_names(text):
    """Returns libc's names in a list that has one a line; a line may be a
    comment."""
    return {line for line in text.splitlines()
            if line and not line.startswith("#")}


def exported(root):
    """Returns {name: version} of the names to export; libc's have the version
    ""."""
    names = dict.fromkeys(
        list_names((root / "src/interposed.txt").read_text()), "")
    return names | map_names((root / "src/weft.map").read_text())


def nm(path, *args):
    """Runs nm and returns {name: version}."""
    run = subprocess.run(["nm", "--format=posix", *args, str(path)],
                         check=True, text=True, capture_output=True)
    names = (line.split()[0].partition("@") for line
             in run.stdout.splitlines() if " " in line)
    return {name: version.lstrip("@") for name, _, version in names}


def check_exports(library, names):
    versions = nm(library, "-D", "--defined-only")
    # The linker defines a symbol for each version.
    for version in set(names.values()):
        versions.pop(version, None)
    found, wanted = set(versions), set(names)
    return ([f"{library}: exports {name}, which is not in the map"
             for name in sorted(found - wanted)] +
            [f"{library}: does not export {name}, which is in the map"
             for name in sorted(wanted - found)] +
            [f"{library}: {name} has the version '{versions[name]}', not "
             f"'{names[name]}'" for name in sorted(wanted & found)
             if versions[name] != names[name]])


def check_reference(page, wanted):
    found = set(re.findall(r"`(\w+)`", page.read_text()))
    return [f"{page}: has no {name}" for name in sorted(set(wanted) - found)]


def library_objects(build, root):
    """Yields (folder of src/, object file) of each object in the library."""
    src = (root / "src").resolve()
    commands = json.loads((build / "compile_commands.json").read_text())
    for command in commands:
        output = command["output"]
        if not output.startswith("libweft.so.0.p/"):
            continue
        directory = pathlib.Path(command["directory"])
        source = (directory / command["file"]).resolve()
        if src not in source.parents:
            raise ValueError(f"{source} is in libweft.so.0 and not in {src}")
        yield source.relative_to(src).parts[0], directory / output


def check_references(build, root, interposed):
    errors = []
    objects = list(library_objects(build, root))
    if not objects:
        return [f"{build}: no object of libweft.so.0 in compile_commands.json"]
    for folder, path in objects:
        if folder in MAY_REFER:
            continue
        for name in sorted(set(nm(path, "-u")) & set(interposed)):
            errors.append(f"{path}: {folder}/ refers to {name}, which "
                          "weft interposes; call it through libc/")
    return errors


def check_preemptible(library):
    """Checks that the functions of the section weft_preemptible are short."""
    sections = subprocess.run(["readelf", "-SW", str(library)], check=True,
                              text=True, capture_output=True).stdout
    found = re.search(rf"{SECTION}\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)",
                      sections)
    if not found:
        return []
    begin, size = (int(word, 16) for word in found.groups())
    symbols = subprocess.run(["nm", "-S", "--format=posix", str(library)],
                             check=True, text=True, capture_output=True).stdout
    long = set()
    for line in symbols.splitlines():
        name, _, *numbers = line.split()
        numbers = [int(word, 16) for word in numbers]
        if len(numbers) == 2 and begin <= numbers[0] < begin + size and \
                numbers[1] > MOST_BYTES:
            long.add(name.partition("@")[0])
    return [f"{library}: {name} is in {SECTION} and has more than "
            f"{MOST_BYTES} bytes: what enters the runtime has to be a "
            f"function that is not inline" for name in sorted(long)]


def main(argv):
    if len(argv) < 2:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    build = pathlib.Path(argv[1])
    root = pathlib.Path(argv[2] if len(argv) > 2
                        else pathlib.Path(__file__).parents[1])
    try:
        names = exported(root)
        errors = check_exports(build / "libweft.so.0", names)
        errors += check_preemptible(build / "libweft.so.0")
        errors += check_references(build, root, names)
        errors += check_reference(
            root / "docs" / "reference" / "functions.md", names)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        errors = [str(error), getattr(error, "stderr", None) or ""]
    print("\n".join(filter(None, errors)) if errors else "symbols: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
