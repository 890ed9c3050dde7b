# SPDX-License-Identifier: MIT
"""Power against latency, which the paper on polling agents leaves as a
setting."""

import re

from bench.papers.report.blocks import Table, times
from bench.papers.report.plots import Plot

ROW = re.compile(r"(.+), (\d+) VPs?, latency$")
ADAPTIVE = "adaptive"
FIGURES = (("latency", "ns one way"), ("cpu", "CPU seconds in each second"))


def tables(cells):
    """Returns {VPs: [case...]}."""
    found = {}
    for row in cells.rows():
        match = ROW.match(row)
        if match:
            found.setdefault(int(match[2]), []).append(match[1])
    return found


def name(case, vps, figure):
    return f"{case}, {vps} VP{'s' * (vps > 1)}, {figure}"


def agents(cells, case, vps):
    """Returns the numbers of agents for which there is a figure."""
    return sorted(int(column)
                  for column in cells.columns(name(case, vps, "latency"))
                  if column.isdigit()
                  and all(cells.has(name(case, vps, figure), column)
                          for figure, _ in FIGURES))


def table(cells, vps, cases):
    rows = []
    for case in cases:
        for figure, unit in FIGURES:
            row = name(case, vps, figure)
            rows.append([case if figure == "latency" else "", unit, *(
                cells.get(row, column).text()
                for column in cells.columns(row))])
    columns = cells.columns(*(name(case, vps, "latency") for case in cases))
    return Table(f"Latency and CPU time by the number of agents, {vps} VPs",
                 ("", "unit", *columns), rows)


def by_agents(cells, all_cases, figure, unit):
    """A curve for each case with the fewest VPs, dashed with the most."""
    series, dashed = {}, {}
    few = min(all_cases)
    for vps, cases in sorted(all_cases.items()):
        for case in cases:
            label = f"{case}, {vps} VPs"
            row = name(case, vps, figure)
            series[label] = [(nr, cells.get(row, str(nr)).value)
                             for nr in agents(cells, case, vps)]
            if vps != few and case in all_cases[few]:
                dashed[label] = f"{case}, {few} VPs"
    return Plot(f"{unit} by the number of agents", "agents that poll", unit,
                series, dashed=dashed)


def trade(cells, vps, cases):
    """Returns a curve for each case, from the point without agents to that with
    the most."""
    series, dashed = {}, {}
    for case in cases:
        rows = [name(case, vps, figure) for figure in ("cpu", "latency")]
        series[case] = [tuple(cells.get(row, str(nr)).value for row in rows)
                        for nr in agents(cells, case, vps)]
        if all(cells.has(row, ADAPTIVE) for row in rows):
            label = f"{case}, {ADAPTIVE}"
            series[label] = [tuple(cells.get(row, ADAPTIVE).value
                                   for row in rows)]
            dashed[label] = case
    return Plot(f"Power against latency, {vps} VPs",
                "CPU seconds in each second", "ns one way", series,
                log_x=True, dashed=dashed)


def found(cells, all_cases):
    lines = []
    for vps, cases in all_cases.items():
        for case in cases:
            latency, cpu = (name(case, vps, figure) for figure, _ in FIGURES)
            faster = cells.ratio((latency, "0"), (latency, "1"))
            costs = cells.ratio((cpu, "1"), (cpu, "0"))
            if faster and costs:
                lines.append(f"{case}, {vps} VPs: without agents the latency "
                             f"is {times(faster)} that of one agent, which "
                             f"uses {times(costs)} the CPU time.")
            chosen = cells.ratio((latency, ADAPTIVE), (latency, "1"))
            if chosen:
                lines.append(f"{case}, {vps} VPs: {ADAPTIVE}'s latency is "
                             f"{times(chosen)} that of one agent.")
    return lines


def section(cells, make):
    all_cases = tables(cells)
    ours = [table(cells, vps, cases) for vps, cases in all_cases.items()]
    if all_cases:
        ours += [by_agents(cells, all_cases, *figure) for figure in FIGURES]
    ours += [trade(cells, vps, cases) for vps, cases in all_cases.items()]
    return make(
        "Power against latency (section 4)",
        "How many agents should poll? Each one costs CPU time, and without "
        "any a thread waits for the kernel to wake it.",
        paper=["The number of agents that poll at once is a setting between "
               "latency and power. The paper always has one, and prints no "
               "figure for this. Its machine with a thread more than cores "
               "shows the price of too many pollers: 2,557 times slower."],
        expected=["One agent gives nearly all of the gain: it sees all words.",
                  "More agents than idle CPUs cost latency, too: they take "
                  "CPUs from the threads that they wait for.",
                  "The rarer the words, the more CPU time each answer costs. "
                  "The policy adaptive polls only while words come often."],
        ours=ours, found=found(cells, all_cases),
        explained=[
            "The process that changes the word polls for the answer, so it "
            "keeps a CPU busy, as a device would not. With 2 CPUs only one is "
            "left for the threads and the agents.",
            "A virtual processor checks all words once before it sleeps. In a "
            "ring inside one process it always finds a changed word then, so "
            "the latency does not depend on agents there.",
            "CPU seconds are those of the process that waits, by its own "
            "clock. They stand for power: a CPU that polls does not sleep."])
