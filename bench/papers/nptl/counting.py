# SPDX-License-Identifier: MIT
"""Counts the system calls of one operation of a benchmark.

    counted(counter, ["bench_yield"], (500, 1500)).figures["calls"]
"""

from bench.lib import measure, sides


def counted(counter, command, ops):
    """counter: the program bench_count_calls. ops: how many operations each of
    two runs makes; their difference leaves out the start and the end. A
    measure.Result with the figures "calls" and "call_N" of one operation."""
    numbers = []
    for nr_ops in ops:
        result = measure.run([counter, *command],
                             env=sides.environment(BENCH_OPS=str(nr_ops)))
        if not result.figures:
            return result
        numbers.append(result.figures)
    few, many = numbers
    return measure.Result(figures={
        name: max(0, many.get(name, 0) - few.get(name, 0)) / (ops[1] - ops[0])
        for name in {**few, **many}})
