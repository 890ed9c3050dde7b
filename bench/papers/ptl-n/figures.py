# SPDX-License-Identifier: MIT
"""The paper's figures 5 to 8 with what was measured: elapsed and effective CPU
time by unit, for reading and writing on the local and on the slow file
system."""

PANELS = (("local", "read"), ("local", "write"), ("slow", "read"),
          ("slow", "write"))
MARKERS = "os^vDPX*<>dphH8"


def draw(axes, table, sides):
    units = sorted(table)
    for nr, (side, marker) in enumerate(zip(sides, MARKERS)):
        for figure, style in (("elapsed_us", "-"), ("spin_us", "--")):
            points = [(unit, table[unit][side][figure] / 1e3)
                      for unit in units
                      if table[unit].get(side, {}).get(figure)]
            if points:
                axes.plot(*zip(*points), style, marker=marker, color=f"C{nr}",
                          label=side if style == "-" else None)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(units, [str(unit) for unit in units])
    axes.grid(True, alpha=0.3)


def plot(path, tables, sides):
    """tables: {(file system, operation, "miss"): {unit: {side: {figure:
    median}}}}. Returns why there is no plot, or None."""
    try:
        import matplotlib
    except ImportError:
        return "python3-matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, panels = pyplot.subplots(2, 2, figsize=(12, 9))
    for axes, (place, operation) in zip(panels.flat, PANELS):
        table = tables.get((place, operation, "miss"), {})
        draw(axes, table, sides)
        axes.set_title(f"{place} file system, {operation}")
        axes.set_xlabel("unit, KiB")
        axes.set_ylabel("ms: elapsed -, effective CPU time - -")
    handles, labels = max((axes.get_legend_handles_labels()
                           for axes in panels.flat), key=lambda h: len(h[1]))
    figure.legend(handles, labels, loc="lower center", ncol=5, fontsize="small")
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return None
