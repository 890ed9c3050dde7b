#!/usr/bin/env python3
"""The names that libweft.so exports are those of src/weft.map, the reference
has them all, and only folders api and libc refer to them: everybody else would
call weft's own wrapper where the runtime means libc's function.

usage: check_symbols.py BUILD_DIR [ROOT]
"""

import json
import pathlib
import re
import subprocess
import sys

MAY_REFER = {"api", "libc"}


def map_names(text):
    """The names between "global:" and "local:" of an anonymous version."""
    text = re.sub(r"/\*.*?\*/|#[^\n]*", " ", text, flags=re.S)
    match = re.fullmatch(
        r"\s*\{\s*global:([^{}]*)\blocal:\s*\*\s*;\s*\}\s*;\s*", text)
    if not match:
        raise ValueError("not of the form { global: NAME; ... local: *; };")
    return {name for name in re.split(r"[;\s]+", match.group(1)) if name}


def nm(path, *args):
    """The names, without version suffix."""
    run = subprocess.run(["nm", "--format=posix", *args, str(path)],
                         check=True, text=True, capture_output=True)
    return {line.split()[0].split("@")[0]
            for line in run.stdout.splitlines() if " " in line}


def check_exports(library, wanted):
    found = nm(library, "-D", "--defined-only")
    return ([f"{library}: exports {name}, which is not in the map"
             for name in sorted(found - wanted)] +
            [f"{library}: does not export {name}, which is in the map"
             for name in sorted(wanted - found)])


def check_reference(page, wanted):
    found = set(re.findall(r"`(\w+)`", page.read_text()))
    return [f"{page}: has no {name}" for name in sorted(wanted - found)]


def library_objects(build, root):
    """(folder of src/, object file) of everything in the library."""
    src = (root / "src").resolve()
    commands = json.loads((build / "compile_commands.json").read_text())
    for command in commands:
        output = command["output"]
        if not output.startswith("libweft.so.p/"):
            continue
        directory = pathlib.Path(command["directory"])
        source = (directory / command["file"]).resolve()
        if src not in source.parents:
            raise ValueError(f"{source} is in libweft.so and not in {src}")
        yield source.relative_to(src).parts[0], directory / output


def check_references(build, root, interposed):
    errors = []
    objects = list(library_objects(build, root))
    if not objects:
        return [f"{build}: no object of libweft.so in compile_commands.json"]
    for folder, path in objects:
        if folder in MAY_REFER:
            continue
        for name in sorted(nm(path, "-u") & interposed):
            errors.append(f"{path}: {folder}/ refers to {name}, which "
                          "weft interposes; call it through libc/")
    return errors


def main(argv):
    if len(argv) < 2:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    build = pathlib.Path(argv[1])
    root = pathlib.Path(argv[2] if len(argv) > 2
                        else pathlib.Path(__file__).parents[1])
    try:
        names = map_names((root / "src" / "weft.map").read_text())
        errors = check_exports(build / "libweft.so", names)
        errors += check_references(build, root, names)
        errors += check_reference(
            root / "docs" / "reference" / "functions.md", names)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        errors = [str(error), getattr(error, "stderr", None) or ""]
    print("\n".join(filter(None, errors)) if errors else "symbols: clean")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
