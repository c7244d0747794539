"""Places and columns of documents in the few bytes that a page can hold of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.estimators.fitted import typical_rows
from isotherm.models.grid import margin
from isotherm.viewer.format import (
    NONE_8,
    NONE_16,
    NONE_32,
    SHARE_STEPS,
    STEPS,
    CategoryColumn,
    Column,
    MapMeta,
    NumberColumn,
)

# More categories than this cannot be told apart in a legend: the rarest share one.
MOST_CATEGORIES = 500
OTHERS = "all others"
# Days of a year, on the mean, and the year that dates are counted from.
DAYS, EPOCH = 365.2425, 1970


class Place(NamedTuple):
    """A map of I documents as it is shown: places, and what the map itself consists of.

    Attributes
    ----------
    name : str
    coordinates : (I, L)
        NaN where a document has no place.
    low, high : (L,)
        Corners of the box that is shown.
    topics : (K, L), or None
    nodes : (N, L), or None
    magnification : (N,), or None
    grid : tuple of int, or None
    """

    name: str
    coordinates: Array
    low: Array
    high: Array
    topics: Array | None = None
    nodes: Array | None = None
    magnification: Array | None = None
    grid: tuple[int, ...] | None = None


def framed(coordinates: Array) -> tuple[Array, Array]:
    """Corners of the smallest cube around all places: no axis is stretched against another."""
    known = coordinates[np.isfinite(coordinates).all(axis=1)]
    if not len(known):
        raise IsothermError("no row has finite coordinates; give places of at least one row")
    low, high = known.min(axis=0).astype(np.float64), known.max(axis=0).astype(np.float64)
    half = float((high - low).max()) / 2 or 1.0
    middle = (low + high) / 2
    return middle - half, middle + half


def around(shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Corners of the cube that has all places of a map with so many nodes along each axis."""
    high = np.full(len(shape), 1.0 + margin(shape).max())
    return -high, high


def map_meta(place: Place) -> MapMeta:
    """What the page is told of a map."""
    lost = ~np.isfinite(place.coordinates).all(axis=1)
    return {
        "name": place.name,
        "dimensions": place.coordinates.shape[1],
        "grid": None if place.grid is None else [*place.grid],
        "empty": int(lost.sum()),
    }


def map_arrays(number: int, place: Place) -> dict[str, Array]:
    """Arrays of a map, by name."""
    arrays = {f"map{number}.places": quantised_places(place, place.coordinates)}
    for name, values in (("topics", place.topics), ("nodes", place.nodes)):
        if values is not None:
            inside = (values - place.low) / (place.high - place.low)
            arrays[f"map{number}.{name}"] = inside.astype(np.float32)
    if place.magnification is not None:
        arrays[f"map{number}.magnification"] = place.magnification.astype(np.float32)
    return arrays


def quantised_places(place: Place, coordinates: Array) -> Array:
    """Places (I, L) in steps of the box of a map, (I, L) u2; all NONE_16 where there is none."""
    known = np.asarray(np.isfinite(coordinates).all(axis=1))
    span = place.high - place.low
    inside = np.clip((np.where(known[:, None], coordinates, place.low) - place.low) / span, 0, 1)
    steps: Array = np.rint(inside * STEPS).astype(np.uint16)
    steps[~known] = NONE_16
    return steps


def codes(values: Array, number: int) -> Array:
    """Codes 0..number - 1 in the fewest bytes, with room for one more that says "none"."""
    return values.astype(np.uint8 if number <= NONE_8 else np.uint16)


# Columns -----------------------------------------------------------------------------------------


def columns_of(columns: Mapping[str, object], n_rows: int) -> tuple[list[Column], dict[str, Array]]:
    """What the page is told of the columns, and their arrays by name.

    Parameters
    ----------
    columns : mapping of name to I values
        Numbers and dates are continuous, all else are categories. None and NaN are missing.
    n_rows : int
    """
    metas: list[Column] = []
    arrays: dict[str, Array] = {}
    for name, given in columns.items():
        check_length(f"column {name!r}", given, n_rows)
        numbers = _numbers(given)
        meta, codes_of = (
            _categories(str(name), given) if numbers is None else _quantities(str(name), numbers)
        )
        arrays[f"column{len(metas)}"] = codes_of
        metas.append(meta)
    return metas, arrays


def _numbers(given: Any) -> Array | None:
    """The values as float64, dates as years; None where they are anything else."""
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    values = given if isinstance(given, np.ndarray) else None
    if values is None:
        kinds = set(map(type, given)) - {type(None)}
        if not all(issubclass(kind, int | float | np.number) for kind in kinds) or not kinds:
            return None
        if kinds & {bool, np.bool_}:
            return None
        return np.array([math.nan if value is None else value for value in given], np.float64)
    if values.ndim != 1:
        raise IsothermError(f"a column has shape {values.shape}; it must have one axis")
    if values.dtype.kind == "M":
        days = values.astype("datetime64[s]").astype(np.float64) / 86400
        return np.where(np.isnat(values), math.nan, EPOCH + days / DAYS)
    if values.dtype.kind in "iuf":
        return values.astype(np.float64)
    return _numbers(values.tolist()) if values.dtype.kind == "O" else None


def _quantities(name: str, values: Array) -> tuple[NumberColumn, Array]:
    known = np.isfinite(values)
    low = float(values[known].min()) if known.any() else 0.0
    high = float(values[known].max()) if known.any() else 0.0
    # Divided before it is subtracted: the difference of two finite numbers may not be.
    span = high / 2 - low / 2
    share = (np.where(known, values, low) / 2 - low / 2) / (span or 1.0)
    steps = np.where(known, np.rint(share * STEPS), NONE_16).astype(np.uint16)
    missing = int((~known).sum())
    return {"name": name, "kind": "number", "low": low, "high": high, "missing": missing}, steps


def _categories(name: str, given: Any) -> tuple[CategoryColumn, Array]:
    """Categories, most frequent first, and the code of each value."""
    values = given.tolist() if hasattr(given, "tolist") else given
    seen: dict[str | None, int] = {}
    found = np.fromiter(
        (seen.setdefault(category(value), len(seen)) for value in values), np.int64, len(values)
    )
    sizes = np.bincount(found, minlength=len(seen))
    missing = int(sizes[seen[None]]) if None in seen else 0
    there = [one for one in seen if one is not None]
    order = sorted(there, key=lambda one: (-sizes[seen[one]], one))
    few = order[:MOST_CATEGORIES]
    kept = [*few, OTHERS] if len(order) > len(few) else few
    number = np.full(len(seen), len(few))
    number[[seen[one] for one in few]] = np.arange(len(few))
    result = codes(number[found], len(kept))
    if missing:
        result[found == seen[None]] = np.iinfo(result.dtype).max
    return {"name": name, "kind": "category", "categories": kept, "missing": missing}, result


def category(value: object) -> str | None:
    """A category as text; None where there is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if isinstance(value, str) else str(value)


# Documents ---------------------------------------------------------------------------------------


def shares(weights: Array, most: int = 3) -> dict[str, Array]:
    """The strongest topics (I, 3) of each document, and their shares in 255 steps."""
    width = min(most, weights.shape[1])
    if weights.shape[1] > width:
        best = np.argpartition(-weights, width - 1, axis=1)[:, :width]
    else:
        best = np.tile(np.arange(width), (len(weights), 1))
    amount = np.take_along_axis(weights, best, axis=1)
    # Of equal shares the lower number comes first, as in `argmax`.
    order = np.lexsort((best, -amount), axis=1)
    best, amount = (np.take_along_axis(side, order, axis=1) for side in (best, amount))
    empty = ((0, 0), (0, most - width))
    return {
        "shares.topic": codes(np.pad(best, empty), weights.shape[1]),
        "shares.weight": np.pad(np.rint(SHARE_STEPS * amount), empty).astype(np.uint8),
    }


def typical(weights: Array, mass: Array, most: int = 50, least: float = 0.1) -> Array:
    """Documents that show best what each topic is about, (K, most) u4; the largest value is none.

    Pure ones and long ones; a topic has no more than those in which it has the share `least`.
    """
    found = np.full((weights.shape[1], most), NONE_32, np.uint32)
    for k, share in enumerate(weights.T):
        best = typical_rows(share, mass, most, least)
        found[k, : len(best)] = best
    return found


def texts_of(what: str, values: Sequence[object] | None, n_rows: int) -> list[str] | None:
    """One text for each row, or None."""
    if values is None:
        return None
    check_length(what, values, n_rows)
    return list(map(str, values))


def check_length(what: str, values: Any, n_rows: int) -> None:
    """Refuse anything but a sequence with an entry for each row."""
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise IsothermError(
            f"{what} is of type {type(values).__name__}; give a sequence of {n_rows} entries, one "
            "for each row"
        )
    if len(values) != n_rows:
        raise IsothermError(
            f"{what} has {len(values)} entries for {n_rows} rows; give one for each row"
        )
