"""Vectors of any size: a map or a clear refusal, at once."""

import time

import numpy as np
import pytest

from isotherm import GTM, IsothermError, IsothermWarning
from isotherm.data.base import Array

VECTORS = np.random.default_rng(0).normal(size=(40, 4))
ROW = np.ones((40, 1))
ROW[0] = 1e9
MAPPED = {
    "beyond single precision, small": 1e-45 * VECTORS,
    "tiny": 1e-30 * VECTORS,
    "large": 1e30 * VECTORS,
    "nearly beyond single precision": 1e37 * VECTORS,
    "squares that are numbers": 1e150 * VECTORS,
    "mixed": VECTORS * np.array([1e-30, 1e30, 1.0, 1.0]),
    "far from the origin": VECTORS + 1e15,
}
REFUSED = {
    "denormal": (1e-320 * VECTORS, "variance of X is too small.*multiply"),
    "squares that are denormal": (1e-160 * VECTORS, "variance of X is too small"),
    "squares that are no numbers": (1e155 * VECTORS, "variance of X is too large.*divide"),
    "larger still": (1e300 * VECTORS, "variance of X is too large"),
    "mixed": (VECTORS * np.array([1e-300, 1e300, 1.0, 1.0]), "variance of X is too large"),
    "lost beside a large number": (VECTORS + 1e300, "all rows of X are equal"),
}


def attributes(model: GTM) -> list[Array]:
    found = [value for name, value in vars(model).items() if name.endswith("_")]
    return [one for one in found if isinstance(one, np.ndarray) and one.dtype.kind == "f"]


@pytest.mark.parametrize("size", MAPPED)
def test_vectors_of_most_sizes_are_mapped(size: str) -> None:
    begin = time.process_time()
    model = GTM(random_state=0).fit(MAPPED[size])
    assert all(np.isfinite(one).all() for one in attributes(model))
    assert np.isfinite(model.transform(MAPPED[size])).all()
    assert time.process_time() - begin < 10.0


def test_a_row_that_is_much_larger_is_mapped_with_a_warning() -> None:
    with pytest.warns(IsothermWarning, match="far from all others"):
        model = GTM(random_state=0).fit(ROW * VECTORS)
    assert all(np.isfinite(one).all() for one in attributes(model))


@pytest.mark.parametrize("size", REFUSED)
def test_vectors_that_no_map_can_work_with_are_refused(size: str) -> None:
    vectors, message = REFUSED[size]
    with pytest.raises(IsothermError, match=message):
        GTM(random_state=0).fit(vectors)
