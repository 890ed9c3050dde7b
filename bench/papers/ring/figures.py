# SPDX-License-Identifier: MIT
"""The paper's figures 3, 4, 6, 11 and 12 with what was measured here. The paper
gives its results as ratios to real-time signals; each is drawn as the latency
that signals have here, divided by the ratio."""

# {way: times as fast as signals} in the paper, on 4 cores.
CPUS, CPUS_AND_1 = "n = CPUs", "n = CPUs + 1"
FIGURES = (
    ("3", "Signals and polling, a CPU for each thread", (CPUS,),
     ("signals", "polling"), {(CPUS, "polling"): 19}),
    ("4", "One thread more than CPUs", (CPUS_AND_1,),
     ("signals", "polling"), {(CPUS_AND_1, "polling"): 1 / 2557}),
    ("6", "An agent that polls for all and signals", (CPUS, CPUS_AND_1, 5),
     ("signals", "polling", "agent + signal"),
     {(CPUS, "polling"): 19, (CPUS_AND_1, "polling"): 1 / 2557,
      (5, "agent + signal"): 5.21 / 5.95}),
    ("11", "Agent and lightweight threads, n = 5", (5,),
     ("signals", "agent + signal", "words", "words random", "semaphores",
      "Go channels"),
     {(5, "agent + signal"): 5.21 / 5.95, (5, "words"): 5.21}),
)
OVER_N = ("12", "Agent and lightweight threads, over n",
          ("signals", "condition variables", "futexes", "words",
           "words random", "semaphores", "Go channels"), {1000: 5.24})


def count_of(group, cpus):
    return {CPUS: cpus, CPUS_AND_1: cpus + 1}.get(group, group)


def bars(axes, table, cpus, figure):
    name, title, groups, ways, paper = figure
    width = 0.8 / len(ways)
    for nr, way in enumerate(ways):
        places, heights = [], []
        for g, group in enumerate(groups):
            cell = table.get(count_of(group, cpus), {}).get(way)
            if cell:
                places.append(g + nr * width)
                heights.append(cell["latency"])
        if places:
            axes.bar(places, heights, width, label=way)
    for (group, way), ratio in paper.items():
        signals = table.get(count_of(group, cpus), {}).get("signals")
        if signals:
            axes.plot(groups.index(group) + ways.index(way) * width,
                      signals["latency"] / ratio, "kx")
    axes.set_xticks([g + 0.4 - width / 2 for g in range(len(groups))],
                    [g if isinstance(g, str) else f"n = {g}" for g in groups])
    axes.set_title(f"{name}: {title}", fontsize=9)


def curves(axes, table):
    name, title, ways, paper = OVER_N
    for way, marker in zip(ways, "osv^Dx+"):
        points = [(n, cells[way]["latency"]) for n, cells in table.items()
                  if way in cells]
        if points:
            axes.plot(*zip(*points), marker=marker, label=way)
    for n, ratio in paper.items():
        if "signals" in table.get(n, {}):
            axes.plot(n, table[n]["signals"]["latency"] / ratio, "kx")
    axes.set_xscale("log")
    axes.set_xlabel("threads")
    axes.set_title(f"{name}: {title}", fontsize=9)


def draw(path, one, every, cpus):
    """Returns why there is no plot, or None."""
    try:
        import matplotlib
    except ImportError:
        return "python3-matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot
    sheet, axes = pyplot.subplots(2, 3, figsize=(15, 8.5))
    for place, figure in zip((axes[0][0], axes[0][1], axes[0][2], axes[1][0]),
                             FIGURES):
        bars(place, every, cpus, figure)
    curves(axes[1][1], one)
    axes[1][1].set_title(axes[1][1].get_title() + ", one CPU", fontsize=9)
    axes[1][2].axis("off")
    for place in axes.flat:
        if place.has_data():
            place.set_yscale("log")
        place.set_ylabel("ns one way")
        place.grid(True, axis="y", alpha=0.3)
    for place in list(axes.flat)[:5]:
        if place.has_data():
            place.legend(fontsize=7)
    sheet.suptitle("Ring of threads; x: the paper's ratio to our signals")
    sheet.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.savefig(path, dpi=110)
    return None
