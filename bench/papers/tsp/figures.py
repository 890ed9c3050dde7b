# SPDX-License-Identifier: MIT
"""Figure 2 of the paper on virtual processors: the time of one search by the
number of cities, with a log axis; and the same for each kind of lock.
"""

MARKERS = "osv^Dx"


def draw_lines(axes, title, lines):
    """lines: {label: {cities: ms}}. A label has the same colour and marker in
    each panel with the same labels."""
    for nr, (label, points) in enumerate(lines.items()):
        if points:
            axes.plot(*zip(*sorted(points.items())), label=label,
                      marker=MARKERS[nr % len(MARKERS)], color=f"C{nr}")
    axes.set_xticks(sorted({cities for points in lines.values()
                            for cities in points}))
    axes.set_yscale("log")
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel("cities")
    axes.set_ylabel("ms for one search")
    axes.grid(True, which="both", alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")


def turned(table, names):
    """{name: {cities: ms}} of {cities: {name: ms}}."""
    return {name: {cities: row[name] for cities, row in table.items()
                   if name in row} for name in names}


def lock_panels(locks):
    """Returns {title: lines} for the table with the most locks per city."""
    if not locks.milliseconds:
        return {}
    pairs = max(locks.milliseconds)
    table = locks.milliseconds[pairs]
    variants = next(iter(table.values())) if table else ()
    return {f"{variant}, {locks.options.lock_threads} threads, "
            f"locks for each city: {pairs}":
            turned({cities: rows[variant] for cities, rows in table.items()},
                   locks.options.locks) for variant in variants}


def draw(path, title, table, variants, locks):
    """Returns why there is no plot, or None."""
    try:
        import matplotlib
    except ImportError:
        return "python3-matplotlib is not installed"
    matplotlib.use("Agg")
    from matplotlib import pyplot
    panels = {title: turned(table, variants), **lock_panels(locks)}
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    figure, grid = pyplot.subplots(rows, columns, squeeze=False,
                                   figsize=(7 * columns, 4.5 * rows))
    for axes, (panel, lines) in zip(grid.flat, panels.items()):
        draw_lines(axes, panel, lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    return None
