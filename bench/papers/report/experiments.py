# SPDX-License-Identifier: MIT
"""The experiments of `./dev bench papers`, in the order in which they run: the
short ones first. An experiment is a folder of bench/papers with a run.py.
"""

import dataclasses
import pathlib

PAPERS = pathlib.Path(__file__).resolve().parents[1]
# Time limits of a whole run, after everything is installed and built.
QUICK_LIMIT_S, FULL_LIMIT_S = 8 * 60, 2 * 3600


@dataclasses.dataclass(frozen=True)
class Experiment:
    """`quick` and `full`: the options of its run.py. `quick_s` and `full_s`:
    the seconds that it takes on two CPUs, a first guess for the time left.
    Most of it is the number of runs times the length of one, and up to 50 ms
    to start its program."""
    name: str
    quick: tuple = ()
    full: tuple = ()
    quick_s: int = 60
    full_s: int = 600
    has_plot: bool = False

    @property
    def script(self):
        return PAPERS / self.name / "run.py"

    def options(self, is_quick):
        return list(self.quick if is_quick else self.full)

    def seconds(self, is_quick):
        return self.quick_s if is_quick else self.full_s


KNOWN = (
    Experiment("locks", ("--runs", "3", "--scale", "20"), (), 4, 30),
    Experiment("nptl", ("--runs", "3", "--scale", "10"), (), 60, 250),
    Experiment("arch", ("--runs", "2", "--scale", "5", "--seconds", "110",
                        "--systems", "host"), ("--seconds", "1100"), 95, 900),
    Experiment("tsp", ("--runs", "3", "--scale", "5", "--cities", "6", "12",
                       "--lock-cities", "10", "11"), (), 30, 900, True),
    Experiment("ring", ("--runs", "3", "--scale", "10", "--threads", "2", "3",
                        "4", "5", "10", "100", "1000"), (), 60, 1100, True),
    Experiment("power", ("--runs", "3", "--scale", "5", "--pauses", "15",
                         "1000", "200000"), (), 30, 500),
    Experiment("decode", ("--runs", "3", "--mib", "1", "--units", "64"),
               ("--mib", "4"), 20, 420),
    Experiment("priorities", ("--runs", "3", "--ms", "300", "--io-nice", "0",
                              "-5"), (), 10, 110),
    # Java warms up for half a second in each run.
    Experiment("peers", ("--runs", "2", "--scale", "10", "--limit", "3"), (),
               55, 400),
    Experiment("ptl-n", ("--runs", "3", "--mib", "1", "--units", "8,64,256"),
               (), 95, 2150, True),
)


def found():
    """Returns the experiments that exist. One that KNOWN lacks runs with its
    defaults."""
    here = {script.parent.name for script in PAPERS.glob("*/run.py")}
    known = [e for e in KNOWN if e.name in here]
    new = sorted(here - {e.name for e in KNOWN})
    return known + [Experiment(name) for name in new]
