"""Large tables: two-sided clustering begins with some rows, compared by their frequent columns."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from isotherm import Counts, TwoSidedClustering
from isotherm.data.counts import as_counts
from isotherm.estimators.starts import two_sided
from isotherm.estimators.starts.two_sided import OneSidedFits, narrow, sample
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.two_sided import TwoSided
from isotherm.placement.local import Local


def test_only_large_data_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counts(sparse.csr_array(np.arange(1.0, 31.0)[:, None]))
    data = Local.place(counts, Cpu("float64"), n_blocks=2)
    assert sample(data) is data
    monkeypatch.setattr(two_sided, "MOST_ROWS", 10)
    part = sample(data)
    assert isinstance(part, Local)
    sizes = [block.n_rows for block in data.blocks]
    assert [block.n_rows for block in part.blocks] == [-(-size // 3) for size in sizes]
    assert part.blocks[0].values.tolist() == data.blocks[0].values[::3].tolist()
    monkeypatch.setattr(two_sided, "MOST_ROWS", 16)
    assert sample(data) is data


def test_clusters_of_some_rows_lead_to_those_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    rows, columns = np.arange(480) % 3, np.arange(90) % 3
    rates = np.where(rows[:, None] == columns, 1.0, 0.1)
    X = rng.poisson(rates)
    monkeypatch.setattr(two_sided, "MOST_ROWS", 120)
    model = TwoSidedClustering(3, random_state=0).fit(X)
    assert adjusted_rand_score(rows, model.row_labels_) == 1.0
    assert adjusted_rand_score(columns, model.column_labels_) == 1.0


def test_rare_columns_are_left_out_of_wide_data(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.array([[0, 5, 0, 1, 7], [2, 0, 0, 1, 8], [0, 6, 1, 0, 0]], float)
    weight = np.array([1.0, 4.0, 1.0])
    data = Local.place(Counts(sparse.csr_array(table)), Cpu("float64"), weight=weight, n_blocks=2)
    assert narrow(data) is data
    monkeypatch.setattr(two_sided, "MOST_COLUMNS", 3)
    assert narrow(data) is data
    monkeypatch.setattr(two_sided, "MOST_COLUMNS", 2)
    part = narrow(data)
    assert isinstance(part, Local)
    # The weighted totals are 8, 11, 1, 5 and 39.
    assert part.summary.column_totals.tolist() == [11.0, 39.0]
    dense = np.zeros((0, 2))
    for block in part.blocks:
        parts = (block.values, block.indices, block.indptr)
        dense = np.vstack([dense, sparse.csr_array(parts, shape=(block.n_rows, 2)).toarray()])
    assert dense.tolist() == table[:, [1, 4]].tolist()
    assert np.concatenate([block.weight for block in part.blocks]).tolist() == weight.tolist()


@pytest.mark.parametrize("ways", [(0.97, 0.3), (0.3, 0.97)])
def test_where_nothing_splits_rounding_does_not_choose_the_way(ways: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    data = Local.place(as_counts(rng.random((15, 30))), Cpu("float64", 1))
    both, first = (
        OneSidedFits(given).state(TwoSided(8), data, np.random.default_rng(1)).params
        for given in (ways, ways[:1])
    )
    for one, other in zip(both, first, strict=True):
        np.testing.assert_array_equal(one, other)
