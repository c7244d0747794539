"""Pictures of the page: curves of quality over time, drawn as SVG by hand, so that they compare."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from benchmarks.page.parts import Document, Row, only

WIDTH, HEIGHT, LEFT, TOP, ACROSS = 330, 220, 52, 30, 2
# Told apart by every kind of colour vision; ours is the first, and the widest line.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#777777")


class Axis:
    """Numbers to places on the picture, by logarithms or as they are."""

    def __init__(self, values: Sequence[float], low: float, high: float, log: bool) -> None:
        self.log, self.low, self.high = log, low, high
        found = [self._at(value) for value in values]
        self.least, self.most = min(found), max(found)

    def _at(self, value: float) -> float:
        return math.log10(max(value, 1e-3)) if self.log else value

    def __call__(self, value: float) -> float:
        """Place of a number."""
        width = self.most - self.least or 1.0
        return self.low + (self._at(value) - self.least) / width * (self.high - self.low)

    def ticks(self) -> list[float]:
        """Powers of ten, or four numbers evenly spread."""
        if self.log:
            powers = range(math.ceil(self.least), math.floor(self.most) + 1)
            return [10.0**power for power in powers]
        return [self.least + (self.most - self.least) * part / 3 for part in range(4)]


def _panel(
    name: str, rows: Sequence[Row], models: Sequence[str], x0: float, y0: float
) -> list[str]:
    floor, right = y0 + HEIGHT - 40, x0 + WIDTH - 12
    across = Axis([row["cpu"] for row in rows], x0 + LEFT, right, log=True)
    # What a fit looks like before it has begun to predict would hide the rest.
    ends = [
        only(rows, model=model)[-1]["perplexity"]
        for model in dict.fromkeys(r["model"] for r in rows)
    ]
    ceiling = min(max(row["perplexity"] for row in rows), 1.25 * sorted(ends)[len(ends) // 2])
    up = Axis([min(row["perplexity"], ceiling) for row in rows], floor, y0 + TOP, log=False)
    parts = [f'<text x="{x0 + LEFT}" y="{y0 + 18}" font-weight="bold">{escape(name)}</text>']
    parts.append(f'<path d="M{x0 + LEFT} {y0 + TOP}V{floor:.1f}H{right:.1f}" class="axis"/>')
    parts += [
        f'<text x="{across(tick):.1f}" y="{floor + 15:.1f}" class="x">{tick:g}</text>'
        for tick in across.ticks()
    ]
    parts += [
        f'<text x="{x0 + LEFT - 6}" y="{up(tick) + 4:.1f}" class="y">{tick:.0f}</text>'
        for tick in up.ticks()
    ]
    for number, model in enumerate(models):
        own = [row for row in only(rows, model=model) if row["perplexity"] <= ceiling]
        if own:
            line = "L".join(f"{across(row['cpu']):.1f} {up(row['perplexity']):.1f}" for row in own)
            wide = 3 if number == 0 else 1.5
            colour = COLOURS[number % len(COLOURS)]
            parts.append(f'<path d="M{line}" stroke="{colour}" stroke-width="{wide}"/>')
            x, y = across(own[-1]["cpu"]), up(own[-1]["perplexity"])
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{wide + 1}" fill="{colour}"/>')
    return parts


def time_to_quality(document: Document) -> str:
    """Perplexity of unseen documents over CPU seconds on one thread, a panel for each corpus."""
    rows = only(document["curves"], threads=1) or list(document["curves"])
    models = list(dict.fromkeys(row["model"] for row in rows))
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    high = HEIGHT * math.ceil(len(corpora) / ACROSS)
    wide, legend = WIDTH * ACROSS, 20 * math.ceil(len(models) / 3) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high + legend}" '
        'font-family="sans-serif" font-size="11">',
        "<style>path{fill:none}.axis{stroke:#888}.x{text-anchor:middle}.y{text-anchor:end}</style>",
        f'<rect width="{wide}" height="{high + legend}" fill="#fff"/>',
    ]
    for number, name in enumerate(corpora):
        x0, y0 = WIDTH * (number % ACROSS), HEIGHT * (number // ACROSS)
        parts += _panel(name, only(rows, corpus=name), models, x0, y0)
    for number, model in enumerate(models):
        x, y = 20 + 220 * (number % 3), high + 16 + 20 * (number // 3)
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<rect x="{x}" y="{y - 9}" width="18" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 24}" y="{y}">{escape(model)}</text>')
    said = "Perplexity of unseen documents over CPU seconds on one thread; a dot is the end"
    parts.append(f'<text x="20" y="{high + legend - 8}">{said}</text>')
    return "\n".join([*parts, "</svg>\n"])


PICTURES = {"time_to_quality": time_to_quality}
