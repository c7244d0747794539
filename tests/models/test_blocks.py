"""In single precision, too, the free energy does not depend on how rows are cut into blocks."""

from typing import Any

import numpy as np
import pytest

from isotherm.data.base import row_bounds
from isotherm.data.counts import Counts
from isotherm.kernels.cpu.backend import Cpu
from support.models import begin, place, random_table, sweeps

SINGLE = Cpu("float32")


@pytest.fixture(scope="module")
def counts() -> Counts:
    """Columns by Zipf's law: some long, most short."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(5.0 / (np.arange(120) + 2.7), 5)
    return Counts(rng.poisson(80 * rng.dirichlet(np.full(5, 0.2), 400) @ topics))


def test_blocks_do_not_change_the_free_energy(model: Any, counts: Counts) -> None:
    whole = place(counts.matrix, SINGLE)
    table = random_table(whole, model.n_components)
    at = max(0.8, model.zero_temperature)
    _, expected = sweeps(model, whole, begin(model, whole, table), at, 12)
    assert expected[-1] < 0.99 * expected[0]
    for n_blocks in (2, 3, 7):
        data = place(counts.matrix, SINGLE, bounds=row_bounds(counts, n_blocks))
        assert len(data.blocks) == n_blocks
        _, found = sweeps(model, data, begin(model, data, table), at, 12)
        # Pseudo-counts are added to sums before they are rounded; of few columns that shows.
        rtol = 2e-7 if getattr(model, "pseudo_count", 0.0) else 1e-10
        np.testing.assert_allclose(found, expected, rtol=rtol)
