"""A million points as one page: how long does it take to write, and how many bytes is a point?

Points with places in two and three dimensions, a category of 24 that goes with the place, a number
and a short title of words and a number: what a page of a large corpus holds. The whole way is
timed, from arrays and a list of strings to a file that is on the disk. Then the same bytes are
compressed at several levels, each once: the library's level is chosen by this table.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import _common as common
from isotherm import Explorer
from isotherm.viewer import page
from isotherm.viewer.container import gzipped

POINTS = 1_000_000
SECONDS, BYTES = 20.0, 40.0
N_GROUPS = 24
LEVELS = (1, 3, 4, 6, 9)
WORDS = (
    "matrix vector kernel filter window signal sample series random normal sparse linear cubic "
    "spline fourier wavelet gradient solver mesh graph cluster topic token parser socket thread"
).split()


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
    names = np.array([f"group {k}" for k in range(N_GROUPS)], dtype=object)
    return Corpus(solid, flat, names[groups], numbers, titles)


def written(given: Corpus, path: Path) -> dict[str, Any]:
    """Seconds to make the explorer and to write it, and what of the file a point takes."""
    begin = time.perf_counter()
    explorer = Explorer.of_vectors(
        [given.solid, given.flat],
        names=given.titles,
        columns={"group": given.groups, "number": given.numbers},
        title="A million points",
    )
    made = time.perf_counter()
    explorer.save_html(path)
    end = time.perf_counter()
    size = path.stat().st_size
    return {
        "points": len(given.titles),
        "quantising, s": made - begin,
        "packing and writing, s": end - made,
        "in all, s": end - begin,
        "file, MB": size / 1e6,
        "bytes a point": size / len(given.titles),
        "of these the page itself": len(page.page(None, "")) / len(given.titles),
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=POINTS)
    options = parser.parse_args()
    info = common.machine()
    common.print_machine(info)
    given = corpus(options.points)
    with tempfile.TemporaryDirectory() as folder:
        found = written(given, Path(folder) / "page.html")
    common.print_table([found])
    compressed = levels(given)
    common.print_table(compressed, "Compression")
    targets = [
        common.Target("seconds from arrays to a file", found["in all, s"], high=SECONDS),
        common.Target("bytes of the file a point", found["bytes a point"], high=BYTES),
    ]
    common.print_targets(targets)
    rows = [target.row() for target in targets]
    common.write_results("explorer_file", info, found=found, levels=compressed, targets=rows)


if __name__ == "__main__":
    main()
