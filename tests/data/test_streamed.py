"""Counts from the disk: the results of memory, within a budget."""

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import sparse

from isotherm import AspectModel, Counts, Engine, IsothermError, OneSidedClustering
from isotherm.data.stored import StoredCounts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.placement.base import Expected
from isotherm.placement.disk import streamed
from isotherm.placement.disk.streamed import Streamed
from isotherm.placement.local import Local

SAME = 1e-9


class One(NamedTuple):
    array: np.ndarray


@pytest.fixture(scope="module")
def counts() -> Counts:
    rng = np.random.default_rng(0)
    topics, weights = rng.dirichlet(np.full(80, 0.05), 4), rng.dirichlet(np.full(4, 0.1), 600)
    values = rng.poisson(40 * weights @ topics)
    values[7] = 0
    return Counts(values, column_names=[f"w{j}" for j in range(80)])


@pytest.fixture
def stored(counts: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredCounts:
    monkeypatch.setattr(streamed, "LEAST", 500)
    return StoredCounts.write(tmp_path / "counts", counts, memory=0.6)


def test_blocks_fit_the_budget_and_cover_all_rows(stored: StoredCounts, counts: Counts) -> None:
    data = Streamed.place(stored, Cpu("float64"), n_components=4)
    local = Local.place(counts, Cpu("float64"))
    assert len(data.blocks) >= 3
    assert sum(data._laid.sizes) == counts.n_rows
    assert data.largest < 0.6 * 2**20
    assert np.array_equal(data.summary.column_totals, local.summary.column_totals)
    assert data.summary[1:] == local.summary[1:]


def test_sweeps_see_each_row_with_its_own_state(stored: StoredCounts, counts: Counts) -> None:
    data = Streamed.place(stored, Cpu("float64"), n_components=4)

    def totals(k: Any, block: Any, rows: Any, sign: float) -> Expected:
        sums = One(block.column_totals)
        return Expected(One(sign * block.row_totals), sums, float(block.n_rows))

    def more(k: Any, block: Any, both: Any) -> Expected:
        (one,), (other,) = both
        return Expected(One(one + 3 * other), (), 0.0)

    once, sums, energy = data.sweep(totals, data.no_rows, 1.0)
    twice, _, _ = data.sweep(totals, data.no_rows, -2.0)
    both, _, _ = data.sweep(more, tuple(zip(once, twice, strict=True)))
    assert np.array_equal(data.gather(once)[0], counts.row_totals)
    assert np.array_equal(data.gather(both)[0], -5 * counts.row_totals)
    assert np.array_equal(sums[0], counts.column_totals)
    assert energy == counts.n_rows


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("kind", [AspectModel, OneSidedClustering])
def test_fit_is_that_of_memory(
    stored: StoredCounts, counts: Counts, kind: Any, precision: str
) -> None:
    inside = kind(4, random_state=0, engine=Engine(precision=precision)).fit(counts)
    outside = kind(4, random_state=0, engine=Engine(precision=precision)).fit(stored)
    close = SAME if precision == "float64" else 1e-6
    assert outside.free_energy_ == pytest.approx(inside.free_energy_, rel=close)
    assert outside.temperature_ == pytest.approx(inside.temperature_, rel=1e-6)
    assert outside.n_iter_ == inside.n_iter_
    np.testing.assert_allclose(outside.row_weights_, inside.row_weights_, atol=1e-3)
    np.testing.assert_allclose(outside.transform(stored), inside.transform(counts), atol=1e-3)
    assert outside.perplexity(stored) == pytest.approx(inside.perplexity(counts), rel=1e-5)
    assert list(outside.feature_names_in_) == list(counts.column_names)


def test_row_weights_and_equal_rows_and_growing(stored: StoredCounts, counts: Counts) -> None:
    weight = 1.0 + np.arange(counts.n_rows) % 3
    for kind in (
        AspectModel("auto", random_state=0, max_components=3, engine=Engine(precision="float64")),
        OneSidedClustering(3, weighting="rows", random_state=0, engine=Engine(precision="float64")),
    ):
        inside = kind.fit(counts, sample_weight=weight)
        energy, n_components = inside.free_energy_, inside.n_components_
        outside = kind.fit(stored.with_memory(4), sample_weight=weight)
        assert outside.n_components_ == n_components
        assert outside.free_energy_ == pytest.approx(energy, rel=SAME)


def test_files_are_gone_after_the_fit(stored: StoredCounts) -> None:
    before = sorted(stored.folder.iterdir())
    model = AspectModel(3, random_state=0).fit(stored)
    gc.collect()
    assert sorted(stored.folder.iterdir()) == before
    assert model.row_weights_.sum() == pytest.approx(len(stored))


def test_too_little_memory_is_refused_before_any_work(stored: StoredCounts) -> None:
    with pytest.raises(IsothermError, match=r"200 components over 80 columns need at least \d+ MB"):
        AspectModel(200).fit(stored.with_memory(0.5))
    assert all(one.is_file() for one in stored.folder.iterdir())


PEAK = """
import json, sys
from pathlib import Path
import numpy as np
from isotherm import AspectModel, Engine
from isotherm.data.stored import StoredCounts
from isotherm.estimators.counts import loaded

def resident(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024

single = Engine(precision="float32")
model = AspectModel(8, random_state=0, engine=single, verbose=False, max_iter=4)
loaded(model, "float32")  # compiled before memory is counted
before = resident("VmRSS")
model.fit(StoredCounts(Path(sys.argv[1]), memory=float(sys.argv[2])))
mass = model.row_weights_.sum()
print(json.dumps([resident("VmHWM") - before, model.peak_memory_, model.free_energy_, mass]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_whole_fit_stays_within_its_budget(tmp_path: Path) -> None:
    """Held-out tokens, spectral start, over-relaxation and all, in a process of its own."""
    rng, memory = np.random.default_rng(0), 24.0
    n_rows, per_row, n_columns = 26_000, 90, 2000
    topics = rng.dirichlet(np.full(n_columns, 0.05), 8).cumsum(axis=1)
    owner = np.repeat(rng.integers(0, 8, n_rows), per_row)
    words = np.empty(len(owner), np.int64)
    for k in range(8):
        mine = owner == k
        words[mine] = np.minimum(np.searchsorted(topics[k], rng.random(mine.sum())), n_columns - 1)
    rows = np.repeat(np.arange(n_rows), per_row)
    matrix = sparse.coo_array((np.ones(len(rows)), (rows, words)), shape=(n_rows, n_columns))
    stored = StoredCounts.write(tmp_path / "counts", Counts(matrix))
    # What a fit in memory holds: all counts and the kept ones, by rows and by columns, two states.
    assert 2 * 16 * stored.nnz + 2 * 4 * 8 * n_rows > 2 * memory * 2**20
    run = subprocess.run(
        [sys.executable, "-c", PEAK, str(stored.folder), str(memory)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    peak, told, energy, mass = json.loads(run.stdout)
    assert mass == pytest.approx(n_rows)
    assert np.isfinite(energy)
    assert peak <= memory, f"{peak:.1f} MB of {memory:.0f}"
    # Looking at all rows afterwards, as the sum does, takes more.
    assert 0.3 * peak <= told <= peak
