"""Plots as SVG that stands inside a page, made by matplotlib if it is there."""

import dataclasses
import io
import re

MARKERS = "osv^DXP*<>"
NONE = "No plots: python3-matplotlib is not installed."


@dataclasses.dataclass(frozen=True)
class Plot:
    """series: {label: [(x, y)...]}. `paper`: points that stand for what the
    paper says, drawn as crosses. `dashed`: {label: the label of the series
    whose colour it has}; the markers of these are hollow."""
    title: str
    x: str
    y: str
    series: dict
    paper: tuple = ()
    log_x: bool = False
    has_lines: bool = True
    dashed: dict = dataclasses.field(default_factory=dict)

    def has_points(self):
        return any(self.series.values())


def pyplot():
    """The module, or None."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("svg")
    # Text stays text. Names inside the SVG do not change from run to run.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "weft",
                                "font.size": 9})
    from matplotlib import pyplot as found
    return found


def ticks(axes, plot):
    """Few values of x are written as they are."""
    values = sorted({x for points in plot.series.values() for x, _ in points})
    if plot.log_x:
        axes.set_xscale("log")
    if plot.has_lines and len(values) <= 10:
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.minorticks_off()


def draw(axes, plot):
    numbers = {label: nr for nr, label in enumerate(
        label for label in plot.series if label not in plot.dashed)}
    for label, points in plot.series.items():
        nr = numbers.get(plot.dashed.get(label, label), 0)
        is_dashed = label in plot.dashed
        style = "--" if is_dashed else "-"
        if points:
            axes.plot(*zip(*points),
                      linestyle=style if plot.has_lines else "none",
                      marker=MARKERS[nr % len(MARKERS)], color=f"C{nr % 10}",
                      markerfacecolor="white" if is_dashed else f"C{nr % 10}",
                      label=label)
    if plot.paper:
        axes.plot(*zip(*plot.paper), "kx", markersize=9, label="the paper")
    ticks(axes, plot)
    axes.set_yscale("log")
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y)
    axes.set_title(plot.title, fontsize=10)
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))


def svg(plot):
    """The element <svg>, or "" if there is no matplotlib or no point."""
    module = pyplot()
    if module is None or not plot.has_points():
        return ""
    figure, axes = module.subplots(figsize=(7.6, 4.2))
    draw(axes, plot)
    figure.tight_layout()
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    module.close(figure)
    text = out.getvalue()
    # Without the XML head. Ids are those of this plot only.
    text = text[text.index("<svg"):]
    mark = re.sub(r"\W+", "-", plot.title)
    text = re.sub(r'\bid="', f'id="{mark}-', text)
    text = re.sub(r'(href="|url\()#', rf"\1#{mark}-", text)
    return text
