"""Figures of maps: the points with their classes and topics, and how the map is stretched.

As in `isotherm.plots`, nothing here shows a window or touches pyplot: every function returns a
matplotlib Figure.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isotherm._types import Fields
from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.gtm import GTM
from isotherm.maps.corpus import CorpusMap
from isotherm.maps.workflow import MappedCorpus
from isotherm.plots._style import BLUE, FAINT, INK, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["magnification", "map_points"]

# One entry per point, in whatever comes to hand.
Entries = Sequence[object] | Array

# Okabe and Ito's palette without black; where it ends, it begins again with another marker.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7a00")
MARKERS = ("o", "^", "s", "D", "v")
OTHER, UNLABELLED = "all others", "no label"

# Where a name may stand, seen from its place: rings, of more and more points, all around.
RINGS, ANGLES = (4, 10, 18, 28, 40, 56, 76, 100, 130), 16
# Room around a name, and size of the mark at its place, in points.
PAD, PLUS = 1.5, 7.0
N_NAME_WORDS = 3


class Points(NamedTuple):
    """Places (I, L), the class of each (or None), and names of topics with their places."""

    places: Array
    labels: Entries | None
    names: list[str]
    anchors: Array


class Group(NamedTuple):
    """Points of one class: name, which of them, colour and marker."""

    name: str
    rows: Array
    colour: str
    marker: str


def map_points(
    source: CorpusMap | MappedCorpus | Array,
    labels: Entries | None = None,
    *,
    topic_names: bool = True,
    view: tuple[float, float] = (22.0, -60.0),
    figure: Figure | None = None,
) -> Figure:
    """Figure of the points of a map in two or three dimensions, coloured by class.

    Points without a place (empty documents) are left out. Classes are told apart by colour and,
    beyond seven, by marker as well; beyond 35 the smallest share one grey.

    Parameters
    ----------
    source : CorpusMap, MappedCorpus, or places (I, L), such as `GTM.transform` gives
    labels : sequence of length I, optional
        Class of each point; by default the labels of the map. None, for one point, is no class.
    topic_names : bool
        Write the first words of each topic where the topic lies (corpus maps only).
    view : (float, float)
        Elevation and azimuth of the eye in degrees, in three dimensions.
    figure : matplotlib Figure, optional
        Draw into this (empty) figure instead of a new one.

    Returns
    -------
    matplotlib.figure.Figure
    """
    points = _points(source, labels)
    n_axes = points.places.shape[1]
    groups = _groups(points)
    if figure is None:
        figure = new_figure(_size(groups, 5.6 if n_axes == 2 else 6.4))
    if n_axes == 3:
        ax: Any = figure.add_subplot(projection="3d", elev=view[0], azim=view[1])
        _box(ax, points)
    else:
        ax = figure.add_subplot()
        _square(ax, points)
    _scatter(ax, points.places, groups)
    _legend(figure, groups)
    if topic_names and points.names:
        _write_names(figure, ax, points)
    return figure


def magnification(
    source: CorpusMap | MappedCorpus | GTM,
    places: Array | None = None,
    labels: Entries | None = None,
    *,
    figure: Figure | None = None,
) -> Figure:
    """Figure of how a two-dimensional map is stretched, with the points on top.

    Dark bands are where the map is stretched most, light areas where it is not: borders and
    clusters.

    Parameters
    ----------
    source : CorpusMap, MappedCorpus, or fitted GTM
    places : (I, 2), optional
        Points to draw; by default the documents of a corpus map.
    labels : sequence of length I, optional
        Class of each point; by default the labels of a corpus map.
    figure : matplotlib Figure, optional
        Draw into this (empty) figure instead of a new one.

    Returns
    -------
    matplotlib.figure.Figure
    """
    field, shape = _field(source)
    points = None
    if places is not None or not isinstance(source, GTM):
        points = _points(source if places is None else places, labels)
        if points.places.shape[1] != 2:
            raise IsothermError(
                f"places have {points.places.shape[1]} columns; a map of two dimensions has two"
            )
    elif labels is not None:
        raise IsothermError("labels without places; give places=gtm.transform(X) as well")
    groups = [] if points is None else _groups(points)
    if figure is None:
        figure = new_figure(_size(groups, 5.6, bar=True))
    ax = figure.add_subplot()
    axes = [np.linspace(-1.0, 1.0, n) for n in shape]
    low, span = float(field.min()), float(np.ptp(field)) or 1.0
    grey = ax.pcolormesh(
        axes[0], axes[1], field.reshape(shape).T, shading="gouraud", cmap="Greys",
        vmin=low, vmax=low + 1.4 * span,
    )  # fmt: skip
    grey.set_rasterized(True)  # in a vector file it would be thousands of triangles
    _square(ax, points)
    if points is not None:
        _scatter(ax, points.places, groups, edge=0.4)
    bar = figure.colorbar(grey, ax=ax, location="bottom", shrink=0.6, aspect=40, pad=0.02)
    bar.ax.set_xlim(low, low + span)  # the darkest greys would hide the points
    bar.set_label("magnification, powers of ten over its median", color=INK, fontsize=9)
    bar.ax.tick_params(labelsize=8, color=FAINT, labelcolor=INK)
    bar.outline.set_edgecolor(FAINT)
    _legend(figure, groups)
    return figure


# What is drawn --------------------------------------------------------------------------------


def _points(source: object, labels: Entries | None) -> Points:
    found = source.map if isinstance(source, MappedCorpus) else source
    names: list[str] = []
    anchors = np.empty((0, 2))
    if isinstance(found, CorpusMap):
        places = found.coordinates
        labels = found.labels if labels is None else labels
        names = [" ".join(words[:N_NAME_WORDS]) for words in found.top_words]
        if isinstance(source, MappedCorpus):
            names = list(getattr(source.topics, "names_", names))
        anchors = found.topic_coordinates
    else:
        places = np.asarray(found)
    if places.ndim != 2 or places.shape[1] not in (2, 3) or places.dtype.kind not in "fiu":
        raise IsothermError(
            f"got {type(source).__name__} of shape {places.shape}; give a corpus map or places "
            "(I, L) of numbers, in two or three dimensions"
        )
    if labels is not None and len(labels) != len(places):
        raise IsothermError(
            f"labels has {len(labels)} entries for {len(places)} points; give one for each"
        )
    return Points(places.astype(np.float64), labels, names, anchors)


def _groups(points: Points) -> list[Group]:
    """Classes from the most frequent to the rarest, so that rare ones are drawn on top."""
    placed = np.isfinite(points.places).all(axis=1)
    if points.labels is None:
        return [Group("", np.flatnonzero(placed), BLUE, MARKERS[0])]
    given = np.array([UNLABELLED if one is None else str(one) for one in points.labels], object)
    counted = Counter(given[placed].tolist())
    unlabelled = counted.pop(UNLABELLED, 0)
    names = [name for name, _ in counted.most_common()]
    looks = list(itertools.product(MARKERS, PALETTE))
    shown = names if len(names) <= len(looks) else names[: len(looks) - 1]
    grey = (
        [Group(OTHER, np.isin(given, names[len(shown) :]), FAINT, "o")]
        if names[len(shown) :]
        else []
    )
    if unlabelled:
        grey.append(Group(UNLABELLED, given == UNLABELLED, FAINT, "."))
    coloured = [
        Group(name, given == name, colour, marker)
        for name, (marker, colour) in zip(shown, looks, strict=False)
    ]
    return [one._replace(rows=np.flatnonzero(one.rows & placed)) for one in grey + coloured]


def _field(source: object) -> tuple[Array, tuple[int, ...]]:
    """Logarithm of the magnification over its median at the nodes (N,), and the grid's shape."""
    found = source.map if isinstance(source, MappedCorpus) else source
    if isinstance(found, CorpusMap):
        values, shape = found.magnification, found.grid_shape
    elif isinstance(found, GTM) and hasattr(found, "trace_"):
        values, shape = found.magnification(), found.grid_.shape
    else:
        raise IsothermError(f"got {type(source).__name__}; give a corpus map or a fitted GTM")
    if len(shape) != 2:
        raise IsothermError(
            f"this map has {len(shape)} dimensions; magnification is drawn of maps of two"
        )
    values = np.maximum(values, 1e-12 * max(float(values.max()), 1e-300))
    return np.log10(values / np.median(values)), shape


# How it is drawn ------------------------------------------------------------------------------


def _size(groups: list[Group], side: float, *, bar: bool = False) -> tuple[float, float]:
    """Size of the figure in inches, with room for the legend beside it."""
    longest = max((len(group.name) for group in groups), default=0)
    wide = side + (0.5 + 0.075 * min(longest, 40) if longest else 0.0)
    high = max(side + (0.6 if bar else 0.0), 0.4 + 0.19 * len(groups))
    return wide, high


def _reach(points: Points | None, least: float) -> float:
    """How far the axes go: all of [-1, 1], and what lies beyond it."""
    if points is None:
        return least
    drawn = np.abs(np.concatenate([points.places.ravel(), points.anchors.ravel()]))
    return max(least, 1.02 * float(drawn.max(initial=0.0, where=np.isfinite(drawn))))


def _square(ax: Axes, points: Points | None) -> None:
    side = _reach(points, 1.06)
    ax.set(xlim=(-side, side), ylim=(-side, side), aspect="equal", xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_color(FAINT)


def _box(ax: Any, points: Points) -> None:
    """Walls of a box, without numbers: coordinates of a map have no unit."""
    side = _reach(points, 1.0)
    ax.set(xlim=(-side, side), ylim=(-side, side), zlim=(-side, side))
    ax.set_box_aspect((1, 1, 1), zoom=1.1)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_ticks(np.linspace(-1, 1, 5), labels=[])
        axis.set_pane_color((0.97, 0.97, 0.98, 1.0))
        axis.line.set_color(FAINT)
        axis.set_tick_params(color=FAINT)
    ax.grid(visible=True, color=FAINT, linewidth=0.3)


def _scatter(ax: Any, places: Array, groups: list[Group], edge: float = 0.0) -> None:
    n_points = sum(len(group.rows) for group in groups)
    size = float(np.clip(12_000 / max(n_points, 1), 5.0, 30.0))
    edge = edge if size > 10.0 else 0.0  # small points would be all edge
    for group in groups:
        ax.scatter(
            *places[group.rows].T, s=size, c=group.colour, marker=group.marker, alpha=0.75,
            linewidths=edge, edgecolors="white" if edge else "none", label=group.name,
        )  # fmt: skip


def _legend(figure: Figure, groups: list[Group]) -> None:
    if not any(group.name for group in groups):
        return
    handles, names = figure.axes[0].get_legend_handles_labels()
    # Frequent classes come first, the grey ones last.
    order = sorted(range(len(names)), key=lambda i: groups[i].colour == FAINT)
    legend = figure.legend(
        [handles[i] for i in order],
        [_short(names[i]) for i in order],
        loc="outside right upper",
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        labelspacing=0.35,
        handletextpad=0.2,
    )
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        mark: Any = handle
        mark.set(alpha=1.0, sizes=[36])
        text.set_parse_math(False)  # names are data: a $ in one of them is no mathematics


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


# Names in the map, none over another ----------------------------------------------------------


def _write_names(figure: Figure, ax: Any, points: Points) -> None:
    """Names of the topics next to their places; one for which there is no room is left out."""
    figure.draw_without_rendering()  # sizes are known once the layout is
    flat = _projected(ax, points.anchors)
    ax.plot(
        *points.anchors.T, color=INK, linestyle="none", marker="+", markersize=PLUS,
        markeredgewidth=1.2, zorder=11, label="_topics",
    )  # fmt: skip
    # In points, not in pixels: a figure is saved at any resolution.
    unit = 72.0 / figure.dpi
    frame = ax.get_window_extent().get_points().ravel() * unit
    marks = ax.transData.transform(flat) * unit
    taken = [_rectangle(mark, np.full(2, PLUS / 2.0)) for mark in marks]
    for name, anchor, mark in zip(points.names, flat, marks, strict=True):
        style: Fields = {"fontsize": 8, "color": INK, "parse_math": False, "zorder": 10}
        probe = figure.text(0.0, 0.0, _short(name), **style)
        half = np.array(probe.get_window_extent().size) * unit / 2.0 + PAD
        probe.remove()
        offset = _free(mark, half, taken, frame)
        if offset is not None:
            ax.annotate(
                _short(name), anchor, xytext=offset, textcoords="offset points", ha="center",
                va="center", annotation_clip=False,
                bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.7},
                arrowprops={"arrowstyle": "-", "color": INK, "linewidth": 0.5, "shrinkB": 3},
                **style,
            )  # fmt: skip


def _projected(ax: Any, places: Array) -> Array:
    """Places as the axes draw them, (K, 2)."""
    if places.shape[1] == 2:
        return places
    seen = np.hstack([places, np.ones((len(places), 1))]) @ ax.get_proj().T
    return np.asarray(seen[:, :2] / seen[:, 3:])


def _free(place: Array, half: Array, taken: list[Array], frame: Array) -> Array | None:
    """Offset of a rectangle of that half size that is within the frame and on no other.

    The rectangle that is found joins those that are taken.
    """
    for offset in _offsets(half):
        box = _rectangle(place + offset, half)
        if (box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any():
            continue
        if not any((box[:2] < other[2:]).all() and (other[:2] < box[2:]).all() for other in taken):
            taken.append(box)
            return offset
    return None


def _offsets(half: Array) -> Iterator[Array]:
    """Offsets of a name from its place, near ones first; above it is the first of all."""
    for ring in RINGS:
        for angle in np.linspace(0.0, 2.0 * np.pi, ANGLES, endpoint=False) + np.pi / 2.0:
            way = np.array([np.cos(angle), np.sin(angle)])
            # A name beside its place begins there; one above or below is centred on it.
            yield ring * way + way * half


def _rectangle(centre: Array, half: Array) -> Array:
    return np.concatenate([centre - half, centre + half])
