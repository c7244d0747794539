"""Points in a browser: what do a file, its first picture, a drag and a hover cost, by size?

Ours in three and in two dimensions, next to plotly's scatter3d and deck.gl's point cloud, in the
same Chromium with software rendering, on a canvas and with points of the same size. Points lie in
24 groups, which colour them, and have a title of a few words; the page of ours holds both maps and
a column of numbers besides. While it moves, ours draws a fair sample, which is told.

plotly and deck.gl come from the packages plotly and pydeck, where those are installed:

    pip install playwright plotly pydeck
    python benchmarks/run.py explorer
"""

from __future__ import annotations

import argparse
import base64
import json
import math
import tempfile
import time
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import browser, common
from isotherm import Explorer
from isotherm.viewer.container import gzipped

SIZES = (10_000, 100_000, 1_000_000)
MILLION = 1_000_000
SECONDS, BYTES = 20.0, 40.0
LIMIT = 60.0  # CPU seconds for a picture, and for an answer
N_GROUPS = 24
LEVELS = (1, 3, 4, 6, 9)
PEERS = ("plotly", "pydeck")
WORDS = (
    "matrix vector kernel filter window signal sample series random normal sparse linear cubic "
    "spline fourier wavelet gradient solver mesh graph cluster topic token parser socket thread"
).split()
CANVAS = (1000, 760)  # of a rival where ours could not be measured


class Corpus(NamedTuple):
    """Places (I, 3) and (I, 2), group (I,), number (I,) and title of each point."""

    solid: Any
    flat: Any
    groups: Any
    numbers: Any
    titles: list[str]


def corpus(n_points: int, seed: int = common.SEED) -> Corpus:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(N_GROUPS, 3))
    groups = rng.integers(0, N_GROUPS, n_points)
    solid = centres[groups] + 0.3 * rng.normal(size=(n_points, 3))
    flat = solid[:, :2] + 0.2 * rng.normal(size=(n_points, 2))
    numbers = rng.lognormal(3.0, 1.0, n_points)
    words = np.array(WORDS, dtype=object)[rng.integers(0, len(WORDS), (n_points, 2))]
    titles = [f"{a} {b} {i}" for i, (a, b) in enumerate(words.tolist())]
    return Corpus(solid, flat, groups, numbers, titles)


def diameter(n_points: int, canvas: tuple[float, float]) -> float:
    """The size in pixels that points of our page have when all of them are in view."""
    plain = min(10.0, max(1.6, 14.2 - 2.1 * math.log10(n_points)))
    return plain * min(1.7, max(0.62, min(canvas) / 720))


# ---------------------------------------------------------------- pages

# An answer is a title on the screen.
OURS = """() => {
  const told = document.getElementById("tooltip");
  const look = () => {
    const { hover } = isotherm.store.state;
    const title = hover >= 0 && !told.hidden && told.querySelector("strong")?.textContent;
    if (title && /[a-z] [0-9]+$/.test(title)) onlooker.answer(title);
  };
  new MutationObserver(look).observe(told, { attributes: true, childList: true, subtree: true });
}"""


def ours(given: Corpus, path: Path, canvas: tuple[float, float]) -> None:
    names = np.array([f"group {k}" for k in range(N_GROUPS)], dtype=object)
    explorer = Explorer.of_vectors(
        [given.solid, given.flat],
        names=given.titles,
        columns={"group": names[given.groups], "number": given.numbers},
        title="Points in groups",
    )
    explorer.save_html(path)


def plotly(given: Corpus, path: Path, canvas: tuple[float, float]) -> None:
    import plotly.graph_objects as go  # type: ignore[import-not-found, unused-ignore]

    x, y, z = given.solid.astype(np.float32).T
    size = diameter(len(x), canvas)
    marker = {"size": size, "color": given.groups.astype(np.uint8), "colorscale": "Rainbow"}
    trace = go.Scatter3d(x=x, y=y, z=z, mode="markers", text=given.titles, marker=marker)
    trace.update(hoverinfo="text", marker_line_width=0)
    figure = go.Figure(trace)
    figure.update_layout(width=canvas[0], height=canvas[1], margin=dict.fromkeys("lrtb", 0))
    watch = "document.getElementById('{plot_id}').id = 'plot';"
    figure.write_html(path, include_plotlyjs=True, post_script=watch)


PLOTLY = """() => document.getElementById("plot").on("plotly_hover",
  (event) => onlooker.answer(event.points[0].text))"""
DECK = """<!doctype html><meta charset="utf-8"><title>Points in groups</title>
<style>body {{ margin: 0; }} #plot {{ position: relative; width: {0}px; height: {1}px; }}</style>
<div id="plot"></div><script>{2}</script><script id="data" type="text/plain">{3}</script><script>
const text = atob(document.getElementById("data").textContent);
const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
const [length, titles] = [{4}, {5}];
const positions = new Float32Array(bytes.buffer, 0, 3 * length);
const colours = new Uint8Array(bytes.buffer, 12 * length, 3 * length);
const layer = new deck.PointCloudLayer({{
  id: "points", pickable: true, pointSize: {6}, sizeUnits: "pixels", material: false,
  coordinateSystem: deck.COORDINATE_SYSTEM.CARTESIAN,
  data: {{ length, attributes: {{
    getPosition: {{ value: positions, size: 3 }},
    getColor: {{ value: colours, size: 3, normalized: true }} }} }},
  onHover: ({{ index }}) => {{ if (index >= 0) window.told?.(titles[index]); }},
}});
window.shown = new deck.Deck({{
  parent: document.getElementById("plot"), width: {0}, height: {1}, controller: true,
  views: new deck.OrbitView({{ orbitAxis: "Y" }}), layers: [layer],
  initialViewState: {{ target: [0, 0, 0], rotationX: 25, rotationOrbit: 30, zoom: {7} }},
  getTooltip: ({{ index }}) => (index >= 0 ? {{ text: titles[index] }} : null),
}});
</script>
"""


def deck(given: Corpus, path: Path, canvas: tuple[float, float]) -> None:
    found = find_spec("pydeck")  # only its data are needed, not what it imports
    folder = Path(found.submodule_search_locations[0])  # type: ignore[index, union-attr]
    bundle = folder / "nbextension" / "static" / "index.js"
    script = bundle.read_text(encoding="utf-8").replace("</script", "<\\/script")
    palette = np.random.default_rng(1).integers(0, 256, (N_GROUPS, 3)).astype(np.uint8)
    palette[:, 0], palette[:, 1] = np.maximum(palette[:, 0], 150), palette[:, 1] // 2
    data = given.solid.astype("<f4").tobytes() + palette[given.groups].tobytes()
    radius = diameter(len(given.titles), canvas) / 2
    zoom = math.log2(0.9 * min(canvas) / np.ptp(given.solid, axis=0).max())
    blob = base64.b64encode(data).decode()
    titles = json.dumps(given.titles)
    inside = (*canvas, script, blob, len(given.titles), titles, radius, zoom)
    path.write_text(DECK.format(*inside), encoding="utf-8")


class Kind(NamedTuple):
    """A row of the table."""

    name: str
    write: Callable[[Corpus, Path, tuple[float, float]], None]
    package: str | None  # that it comes from
    hash: str
    element: str
    ready: str
    watch: str

    def page(self, path: Path) -> browser.Page:
        return browser.Page(path, self.hash, self.element, self.ready, self.watch)


KINDS = (
    Kind("isotherm 3-D", ours, None, "", "#map", "window.isotherm", OURS),
    Kind("isotherm 2-D", ours, None, "#map=1", "#map", "window.isotherm", OURS),
    Kind("plotly scatter3d", plotly, "plotly", "", "#plot", "window.plot?._fullLayout", PLOTLY),
    Kind(
        "deck.gl", deck, "pydeck", "", "#plot", "window.shown", "() => { told = onlooker.answer; }"
    ),
)


# ---------------------------------------------------------------- the table


def row(kind: Kind, given: Corpus, folder: Path, limit: float, canvas: Any) -> dict[str, Any]:
    """Everything measured of one page."""
    path = folder / f"{kind.name.split()[0]}.html"
    begin = time.perf_counter()
    kind.write(given, path, canvas)
    seconds = time.perf_counter() - begin
    n, size = len(given.titles), path.stat().st_size
    found = browser.measured_apart(kind.page(path), limit)
    return {"page": kind.name, "points": n, "write_s": seconds, "bytes": size, **found}


def told(found: dict[str, Any], limit: float) -> dict[str, Any]:
    """A row as it is printed."""
    none = found.get("error") or f"none in {limit:.0f} CPU s"
    both = f"{found['first_cpu']:.1f} ({found['first_s']:.1f})" if "first_cpu" in found else none
    answer = (
        f"{found['answer_cpu']:.1f} ({found['answer_s']:.1f})" if "answer_cpu" in found else None
    )
    drawn = min(found["drawn"], found["points"]) if "drawn" in found else None
    hovers = found.get("hovers")
    return {
        "page": found["page"],
        "points": found["points"],
        "write, s": found.get("write_s"),
        "file, MB": found["bytes"] / 1e6 if "bytes" in found else None,
        "first picture, CPU s (s)": both,
        "first answer, CPU s (s)": answer,
        "frame, CPU ms": found.get("frame_cpu_ms"),
        "frame, ms": found.get("frame_ms"),
        "frames a second": found.get("fps"),
        "points a frame": None if drawn is None else int(drawn),
        "hover, ms": found.get("hover_ms"),
        "answered": f"{found['answers']} of {hovers}" if hovers else None,
    }


def levels(given: Corpus) -> list[dict[str, Any]]:
    """Time and size of the same bytes at several levels of compression."""
    explorer = Explorer.of_vectors([given.solid, given.flat], names=given.titles)
    raws = [zlib.decompress(block, wbits=31) for block in explorer.parts().values()]
    rows = []
    for level in LEVELS:
        begin = time.perf_counter()
        size = sum(len(gzipped(raw, level)) for raw in raws)
        seconds = time.perf_counter() - begin
        rows.append({"level of gzip": level, "s": seconds, "MB": size / 1e6})
    return rows


def measured(sizes: list[int], names: list[str], limit: float) -> list[dict[str, Any]]:
    rows = []
    canvas = CANVAS
    for n in sizes:
        given = corpus(n)
        for kind in KINDS:
            if not any(kind.name.startswith(name) for name in names):
                continue
            if kind.package and find_spec(kind.package) is None:
                error = f"the package {kind.package} is not installed"
                rows.append({"page": kind.name, "points": n, "error": error})
            else:
                with tempfile.TemporaryDirectory() as folder:
                    rows.append(row(kind, given, Path(folder), limit, canvas))
                if kind.package is None and "width" in rows[-1]:
                    canvas = (rows[-1]["width"], rows[-1]["height"])
            print(json.dumps(told(rows[-1], limit)), flush=True)
    return rows


def targets_of(rows: list[dict[str, Any]]) -> list[common.Target]:
    """What has to hold at a million points."""
    targets = []
    for found in rows:
        if found["points"] < MILLION or not found["page"].startswith("isotherm"):
            continue
        name, n = found["page"], found["points"]
        if name.endswith("3-D"):
            seconds, size = found["write_s"], found["bytes"] / n
            targets += [
                common.Target("seconds from arrays to a file", seconds, high=SECONDS),
                common.Target("bytes of the file a point", size, high=BYTES),
            ]
        first = found.get("answer_s", math.inf)
        targets += [
            common.Target(f"{name}: seconds to the first answer", first, high=LIMIT),
            common.Target(f"{name}: hovers answered", found.get("answers", 0), low=1),
        ]
    return targets


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--pages", nargs="+", default=["isotherm", "plotly", "deck.gl"])
    parser.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds for a picture")
    parser.add_argument("--levels", action="store_true", help="compare levels of compression")
    options = parser.parse_args()
    info = common.machine()
    info["packages"] |= {name: common._version(name) for name in (*PEERS, "playwright")}
    common.print_machine(info)
    if options.levels:
        compressed = levels(corpus(max(options.sizes)))
        common.print_table(compressed, "Compression")
        common.write_results("explorer_levels", info, levels=compressed)
        return
    lacking = browser.missing()
    if lacking:
        common.lacks(lacking)
    rows = measured(options.sizes, options.pages, options.limit)
    common.print_table([told(found, options.limit) for found in rows], "Pages")
    targets = targets_of(rows)
    if targets:
        common.print_targets(targets)
    common.write_results("explorer", info, rows=rows, targets=[target.row() for target in targets])


if __name__ == "__main__":
    main()
