# SPDX-License-Identifier: MIT
"""bench/results/services.json: the medians of `./dev bench servers --save`, of
which the guide's tables and plots are made (tools/make_figures.py).

    save(root, rows, options)
    read(root)["parts"]["mariadb_point_16"]["sides"]["native"]["requests"]
"""

import datetime
import json
import pathlib

from bench.lib import sides

PATH = pathlib.Path("bench/results/services.json")
DIGITS = 4
# If other programs use more than this part of a CPU, figures mean little: they
# take CPUs from the two sides in unequal shares. A favoured group gives them
# only what the service leaves.
MOST_OTHERS = 0.5


def others(medians):
    """Returns how many CPUs other programs used during the runs."""
    return max(side["other_cpus"] for side in medians.values())


def reason_against(row, is_favoured):
    """Returns why a row is not saved, or None."""
    if row["failed"]:
        return "a side failed"
    if others(row["medians"]) > MOST_OTHERS and not is_favoured:
        return f"other programs used {others(row['medians']):.1f} CPUs"
    return None

def rounded(figure):
    return float(f"{figure:.{DIGITS}g}")


def read(root):
    """Returns the content of the file; {} if there is none."""
    path = pathlib.Path(root) / PATH
    return json.loads(path.read_text()) if path.exists() else {}


def save(root, rows, options):
    """Each part has its date and machine, because parts are measured one after
    the other. A part without a good value leaves the saved one as it is.
    Returns {name: why it is not saved}."""
    why = {name: reason for name, row in rows.items()
           if (reason := reason_against(row, options.favoured))}
    new = {name: {"sides": {side: {figure: rounded(value) for figure, value in
                                   medians.items()}
                            for side, medians in row["medians"].items()},
                  "others": round(others(row["medians"]), 2),
                  "threads_made": row["threads_made"],
                  "favoured": options.favoured,
                  "runs": options.runs, "seconds": options.seconds,
                  "date": datetime.date.today().isoformat(),
                  "cpus": sides.machine()["cpus"]}
           for name, row in rows.items() if name not in why}
    parts = read(root).get("parts", {}) | new
    path = pathlib.Path(root) / PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(
        {"suite": "servers", "parts": dict(sorted(parts.items()))},
        indent=1) + "\n")
    return why
