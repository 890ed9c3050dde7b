# SPDX-License-Identifier: MIT
"""A page in headless Chromium: the places of its elements, and a picture.

    page = Browser(tmp_path).open(path, is_dark=True)
    page.plots[0].overflow      texts that leave the plot
    page.picture                the path of a PNG
"""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome")
LIMIT_S = 120
WIDTH = 1280
# Follows the page; it measures the plots and leaves the result as text.
SCRIPT = """
<script>
function found(svg) {
  const whole = svg.getBoundingClientRect();
  const all = [...svg.querySelectorAll("text, path, rect:not(.back)")];
  const leaves = one => {
    const box = one.getBoundingClientRect();
    return box.left < whole.left - 1 || box.top < whole.top - 1 ||
           box.right > whole.right + 1 || box.bottom > whole.bottom + 1;
  };
  const texts = [...svg.querySelectorAll("text")];
  const touch = (a, b) => {
    const [x, y] = [a, b].map(one => one.getBoundingClientRect());
    return x.left < y.right - 1 && y.left < x.right - 1 &&
           x.top < y.bottom - 3 && y.top < x.bottom - 3;
  };
  const touching = [];
  texts.forEach((a, nr) => texts.slice(nr + 1).forEach(b => {
    if (touch(a, b)) touching.push(a.textContent + " | " + b.textContent);
  }));
  return {
    title: svg.querySelector("title").textContent,
    box: [whole.left, whole.top + scrollY, whole.width, whole.height],
    marks: svg.querySelectorAll(".mark, .hollow").length,
    overflow: all.filter(leaves).map(one => one.textContent || one.tagName),
    touching: touching,
  };
}
const result = document.createElement("pre");
result.id = "result";
result.style.display = "none";
result.textContent = JSON.stringify({
  plots: [...document.querySelectorAll("svg")].map(found),
  width: document.documentElement.scrollWidth,
  height: document.documentElement.scrollHeight,
  colours: [getComputedStyle(document.body).color,
            getComputedStyle(document.body).backgroundColor],
});
document.body.append(result);
</script>
"""


@dataclasses.dataclass(frozen=True)
class DrawnPlot:
    """`box`: left, top, width, height in pixels of the picture. `overflow`:
    elements that leave the plot. `touching`: texts that lie on each other."""
    title: str
    box: list
    marks: int
    overflow: list
    touching: list


@dataclasses.dataclass(frozen=True)
class Page:
    """`colours`: of the text and behind it, as (red, green, blue)."""
    plots: list
    width: int
    height: int
    colours: list
    picture: pathlib.Path


def program():
    """Returns the browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def colour(text):
    return tuple(map(int, re.findall(r"\d+", text)[:3]))


class Browser:
    def __init__(self, folder):
        self.folder = folder

    def run(self, path, is_dark, size, *options):
        # Chromium has no sandbox as root, and no /dev/shm in small containers.
        return subprocess.run(
            [program(), "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
             f"--user-data-dir={self.folder / 'profile'}",
             f"--window-size={WIDTH},{size}",
             f"--blink-settings=preferredColorScheme={int(not is_dark)}",
             *options, path.as_uri()],
            capture_output=True, text=True, timeout=LIMIT_S, check=True,
            env={**os.environ, "HOME": str(self.folder)}).stdout

    def open(self, path, is_dark=False):
        measured = self.folder / f"measured-{path.name}"
        text = path.read_text()
        end = text.rindex("</body>")
        measured.write_text(text[:end] + SCRIPT + text[end:])
        tree = self.run(measured, is_dark, 900, "--dump-dom")
        found = json.loads(html_text(re.search(
            r'<pre id="result"[^>]*>(.*?)</pre>', tree, re.S)[1]))
        scheme = "dark" if is_dark else "light"
        picture = self.folder / f"{path.stem}-{scheme}.png"
        self.run(path, is_dark, found["height"], f"--screenshot={picture}")
        return Page([DrawnPlot(**one) for one in found["plots"]],
                    found["width"], found["height"],
                    [colour(one) for one in found["colours"]], picture)


def html_text(text):
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
