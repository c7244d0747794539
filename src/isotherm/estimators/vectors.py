"""Rows of numbers as a user gives them: read as scikit-learn reads them, or refused plainly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import sparse

from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.data.stored import is_stored
from isotherm.errors import IsothermError

TABLE = (
    "give a table of numbers (rows, columns): an array, a data frame or a list of equally long "
    "rows, with NaN where a value is missing"
)
DOCUMENTS = (
    "to map documents use map_corpus, or make vectors of them first, such as "
    "AspectModel(20).fit_transform(X)"
)
# What scikit-learn says with these words in it says already what to do.
COMPLETE = ("feature", "sample", "contains")


class WrongKindError(IsothermError, TypeError):
    """Input of a kind that is not read; a TypeError too, as scikit-learn's conventions have it."""


def read(given: Any, name: str, reader: Callable[[object], object]) -> Array:
    """A table of numbers (I, D) by a reader of scikit-learn's.

    Masked values become NaN; whatever cannot be read is refused with an IsothermError.
    """
    if hasattr(given, "collect") and not hasattr(given, "__array__"):
        raise WrongKindError(f"{name} is a {type(given).__name__}, not computed yet; use collect()")
    _refuse_counts(given, name)
    if getattr(given, "requires_grad", False):
        given = given.detach()  # numpy refuses tensors that remember how they were made
    if isinstance(given, np.ma.MaskedArray) and given.dtype.kind in "biuf":
        given = np.where(np.ma.getmaskarray(given), np.nan, given.data.astype(np.float64))
    try:
        _refuse_kind(given, name)
        return np.asarray(reader(given))
    except IsothermError:
        raise
    except (TypeError, ValueError, ArithmeticError, RuntimeError) as error:
        raised = WrongKindError if isinstance(error, TypeError) else IsothermError
        text = str(error).strip()
        if any(word in text for word in COMPLETE):
            raise raised(text) from error
        kind = f"{name} is of type {type(given).__name__}"
        said = f"{kind} and cannot be read as a table: {text.rstrip('.')}{_where(given)}"
        raise raised(f"{said}; {TABLE}") from error


def _refuse_counts(given: Any, name: str) -> None:
    """Refuse tables of counts, and whatever stores its zeros nowhere."""
    inner = getattr(given, "counts", None)
    if any(isinstance(one, Counts) or is_stored(one) for one in (given, inner)):
        raise WrongKindError(
            f"{name} is of type {type(given).__name__}, counts and no dense vectors; {DOCUMENTS}"
        )
    kinds = [str(kind) for kind in _types(given)]
    if sparse.issparse(given) or any(kind.startswith("Sparse[") for kind in kinds):
        shape = tuple(map(int, given.shape))
        raise WrongKindError(
            f"{name} is sparse ({type(given).__name__} of shape {shape}) and dense vectors are "
            f"required; {DOCUMENTS}; or give {name}.toarray(), {8e-9 * np.prod(shape):.2g} GB "
            "(of a sparse data frame, frame.sparse.to_dense())"
        )
    if getattr(given, "is_sparse", False) is True:
        raise WrongKindError(
            f"{name} is a sparse tensor and a dense one is required; use to_dense()"
        )


def _refuse_kind(given: Any, name: str) -> None:
    """Refuse numbers that are no measurements: dates, and complex ones."""
    kinds = {getattr(kind, "kind", "") for kind in _types(given)}
    if any(getattr(kind, "is_temporal", bool)() for kind in _types(given)):
        kinds.add("M")  # polars names its types otherwise
    if "c" in kinds:
        raise IsothermError(
            f"Complex data not supported: {name} is of {given.dtype}; give {name}.real, "
            f"abs({name}), or both parts as columns"
        )
    if kinds & set("Mm"):
        raise WrongKindError(
            f"{name} has dates or times, which have no unit to compare with other columns; make "
            "numbers of them first (days since a date, say), or drop these columns"
        )


def _types(given: object) -> list[object]:
    """Types of the numbers of an array, or of each column of a frame; empty for anything else."""
    several, single = (getattr(given, name, None) for name in ("dtypes", "dtype"))
    if single is None and isinstance(several, Iterable):
        return list(several)
    return [] if single is None else [single]


def _where(given: Any) -> str:
    """Which column of a frame is not one of numbers, as the end of a sentence, if any."""
    for column in getattr(given, "columns", ()):
        try:
            np.asarray(given[column], np.float64)
        except (TypeError, ValueError, ArithmeticError):
            return f" (column {column!r})"
    return ""
