"""Random parts of counts: tokens held out of every row, or rows held out whole.

Held-out tokens steer stopping and cooling; held-out rows test what carries over to new rows.
"""

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isotherm._types import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.errors import IsothermError

__all__ = [
    "SPLIT_SEED",
    "as_generator",
    "hold_out_rows",
    "hold_out_tokens",
    "split_rows",
    "split_tokens",
]

# Estimators deal with this seed: which counts are held out depends on the counts alone, so that
# fits of all seeds see the same counts and stop by the same ones.
SPLIT_SEED = 1826701615

RandomState = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None

# A cell with more tokens than this is shared out in proportion, not token by token.
_MANY_TOKENS = 64
# Cells that are dealt at a time: their numbers stay in a near cache.
_CELLS_AT_ONCE = 1 << 14
# Beyond this, float64 skips whole numbers, and parts would not add up.
_LARGEST_COUNT = 2.0**53


def as_generator(random_state: RandomState = None) -> np.random.Generator:
    """Generator for a seed: None is fresh, an int fixed, a Generator itself.

    A RandomState gives the seed by drawing from it, so that it moves on as scikit-learn expects.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise IsothermError(
        f"random_state={random_state!r} is no seed; give an integer >= 0, a numpy Generator or "
        "RandomState, or None.",
        parameter="random_state",
    )


def split_tokens(
    counts: object,
    fractions: Sequence[float] = (0.8, 0.1, 0.1),
    random_state: RandomState = None,
) -> tuple[Counts, ...]:
    """Counts of each part, when every token goes to one part at random.

    A token is one unit of a whole-numbered count; it goes to part k with probability
    `fractions[k]`, independently of all others. Where some count is not a whole number, there
    are no tokens, and every cell goes to one part as a whole.

    Parameters
    ----------
    counts : Counts, or what `as_counts` accepts, (I, J)
    fractions : sequence of float
        Probabilities of the parts: positive, with sum 1.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    tuple of Counts, each (I, J)
        With the names of `counts`; they add up to it exactly, and none has total 0.
    """
    given = as_counts(counts)
    shares = _checked(fractions)
    rng = as_generator(random_state)
    deal = _deal_tokens if given.is_integral else _deal_cells
    parts = []
    for k, values in enumerate(deal(given.matrix.data, shares, rng)):
        if not values.any():
            raise IsothermError(
                f"Part {k} (fraction {shares[k]:g}) came out empty: {given!r} is too small for "
                f"{len(shares)} parts. Use larger fractions, fewer parts or more data."
            )
        cells = _filled(values, given.matrix.indices, np.diff(given.matrix.indptr))
        parts.append(_joined(given, [cells]))
    return tuple(parts)


def hold_out_tokens(
    counts: Counts, fraction: float, seed: int, *, whole: bool | None = None
) -> tuple[Counts, Counts]:
    """Counts to fit and counts to hold out, dealt by the content of each row.

    As `split_tokens`, but what happens to a row depends only on its own counts and the seed: equal
    rows are split alike and the order of the rows does not matter, so that a row of weight two
    is the same as two rows. Either part may come out empty.

    Parameters
    ----------
    counts : Counts, (I, J)
    fraction : float in (0, 1)
        Share of the tokens to hold out.
    seed : int
    whole : bool, optional
        Whether there are tokens to deal; by default where every count is a whole number. For some
        rows of a larger table, what holds of all of it.

    Returns
    -------
    kept, held : Counts, both (I, J)
    """
    matrix = counts.matrix
    whole = counts.is_integral if whole is None else whole

    def deal(span: tuple[int, int]) -> tuple[_Piece, _Piece]:
        values, columns, lengths = _cells(matrix, span)
        owners = np.repeat(_row_keys(values, columns, lengths), lengths)
        keys = _scramble(owners ^ _scramble(columns.astype(np.uint64) + np.uint64(seed << 20)))
        held = _held(values, keys, fraction, whole)
        return _filled(values - held, columns, lengths), _filled(held, columns, lengths)

    with ThreadPoolExecutor() as pool:
        kept, out = zip(*pool.map(deal, _spans(matrix)), strict=True)
    return _joined(counts, kept), _joined(counts, out)


def _held(
    values: NDArray[np.float64], keys: NDArray[np.uint64], fraction: float, whole: bool
) -> NDArray[np.float64]:
    """How much of each cell is held out, by its key; token by token where counts are whole."""
    if not whole:
        return np.where(_uniform(keys) < fraction, values, 0.0)
    n = np.minimum(values, _MANY_TOKENS).astype(np.int64)
    first = np.cumsum(n) - n
    token = np.arange(n.sum()) - np.repeat(first, n)
    out = _uniform(np.repeat(keys, n) + token.astype(np.uint64)) < fraction
    held = np.add.reduceat(out, first, dtype=np.float64)
    return np.where(values > _MANY_TOKENS, np.rint(values * fraction), held)


def hold_out_rows(
    counts: Counts, fraction: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers of the rows to fit and of the rows to hold out, dealt by content.

    Equal rows go the same way; see `hold_out_tokens`. Empty rows are kept.
    """
    out = _uniform(_all_row_keys(counts.matrix) + np.uint64(seed)) < fraction
    out &= np.diff(counts.matrix.indptr) > 0
    return np.flatnonzero(~out), np.flatnonzero(out)


def split_rows(
    counts: object, fractions: Sequence[float] = (0.8, 0.2), random_state: RandomState = None
) -> tuple[NDArray[np.intp], ...]:
    """Row numbers of each part of a random partition of the rows, in ascending order.

    Parameters
    ----------
    counts : Counts, or what `as_counts` accepts, (I, J)
    fractions : sequence of float
        Sizes of the parts relative to I: positive, with sum 1.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    tuple of ndarray of int
        For `Counts.take_rows`; each holds at least one row, together they hold every row once.
    """
    n_rows = as_counts(counts).n_rows
    shares = _checked(fractions)
    cuts = np.rint(np.cumsum(shares)[:-1] * n_rows).astype(np.intp)
    parts = np.split(as_generator(random_state).permutation(n_rows), cuts)
    for k, part in enumerate(parts):
        if part.size == 0:
            raise IsothermError(
                f"Part {k} (fraction {shares[k]:g}) gets none of the {n_rows} rows; every part "
                "needs one. Use larger fractions, fewer parts or more rows."
            )
    return tuple(np.sort(part).astype(np.intp, copy=False) for part in parts)


def _checked(fractions: Sequence[float]) -> NDArray[np.float64]:
    try:
        shares = np.asarray(fractions, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty((0, 0))
    valid = shares.ndim == 1 and shares.size > 0 and bool(np.all(shares > 0))
    if not valid or abs(shares.sum() - 1.0) > 1e-6:
        raise IsothermError(
            f"fractions={fractions!r}; they must be positive and sum to 1. "
            "Divide them by their sum, and leave out parts of size 0.",
            parameter="fractions",
        )
    return shares


def _deal_tokens(
    values: Array, shares: NDArray[np.float64], rng: np.random.Generator
) -> list[Array]:
    """Multinomial parts of whole counts: binomial draws from what earlier parts left over."""
    if values.max() > _LARGEST_COUNT:
        raise IsothermError(
            f"A count of {values.max():g} cannot be split into tokens; the largest that can is "
            "2**53. Scale the counts down."
        )
    rest = values.astype(np.int64)
    parts: list[Array] = []
    for k in range(len(shares) - 1):
        drawn = rng.binomial(rest, shares[k] / shares[k:].sum())
        parts.append(drawn.astype(np.float64))
        rest -= drawn
    return [*parts, rest.astype(np.float64)]


def _deal_cells(
    values: Array, shares: NDArray[np.float64], rng: np.random.Generator
) -> list[Array]:
    part = np.searchsorted(np.cumsum(shares)[:-1], rng.random(len(values)), side="right")
    return [np.where(part == k, values, 0) for k in range(len(shares))]


# ---------------------------------------------------------------- some rows at a time

# Values and columns of the cells of some rows, and how many cells each row has.
_Piece = tuple[NDArray[np.float64], Array, Array]


def _spans(matrix: Any) -> list[tuple[int, int]]:
    """Bounds of pieces of all rows with about `_CELLS_AT_ONCE` cells each."""
    starts = np.arange(_CELLS_AT_ONCE, matrix.nnz, _CELLS_AT_ONCE)
    marks = np.searchsorted(matrix.indptr, starts, "right") - 1
    return list(itertools.pairwise(np.unique([0, *marks, matrix.shape[0]]).tolist()))


def _cells(matrix: Any, span: tuple[int, int]) -> _Piece:
    """What is stored of the rows from the first to before the last."""
    starts = matrix.indptr[span[0] : span[1] + 1]
    cells = slice(starts[0], starts[-1])
    return matrix.data[cells].astype(np.float64), matrix.indices[cells], np.diff(starts)


def _filled(values: Array, columns: Array, lengths: Array) -> _Piece:
    """The cells with positive values alone."""
    kept = values > 0
    before = np.concatenate(([0], np.cumsum(kept)))
    ends = np.concatenate(([0], np.cumsum(lengths)))
    return values[kept], columns[kept], np.diff(before[ends])


def _joined(counts: Counts, pieces: Sequence[_Piece]) -> Counts:
    """Counts of the same shape and names, with the cells of the pieces, rows in order."""
    values, columns, lengths = (np.concatenate(part) for part in zip(*pieces, strict=True))
    starts = np.concatenate(([0], np.cumsum(lengths)))
    new = sparse.csr_array((values, columns, starts), shape=counts.matrix.shape)
    return Counts._trusted(new, counts.row_names, counts.column_names)


def _all_row_keys(matrix: object) -> NDArray[np.uint64]:
    """Keys of all rows, (I,)."""
    return np.concatenate([_row_keys(*_cells(matrix, span)) for span in _spans(matrix)])


def _row_keys(values: NDArray[np.float64], columns: Array, lengths: Array) -> NDArray[np.uint64]:
    """One well-mixed number per row that depends on its cells only."""
    cells = _scramble(_scramble(columns.astype(np.uint64) + np.uint64(1)) ^ values.view(np.uint64))
    rows = np.zeros(len(lengths), np.uint64)
    filled = np.flatnonzero(lengths)
    if len(filled):
        rows[filled] = np.add.reduceat(cells, (np.cumsum(lengths) - lengths)[filled])
    return rows


def _scramble(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Well-mixed 64 bits from 64 bits (the finaliser of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _uniform(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    return np.asarray((_scramble(keys) >> np.uint64(11)) * 2.0**-53)
