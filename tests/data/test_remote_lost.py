"""Workers that are killed in the middle of a fit, and fits that are: nothing changes."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import AspectModel, Counts, Engine, Exponential, IsothermError, Noisy, checkpointing

distributed = pytest.importorskip("distributed")
from isotherm.placement.cluster import remote  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::RuntimeWarning")


@pytest.fixture(scope="module")
def counts() -> Counts:
    rng = np.random.default_rng(0)
    topics, weights = rng.dirichlet(np.full(60, 0.05), 4), rng.dirichlet(np.full(4, 0.1), 300)
    return Counts(rng.poisson(40 * weights @ topics))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster whose workers are killed: not the one that all tests share."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two:
        yield two


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as found:
        yield found


def model(*callbacks: Any) -> AspectModel:
    return AspectModel(
        3,
        schedule=Exponential(0.7, start=2.0, end=0.7),
        start=Noisy(),
        max_iter=4,
        engine=Engine(precision="float32", callbacks=callbacks),
        random_state=0,
    )


class At:
    """Calls something at a sweep, and counts sweeps."""

    def __init__(self, sweep: int, call: Any) -> None:
        self.sweep, self.call, self.heard = sweep, call, 0

    def on_begin(self) -> None: ...

    def on_sweep(self, temperature: float, sweep: int, energy: float) -> None:
        self.heard += 1
        if self.heard == self.sweep:
            self.call()

    def on_temperature(self, fit: Any) -> bool:
        return False

    def on_end(self) -> None: ...


def same(left: AspectModel, right: AspectModel) -> bool:
    names = ("free_energy_", "row_weights_", "components_")
    return all(np.array_equal(getattr(left, one), getattr(right, one)) for one in names)


def stop() -> None:
    raise MemoryError("the end of this process")


def test_a_worker_that_is_killed_changes_nothing(
    counts: Counts, cluster: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "COPIED_EVERY", 3)
    before, killed = model().fit(counts, client=client), []

    def kill() -> None:
        # As the system does it when memory is short.
        killed.append(next(iter(cluster.workers.values())).process.pid)
        os.kill(killed[0], signal.SIGKILL)

    after = model(At(8, kill)).fit(counts, client=client)
    assert killed
    assert same(after, before)


def test_a_worker_that_is_killed_before_its_sums_are_read_changes_nothing(
    counts: Counts, cluster: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums were ready, and with the worker they are gone: nobody will make them again."""
    before, killed = model().fit(counts, client=client), []
    gather = client._gather

    async def late(futures: Any, *arguments: Any, **options: Any) -> Any:
        if len(killed) == 0 and heard.heard > 8:
            killed.append(await client.scheduler.who_has(keys=[one.key for one in futures]))
            address = next(iter(killed[0].values()))[0]
            workers = [one for one in cluster.workers.values() if one.worker_address == address]
            os.kill(workers[0].process.pid, signal.SIGKILL)
            while address in await client.scheduler.ncores():
                await asyncio.sleep(0.01)
        return await gather(futures, *arguments, **options)

    heard = At(0, stop)
    monkeypatch.setattr(client, "_gather", late)
    after = model(heard).fit(counts, client=client)
    assert killed
    assert same(after, before)


def test_a_fit_on_workers_goes_on_from_a_checkpoint(
    counts: Counts, client: Any, tmp_path: Path
) -> None:
    path, first, second = tmp_path / "fit.ckpt", At(10, stop), At(0, stop)
    whole = At(0, stop)
    expected = model(whole).fit(counts, client=client)
    with pytest.raises(MemoryError), checkpointing(path, every=0):
        model(first).fit(counts, client=client)
    assert path.exists()
    with checkpointing(path, every=0):
        found = model(second).fit(counts, client=client)
    assert same(found, expected)
    assert second.heard == whole.heard - 9
    assert not path.exists()


def test_a_worker_is_killed_right_after_a_fit_has_gone_on(
    counts: Counts, cluster: Any, client: Any, tmp_path: Path
) -> None:
    path = tmp_path / "fit.ckpt"
    expected = model().fit(counts, client=client)
    with pytest.raises(MemoryError), checkpointing(path, every=0):
        model(At(6, stop)).fit(counts, client=client)

    def kill() -> None:
        os.kill(next(iter(cluster.workers.values())).process.pid, signal.SIGKILL)

    with checkpointing(path, every=0):
        assert same(model(At(1, kill)).fit(counts, client=client), expected)


def test_a_checkpoint_of_one_process_is_none_of_a_cluster(
    counts: Counts, client: Any, tmp_path: Path
) -> None:
    path = tmp_path / "fit.ckpt"
    with pytest.raises(MemoryError), checkpointing(path, every=0):
        model(At(6, stop)).fit(counts)
    with pytest.raises(IsothermError, match="what differs is data"), checkpointing(path):
        model().fit(counts, client=client)
