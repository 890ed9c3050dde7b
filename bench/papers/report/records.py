# SPDX-License-Identifier: MIT
"""Turns the results of the experiments into one list of records:

    {experiment, row, column, value, unit, low, high}

`value` is a median. `low` and `high` are the quartiles of the samples, or their
least and largest if there are fewer than four. They are null where the
experiment keeps medians only. A cell without a value has a null in its place
and says why: `why`.

There is one function for each experiment. None of them relies on a key.
"""

import statistics

NO_FIGURE = "the program gave no figure"
# Rows of the program that dietlibc can also run.
WITNESS = "witness, "


def interval(samples):
    """(low, high), or (None, None) without samples."""
    if not samples:
        return None, None
    if len(samples) < 4:
        return min(samples), max(samples)
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, high


def under(found, *keys):
    """Returns found[key][key]..., or {} where a key is missing or its value
    null."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return {} if found is None else found


class Writer:
    """Collects the records of one experiment."""

    def __init__(self, experiment):
        self.experiment, self.records = experiment, []

    def add(self, row, column, unit, value=None, samples=(), scale=1,
            why=""):
        """scale: the factor that turns figures into that unit."""
        samples = [figure * scale for figure in samples or ()]
        if value is not None:
            value = value * scale
        elif samples:
            value = statistics.median(samples)
        low, high = interval(samples)
        one = {"experiment": self.experiment, "row": row, "column": column,
               "value": value, "unit": unit, "low": low, "high": high}
        if value is None:
            one["why"] = why or NO_FIGURE
        self.records.append(one)


def locks(data, out):
    for name, row in under(data, "rows").items():
        medians, samples = under(row, "medians"), under(row, "samples")
        why = row.get("error") or row.get("impossible")
        for column in ("lock", "unlock"):
            out.add(name, column, data.get("unit", "ns"), medians.get(column),
                    samples.get(column), why=why)
        for column in ("lock_fences", "unlock_fences"):
            out.add(name, column.replace("_", " "), "fences",
                    medians.get(column), why=why)


def costs(out, name, row):
    medians, samples = under(row, "medians"), under(row, "samples")
    errors = {**under(row, "impossible"), **under(row, "errors")}
    for side in {**samples, **medians, **errors}:
        out.add(name, side, row.get("unit", ""), medians.get(side),
                samples.get(side), why=errors.get(side))


def nptl(data, out):
    for key, cpus in (("rows", "1 CPU"), ("rows_all_cpus", "all CPUs")):
        for name, row in under(data, key).items():
            costs(out, f"{name}, {cpus}", row)
    for name, sides in under(data, "calls").items():
        for side, calls in sides.items():
            out.add(f"{name}, system calls", side, "calls", calls)
    for name, sides in under(data, "calls_by_kind").items():
        for side, kinds in sides.items():
            for kind, calls in kinds.items():
                out.add(f"{name}, system call {kind}", side, "calls", calls)
    for name, row in under(data, "witness", "rows").items():
        costs(out, f"{WITNESS}{name}", row)
    for name, sides in under(data, "witness", "calls").items():
        for side, calls in sides.items():
            out.add(f"{WITNESS}{name}, calls", side, "calls", calls)


def tsp(data, out):
    failed = under(data, "failed")
    for cities, row in under(data, "cities").items():
        names = [key.partition(", ")[2] for key in failed
                 if key.startswith(f"{cities}, ")]
        for name in {**row, **dict.fromkeys(names)}:
            out.add(f"{cities} cities", name, "ms", row.get(name),
                    under(data, "samples", cities, name),
                    why=failed.get(f"{cities}, {name}"))
    for pairs, table in under(data, "locks").items():
        for cities, variants in table.items():
            for variant, row in variants.items():
                tsp_locks(data, out, pairs, cities, variant, row)


def tsp_locks(data, out, pairs, cities, variant, row):
    impossible, failed = under(data, "impossible"), under(data, "failed")
    locks_of_all = {lock: None
                    for variants in under(data, "locks", pairs).values()
                    for each in variants.values() for lock in each}
    for lock in locks_of_all:
        why = impossible.get(f"{variant}, {lock}") or failed.get(
            f"{cities} cities, {pairs} pairs, {variant}, {lock}")
        out.add(f"{cities} cities, {variant}, locks a city: {pairs}", lock,
                "ms", row.get(lock),
                under(data, "lock_samples", pairs, cities, variant, lock),
                why=why)


def ring_left_out(data, vps):
    """Returns {way: why} for the ways that the experiment does not try."""
    found = {}
    if "go" in data and data["go"] is None:
        found["Go channels"] = "no Go compiler was found"
    if vps == "1":
        found["agent + signal"] = "the agent needs a CPU of its own"
    return found


def ring(data, out):
    for vps, table in under(data, "rings").items():
        for nr, row in table.items():
            medians, samples = under(row, "medians"), under(row, "samples")
            why = {**ring_left_out(data, vps), **under(row, "impossible"),
                   **under(row, "errors")}
            for way in {**medians, **why}:
                out.add(f"{nr} threads, {vps} VP{'s' * (vps != '1')}", way,
                        "ns",
                        under(medians, way).get("latency"),
                        under(samples, way, "latency")
                        if way in medians else (), why=why.get(way))


def power(data, out):
    for vps, cases in under(data, "vps").items():
        for case, policies in cases.items():
            name = f"{case}, {vps} VP{'s' * (vps != '1')}"
            for policy, row in policies.items():
                for figure, unit in (("latency", "ns"), ("cpu", "CPU s/s")):
                    out.add(f"{name}, {figure}", policy, unit,
                            under(row, "medians").get(figure),
                            under(row, "samples", figure),
                            why=under(row, "error") or "")


def peers(data, out):
    for cpus, rows in under(data, "cpus").items():
        for name, row in rows.items():
            medians, samples = under(row, "medians"), under(row, "samples")
            errors = {**under(row, "impossible"), **under(row, "errors")}
            for side in {**medians, **errors}:
                out.add(f"{name}, {cpus}", side, row.get("unit", ""),
                        medians.get(side), samples.get(side),
                        why=errors.get(side))


def ptl_n(data, out):
    figures = (("elapsed", "elapsed_us", "ms", 1e-3),
               ("effective", "spin_us", "ms", 1e-3),
               ("I/O", "io_us", "ms", 1e-3),
               ("notices", "notices", "notices", 1))
    for combination, table in under(data, "rows").items():
        for unit, row in table.items():
            name = f"{combination}, {unit} KiB"
            medians, samples = under(row, "medians"), under(row, "samples")
            failed = under(row, "failed")
            for side in {**medians, **failed}:
                for figure, key, of, scale in figures:
                    got = under(medians, side).get(key)
                    if figure == "notices" and got is None:
                        continue  # most sides do not count it
                    out.add(f"{name}, {figure}", side, of, got,
                            under(samples, side, key), scale,
                            why=failed.get(side))
            for side, share in under(row, "usable").items():
                if share is not None:
                    out.add(f"{name}, usable", side, "%", share, scale=100)
    if out.records and not any(name.startswith("slow")
                               for name in under(data, "rows")):
        out.add("slow file system", "all sides", "ms",
                why="it needs libfuse3 at the build, and /dev/fuse")


def arch(data, out):
    for row, one in under(data, "native").items():
        out.add(f"this machine, {row}", "NPTL", "ns",
                samples=under(one, "samples"), why=under(one, "why"))
    for machine, table in under(data, "machines").items():
        for row, one in under(table, "rows").items():
            unit = one.get("unit") or ""
            for side, cell in under(one, "sides").items():
                arch_cell(out, f"{machine}, {row}", side, unit, cell)
            if len(under(one, "sides")) == 2:
                out.add(f"{machine}, {row}", "weft", unit, why="no port yet")
    for one in under(data, "systems"):
        cases = sum(under(one, "natively").values())
        name = (f"weft on {one['system']}: Linux {one.get('kernel') or '?'}, "
                f"{one.get('libc') or '?'}")
        why = one.get("why")
        out.add(name, "native", "cases", None if why else cases, why=why)
        out.add(name, "weft", "cases",
                None if why else cases - len(under(one, "failed")), why=why)


def arch_cell(out, row, side, unit, cell):
    why = cell.get("counted_why")
    kinds = cell.get("kinds")
    if cell.get("is_timed"):
        out.add(row, side, unit, cell.get("median"), cell.get("samples"),
                why=cell.get("why"))
    out.add(f"{row}, instructions", side, "instructions",
            cell.get("instructions"), why=why)
    if cell.get("is_counted"):
        out.add(f"{row}, system calls", side, "calls", under(kinds).get("call"),
                why=why)
        if "emulated" in under(kinds):
            out.add(f"{row}, emulated instructions", side, "calls",
                    kinds["emulated"])


def decode(data, out):
    for name, row in under(data, "rows").items():
        medians, samples = under(row, "medians"), under(row, "samples")
        failed = under(row, "failed")
        for side in {**medians, **failed}:
            out.add(f"{name}, elapsed", side, "ms",
                    under(medians, side).get("elapsed_us"),
                    under(samples, side, "elapsed_us"), 1e-3,
                    why=failed.get(side))
        for side, share in under(row, "hidden").items():
            if share is not None:
                out.add(f"{name}, hidden", side, "%", share, scale=100)
    if out.records and not any(name.startswith("slow")
                               for name in under(data, "rows")):
        out.add("slow file system", "all sides", "ms",
                why="it needs libfuse3 at the build, and /dev/fuse")


def priorities(data, out):
    figures = (("small read", "small_us", "us"),
               ("small read, 99th percentile", "small_p99_us", "us"),
               ("turn with the mutex", "turn_us", "us"),
               ("large reads", "read_mb", "MB/s"),
               ("large writes", "write_mb", "MB/s"),
               ("CPU share of the computing thread", "compute", "CPU s/s"))
    for place, row in under(data, "rows").items():
        medians, samples = under(row, "medians"), under(row, "samples")
        failed = under(row, "failed")
        for side in {**medians, **failed}:
            for name, key, unit in figures:
                out.add(f"{place}, {name}", side, unit,
                        under(medians, side).get(key),
                        under(samples, side, key), why=failed.get(side))


READERS = {"arch": arch, "locks": locks, "nptl": nptl, "tsp": tsp, "ring": ring,
           "power": power, "peers": peers, "ptl-n": ptl_n,
           "decode": decode, "priorities": priorities}


def of(experiment, data):
    """Returns (records, the reason if there are none)."""
    reader = READERS.get(experiment)
    if reader is None:
        return [], "this report knows no such experiment yet"
    out = Writer(experiment)
    try:
        reader(data, out)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return out.records, f"its result has an unexpected form: {error!r}"
    return out.records, None if out.records else "its result has no rows"
