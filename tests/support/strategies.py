"""Hypothesis strategies shared by the tests."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

# The last two need float64: 2**24 + 1 is the first whole number that float32 misses.
HUGE = (2**16, 2**24, 2**24 + 1, 2**40 + 1)


@st.composite
def counts_matrices(
    draw: st.DrawFn, max_rows: int = 7, max_columns: int = 6, huge: bool = True
) -> NDArray[np.int64]:
    """Dense whole-numbered counts (I, J) with a positive total.

    Mostly zeros and small counts, so that empty rows and empty columns are common; down to one
    cell, and now and then with a count beyond uint16 or float32 if `huge`.
    """
    shape = (draw(st.integers(1, max_rows)), draw(st.integers(1, max_columns)))
    cells = st.integers(0, 4)
    if huge:
        cells |= st.sampled_from(HUGE)
    matrix = draw(hnp.arrays(np.int64, shape, elements=cells, fill=st.just(0)))
    if draw(st.booleans()):
        matrix[draw(st.integers(0, shape[0] - 1))] = 0
    if draw(st.booleans()):
        matrix[:, draw(st.integers(0, shape[1] - 1))] = 0
    if not matrix.any():
        row, column = draw(st.integers(0, shape[0] - 1)), draw(st.integers(0, shape[1] - 1))
        matrix[row, column] = draw(st.sampled_from((1, 3, *HUGE) if huge else (1, 3)))
    return matrix


def with_names(matrix: NDArray[np.int64]) -> tuple[list[str], list[str]]:
    """Row ids and column names for a matrix, in sorted order."""
    rows, columns = matrix.shape
    return [f"r{i:03}" for i in range(rows)], [f"c{j:03}" for j in range(columns)]
