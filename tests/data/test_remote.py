"""Counts on workers: the results of one process, for any number of blocks and workers."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

from isotherm import AspectModel, Counts, Engine, Fixed, IsothermError, Noisy
from isotherm.data.stored import StoredCounts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.placement.base import Expected
from isotherm.placement.cluster import worker
from isotherm.placement.local import Local
from support.models import begin, random_table, sweeps

pytest.importorskip("distributed")
from isotherm.placement.cluster import remote
from isotherm.placement.cluster.remote import Remote

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::RuntimeWarning")
SETTINGS: dict[str, Any] = {
    "random_state": 0,
    "engine": Engine(precision="float64"),
    "max_iter": 3,
    "schedule": Fixed(1.0),
    "start": Noisy(),
}


class One(NamedTuple):
    array: np.ndarray


@pytest.fixture(scope="module")
def counts() -> Counts:
    rng = np.random.default_rng(0)
    topics, weights = rng.dirichlet(np.full(60, 0.05), 4), rng.dirichlet(np.full(4, 0.1), 300)
    return Counts(rng.poisson(40 * weights @ topics))


def counted(k: Any, block: Any, rows: Any, factor: float) -> Expected:
    before = 0.0 if rows == () else rows.array
    made = One(before + factor * block.row_totals)
    return Expected(made, One(factor * block.column_totals), float(made.array.sum()))


def test_nodes_are_added_along_one_tree() -> None:
    rng = np.random.default_rng(0)
    for n_blocks in (1, 2, 5, 8, 13):
        leaves = {(0, n): (One(rng.normal(size=3)), float(n)) for n in range(n_blocks)}
        once = worker.joined(leaves, {}, n_blocks)
        for cut in range(n_blocks):
            first = {key: one for key, one in leaves.items() if key[1] < cut}
            second = {key: one for key, one in leaves.items() if key[1] >= cut}
            parts = [worker.joined(part, {}, n_blocks) for part in (second, first)]
            again = worker.joined(*parts, n_blocks)
            assert again.keys() == once.keys()
            ((stats, energy),), ((other, same),) = once.values(), again.values()
            assert np.array_equal(stats.array, other.array)
            assert energy == same == sum(range(n_blocks))


@pytest.mark.parametrize("n_blocks", [1, 5])
def test_a_sweep_is_that_of_one_process(counts: Counts, client: Any, n_blocks: int) -> None:
    data = Remote.place(counts, Cpu("float64"), client, n_blocks=n_blocks)
    local = Local.place(counts, Cpu("float64"))
    assert data.cluster.n_blocks == n_blocks
    np.testing.assert_allclose(data.summary.column_totals, local.summary.column_totals)
    rows, stats, energy = data.sweep(counted, data.no_rows, 2.0)
    rows, _, _ = data.sweep(counted, rows, 3.0)
    assert np.array_equal(data.gather(rows).array, 5 * counts.row_totals)
    assert np.array_equal(stats.array, 2 * counts.column_totals)
    assert energy == 2 * counts.total


def test_what_nobody_holds_is_forgotten(counts: Counts, client: Any) -> None:
    data = Remote.place(counts, Cpu("float64"), client, n_blocks=4)
    rows, _, _ = data.sweep(counted, data.no_rows, 2.0)
    name = rows[0].recipe.name
    del rows
    data.sweep(counted, data.no_rows, 2.0)
    assert sum(len(one) for one in client.run(worker.present, name).values()) == 0
    assert sum(len(one) for one in client.run(worker.present, data.name).values()) == 4


def test_an_error_of_a_task_is_told(counts: Counts, client: Any) -> None:
    data = Remote.place(counts, Cpu("float64"), client, n_blocks=2)
    with pytest.raises(TypeError):
        data.sweep(counted, data.no_rows, "no number")


def test_stored_counts_are_read_by_the_workers(counts: Counts, client: Any, tmp_path: Any) -> None:
    stored = StoredCounts.write(tmp_path / "counts", counts)
    inside = AspectModel(3, **SETTINGS).fit(counts)
    outside = AspectModel(3, **SETTINGS).fit(stored, client=client)
    assert outside.free_energy_ == pytest.approx(inside.free_energy_, rel=1e-9)
    np.testing.assert_allclose(outside.row_weights_, inside.row_weights_, atol=1e-9)


def test_what_is_no_client_is_refused(counts: Counts) -> None:
    with pytest.raises(IsothermError, match=r"client='tcp://here'.*isotherm\[cluster\]"):
        AspectModel(2).fit(counts, client="tcp://here")


@pytest.mark.parametrize("n_workers", [1, 2])
def test_single_precision_gives_one_free_energy(
    counts: Counts, client: Any, n_workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = remote._Cluster.alive
    monkeypatch.setattr(remote._Cluster, "alive", lambda self: alive(self)[:n_workers])
    whole = Local.place(counts, Cpu("float32"))
    table = random_table(whole, 4)
    _, expected = sweeps(Aspect(4), whole, begin(Aspect(4), whole, table), 0.9, 6)
    found = []
    for n_blocks in (1, 2, 3, 7):
        data: Any = Remote.place(counts, Cpu("float32"), client, n_blocks=n_blocks)
        assert len(set(data.cluster.owner)) == min(n_workers, n_blocks)
        found.append(sweeps(Aspect(4), data, begin(Aspect(4), data, table), 0.9, 6)[1])
    assert expected[-1] < 0.99 * expected[0]
    np.testing.assert_allclose(found, [expected] * 4, rtol=1e-10)


def test_what_lost_clients_left_is_forgotten(counts: Counts, client: Any) -> None:
    def kept(name: str) -> int:
        return sum(len(one) for one in client.run(worker.present, name).values())

    client.run(worker.keep, "Client-gone/a", {0: 1, 1: 2})
    own = Remote.place(counts, Cpu("float64"), client, n_blocks=4)
    assert kept("Client-gone/a") == 0
    Remote.place(counts, Cpu("float64"), client, n_blocks=2)
    assert kept(own.name) == 4


def test_workers_have_backends_of_their_own(
    counts: Counts, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    inside = AspectModel(3, **SETTINGS).fit(counts)
    outside = AspectModel(3, **SETTINGS, device="torch")
    # As a client without a GPU, where torch is not even installed.
    monkeypatch.setitem(sys.modules, "isotherm.kernels.torch.backend", None)
    outside.fit(counts, client=client)
    assert outside.free_energy_ == pytest.approx(inside.free_energy_, rel=1e-9)
    np.testing.assert_allclose(outside.row_weights_, inside.row_weights_, atol=1e-8)
    with pytest.raises(IsothermError, match="needs torch"):
        outside.transform(counts)


def test_a_device_that_workers_have_not_is_told(counts: Counts, client: Any) -> None:
    pytest.importorskip("torch")
    with pytest.raises(IsothermError, match="torch finds no such GPU"):
        AspectModel(3, **SETTINGS, device="cuda:99").fit(counts, client=client)
    with pytest.raises(IsothermError, match="it must be 'cpu', 'cuda'"):
        AspectModel(3, **SETTINGS, device="abacus").fit(counts, client=client)
