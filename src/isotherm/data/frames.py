"""Data frames of any library, read as plain arrays; and frames of pandas made of columns.

The only place that imports narwhals, which understands pandas, polars, pyarrow and others, and
pandas, for whoever asks for a frame.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isotherm._types import Fields
from isotherm.data.convert import numbers
from isotherm.errors import IsothermError


class Wide(NamedTuple):
    """A frame with one column per column of counts: values (I, J) and its labels."""

    values: NDArray[np.float64]
    row_names: list[object] | None
    column_names: list[object]


class Long(NamedTuple):
    """A frame with one line per pair: parallel lists, and counts or None."""

    rows: list[object]
    columns: list[object]
    counts: NDArray[np.float64] | None


def is_frame(X: object) -> bool:
    """Whether X looks like a data frame; asks its type, as a lazy frame may warn if asked."""
    return hasattr(type(X), "columns")


def read_wide(X: object) -> Wide:
    """Values, row labels and column names of a wide frame.

    The index of a pandas frame gives the row labels unless it merely numbers the rows.
    """
    frame, index = _open(X)
    names = list(frame.columns)
    values = np.empty((len(frame), len(names)))
    for j, (name, column) in enumerate(zip(names, frame.iter_columns(), strict=True)):
        if column.null_count():
            at = int(np.flatnonzero(column.is_null().to_numpy())[0])
            raise IsothermError(
                f"Input X contains NaN: column {name!r} has a missing value at row {at}; counts "
                "are finite numbers >= 0. Put 0 where nothing was counted."
            )
        what = f"column {name!r} (a wide frame; for one line per pair use Counts.from_frame)"
        values[:, j] = numbers(column.to_numpy(), what)
    return Wide(values, _labels(index), names)


def row_labels(X: object) -> list[object] | None:
    """Row labels of a pandas frame as in `read_wide`, None for anything else."""
    index = getattr(X, "index", None) if is_frame(X) else None
    # Other things have a method of that name.
    return None if callable(index) else _labels(index)


def _labels(index: Any) -> list[object] | None:
    return None if index is None or _is_default(index) else list(index)


def read_long(X: object, row: str, column: str, count: str | None) -> Long:
    """The columns of a long frame that hold row labels, column labels and counts."""
    frame, _ = _open(X)
    for role, name in (("row", row), ("column", column), ("count", count)):
        if name is not None and name not in frame.columns:
            raise IsothermError(
                f"{role}={name!r} is not a column of the frame; its columns are "
                f"{_few(list(frame.columns))}. Name one of them.",
                parameter=role,
            )
    counts = None if count is None else numbers(frame.get_column(count).to_numpy())
    return Long(frame.get_column(row).to_list(), frame.get_column(column).to_list(), counts)


def read_rows(X: object) -> Iterator[Fields]:
    """The rows of a frame, each as a mapping from names of columns to values."""
    frame, _ = _open(X)
    rows: Iterator[dict[str, object]] = frame.iter_rows(named=True)
    return rows


def pandas_frame(columns: Mapping[str, object]) -> Any:
    """Frame of pandas with columns in order: lists, or arrays; whole numbers may be missing."""
    try:
        import pandas as pd
    except ImportError as error:
        raise IsothermError(
            "frames are made by pandas, which is not installed: pip install pandas; or write the "
            "table to a file by export()"
        ) from error
    return pd.DataFrame(
        {
            name: pd.array(values, dtype="Int64") if _whole_or_missing(values) else values
            for name, values in columns.items()
        }
    )


def _whole_or_missing(values: object) -> bool:
    """Whether it is a list of integers, some of which are None."""
    if not isinstance(values, list):
        return False
    return {type(one) for one in values} <= {int, type(None)} and len(values) > 0


def _open(X: Any) -> tuple[Any, object]:
    """Narwhals frame in memory, and the pandas index or None."""
    try:
        import narwhals as nw
    except ImportError as error:
        raise IsothermError(
            f"Reading a {type(X).__name__} needs the package narwhals, which is not installed: "
            "pip install narwhals (scikit-learn 1.9 and later brings it)."
        ) from error
    try:
        frame = nw.from_native(X)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        _ = frame.columns
    except TypeError as error:
        raise IsothermError(
            f"X is a {type(X).__name__}, which is no data frame that narwhals understands; "
            "use pandas, polars or pyarrow, a matrix, or Counts.from_pairs."
        ) from error
    except ValueError as error:
        raise IsothermError(
            f"The frame cannot be read: {error}. Names of columns must differ."
        ) from error
    return frame, nw.maybe_get_index(frame)


def _is_default(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _few(names: list[object], limit: int = 10) -> str:
    shown = ", ".join(repr(name) for name in names[:limit])
    return shown if len(names) <= limit else f"{shown}, ... ({len(names)} in all)"
