"""Blocks on the workers of a Dask cluster: rows stay there, statistics and energies come back.

Parameters go to every worker once a sweep. When a worker dies, others load its blocks again and
compute its row states again, from copies that every few sweeps are left with a neighbour.
"""

from __future__ import annotations

import itertools
import logging
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np

from isotherm import _nested
from isotherm._types import RowStates, Stats
from isotherm.data.base import Array, Summary
from isotherm.data.counts import Counts
from isotherm.data.table import CountTable
from isotherm.errors import IsothermError
from isotherm.kernels.base import Kernels
from isotherm.kernels.cpu.backend import Cpu
from isotherm.placement.base import ALL, Here, New, Old, RowsHandle, Shared, Sums, Task
from isotherm.placement.batches import Batch
from isotherm.placement.cluster import row_versions
from isotherm.placement.cluster import worker as _shares
from isotherm.placement.cluster.row_versions import Recipe, Version

log = logging.getLogger("isotherm")

Outcome = TypeVar("Outcome")

# Non-zeros to a block, or so many to a column where that is more: sums over columns are to cost
# little. Blocks at least: so many workers can share the work evenly.
NONZEROS, PER_COLUMN, LEAST = 4_000_000, 100, 8
# Sweeps after which row states are copied to a neighbour.
COPIED_EVERY = 8
# Seconds between looks at who is alive, and for one to come; how often a sweep is begun again.
LOOK, PATIENCE, ATTEMPTS = 0.5, 120.0, 10
# Sums of so many workers are added by the client; bytes of parameters that are worth a broadcast.
AT_THE_END, LARGE = 4, 1 << 20
# Seconds for a scheduler to answer.
TIMEOUT = 20


class _LostError(Exception):
    """Workers are not there any more, or have forgotten what they had."""


class _Cluster:
    """A client, who has which block, and what there is to forget."""

    def __init__(self, client: Any, n_blocks: int) -> None:
        self.client, self.n_blocks = client, n_blocks
        workers = self.alive()
        self.n_threads: dict[str, int] = client.nthreads()
        places = np.linspace(0, len(workers), n_blocks, endpoint=False).astype(int)
        self.owner = [workers[place] for place in places]
        # Workers that have copies of row states of others.
        self.neighbors: set[str] = set()
        self.data: weakref.WeakSet[Remote] = weakref.WeakSet()
        self.versions: weakref.WeakSet[Version] = weakref.WeakSet()
        self.dead: list[str] = []
        self.owner_name = str(client.id)
        self._forget_the_lost()

    def _forget_the_lost(self) -> None:
        """Free what clients that are gone (killed, say) have left on the workers."""
        clients = self.client.run_on_scheduler(_shares.clients)
        self.client.run(_shares.forget_others, clients, on_error="ignore")

    def alive(self) -> list[str]:
        """Addresses of the workers; waits for one where there is none."""
        until = time.monotonic() + PATIENCE
        while not (found := sorted(self.client.nthreads())):
            if time.monotonic() > until:
                raise IsothermError("the cluster has no workers; start some, and fit again")
            time.sleep(LOOK)
        return found

    def groups(self, numbers: Iterable[int]) -> dict[str, list[int]]:
        """Blocks by the worker that has them."""
        found: dict[str, list[int]] = {}
        for number in numbers:
            found.setdefault(self.owner[number], []).append(number)
        return found

    def submit(self, worker: str, function: Callable[..., object], *arguments: object) -> Any:
        """Future of a call on a worker, and on no other."""
        return self.client.submit(function, *arguments, workers=[worker], pure=False)

    def wait(self, futures: list[Any], among: Iterable[str] = ()) -> list[Any]:
        """The futures, done; `_LostError` where that will never be."""
        import distributed

        wait: Any = distributed.wait
        while True:
            try:
                wait(futures, timeout=LOOK)
            except TimeoutError:
                self._check(among)
                continue
            for future in futures:
                if future.status != "finished":
                    self._raise(future)
            return futures

    def _check(self, among: Iterable[str] = ()) -> None:
        """`_LostError` where not all workers are there any more; by default all that matter."""
        needed = set(among) or {*self.owner, *self.neighbors}
        if not needed <= set(self.client.nthreads()):
            raise _LostError

    def _patiently(self, call: Callable[..., object], among: Iterable[str] = ()) -> Any:
        """What a call of the client comes to; `_LostError` where its worker will never answer.

        Sums that were ready are gone with their worker, and the client would wait for ever for
        somebody to make them again. `call` makes a coroutine, once more and for twice as long
        after each look at who is there.
        """
        seconds = LOOK
        while True:
            try:
                return self.client.sync(call, callback_timeout=seconds)
            except TimeoutError:
                self._check(among)
                seconds *= 2
            except OSError as error:
                raise _LostError from error

    def _raise(self, future: Any) -> None:
        from distributed.scheduler import KilledWorker

        error = future.exception() if future.status == "error" else None
        if error is None or isinstance(error, _shares.GoneError | KilledWorker | OSError):
            raise _LostError
        raise error

    def results(self, futures: list[Any], among: Iterable[str] = ()) -> list[Any]:
        """What the futures hold, here."""
        ready, among = self.wait(futures, among), list(among)
        call = partial(self.client._gather, ready, errors="skip")
        found: list[Any] = self._patiently(call, among)
        if len(found) != len(futures):
            raise _LostError
        return found

    def work(self, recipe: Recipe, numbers: Iterable[int], dead: Iterable[str] = ()) -> list[Any]:
        """Futures of the sums over some blocks, one for each worker that has any."""
        parts: Any = (recipe.task, recipe.shared)
        if row_versions.size(recipe.shared) > LARGE:
            many = len(set(self.owner)) > 1
            call = partial(self.client._scatter, parts, hash=False, broadcast=many)
            parts = self._patiently(call)
        names = row_versions.named(recipe.rows)
        return [
            self.submit(
                worker, _shares.work, recipe.data.name, mine, names, recipe.name,
                recipe.data.theirs, self.n_threads.get(worker, 1), parts, self.n_blocks, dead,
            )
            for worker, mine in self.groups(numbers).items()
        ]  # fmt: skip

    def swept(self, recipe: Recipe) -> tuple[Stats, float]:
        """Statistics and energy of a sweep, whoever is lost."""
        found: tuple[Stats, float] = self.insist(partial(self._swept, recipe))
        return found

    def insist(self, call: Callable[[], Outcome]) -> Outcome:
        """What a call returns, however often workers are lost meanwhile."""
        whole = True
        for _ in range(ATTEMPTS):
            try:
                if not whole:
                    self.recover()
                return call()
            except _LostError:
                whole = False
        raise IsothermError("workers are lost faster than others can take over; see their logs")

    def kept(self, recipe: Recipe) -> RowsHandle:
        """Handle of the rows; not made where a time-out may hold on to all that is in sight."""
        version = Version(recipe)
        self._hold(version, recipe)
        return (version,)

    def welcome(self, version: Version, recipe: Recipe) -> None:
        """Row states of a checkpoint, with the workers from now on."""
        version.recipe, version.rows = recipe, None
        self._hold(version, recipe)
        self.insist(partial(self._spread, recipe))

    def _spread(self, recipe: Recipe) -> None:
        self.keep(recipe, range(self.n_blocks))
        self.copy(recipe)

    def _hold(self, version: Version, recipe: Recipe) -> None:
        self.versions.add(version)
        weakref.finalize(version, self.dead.append, recipe.name)

    def _swept(self, recipe: Recipe) -> tuple[Stats, float]:
        # All workers take part in a sweep, so that all hear of what is to be forgotten.
        dead, self.dead[:] = list(self.dead), []
        nodes = self.wait(self.work(recipe, range(self.n_blocks), dead))
        # Neighbours first: their nodes are siblings. The last few are added here.
        while len(nodes) > AT_THE_END:
            pairs = list(zip(nodes[::2], nodes[1::2], strict=False))
            added = [self.client.submit(_shares.joined, *two, self.n_blocks) for two in pairs]
            nodes = self.wait([*added, *nodes[2 * len(pairs) :]])
        found: _shares.Nodes = {}
        for one in self.results(nodes):
            found = _shares.joined(found, one, self.n_blocks)
        ((stats, energy),) = found.values()
        return stats, energy

    # When workers are lost -----------------------------------------------------------------------

    def recover(self) -> None:
        """Give the blocks of lost workers to others, with all row states that are in use."""
        log.warning("workers were lost; others load their blocks again")
        alive = self.alive()
        self.n_threads, self.neighbors = self.client.nthreads(), set()
        data, versions = list(self.data), list(self.versions)
        names = [one.name for one in data] + [one.recipe.name for one in versions]
        asked = [(one, name) for one in alive for name in names]
        calls = [self.submit(one, _shares.present, name) for one, name in asked]
        found = dict(zip(asked, self.results(calls, alive), strict=True))
        lost = [
            number
            for number, worker in enumerate(self.owner)
            if worker not in alive or any(number not in found[worker, name] for name in names)
        ]
        held = {one: sum(self.owner[n] == one for n in range(self.n_blocks)) for one in alive}
        for number in lost:
            least = min(alive, key=lambda one: (held[one], one))
            self.owner[number], held[least] = least, held[least] + 1
        for one in sorted(data, key=Remote.depth):  # what others are beside comes first
            one.load(lost)
        made: set[str] = set()
        for version in versions:
            self._make(version.recipe, lost, made)
        self.dead.extend(made - {version.recipe.name for version in versions})
        for version in versions:
            self.copy(version.recipe)

    def _make(self, recipe: Recipe, numbers: list[int], made: set[str]) -> None:
        """Make the row states of some blocks again: from copies, or as they were made."""
        if recipe.name in made or not numbers:
            return
        made.add(recipe.name)
        if recipe.given:
            self.keep(recipe, numbers)
            return
        if recipe.copies:
            if not {recipe.copies[number] for number in numbers} <= set(self.n_threads):
                raise IsothermError(
                    "two workers with copies of each other's row states are lost; fit again"
                )
            for number in numbers:
                states = self.submit(recipe.copies[number], _shares.fetch, recipe.copy, [number])
                kept = self.submit(self.owner[number], _shares.keep, recipe.name, states)
                self.wait([kept], {self.owner[number], recipe.copies[number]})
            return
        for one in row_versions.recipes(recipe.rows):
            self._make(one, numbers, made)
        self.wait(self.work(recipe, numbers))

    def keep(self, recipe: Recipe, numbers: Iterable[int]) -> None:
        """Let the owners of some blocks keep row states that this process has."""
        calls = []
        for worker, mine in self.groups(numbers).items():
            states = {number: recipe.given[number] for number in mine}
            calls.append(self.submit(worker, _shares.keep, recipe.name, states))
        self.wait(calls)

    def copy(self, recipe: Recipe) -> None:
        """Leave copies of row states with neighbors, and forget how they were made."""
        # A worker that came later, in the place of one that was lost, has copies if not blocks.
        workers = sorted({*self.owner, *self.client.nthreads()})
        if len(workers) == 1:
            return  # there is no neighbor: they would be made again from the beginning
        after: dict[str, str] = dict(zip(workers, [*workers[1:], workers[0]], strict=True))
        self.neighbors = {after[worker] for worker in self.owner}
        recipe.copy = row_versions.new_name(self.owner_name)
        weakref.finalize(recipe, self.dead.append, recipe.copy)
        stored = []
        for worker, mine in self.groups(range(self.n_blocks)).items():
            states = self.submit(worker, _shares.fetch, recipe.name, mine)
            stored.append(self.submit(after[worker], _shares.keep, recipe.copy, states))
            recipe.copies.update(dict.fromkeys(mine, after[worker]))
        self.wait(stored)
        recipe.rows, recipe.shared, recipe.depth, recipe.given = (), (), 0, {}


class Remote:
    """Blocks on the workers of a Dask cluster; `sources` yield their counts and row weights.

    `given` are data of the same rows that these are beside.
    """

    def __init__(
        self,
        sources: Sequence[Callable[[], tuple[Counts, Array]]],
        kernels: Kernels,
        cluster: _Cluster,
        given: Remote | None = None,
    ) -> None:
        self.sources, self.theirs, self.cluster, self.given = sources, kernels, cluster, given
        self.name = row_versions.new_name(cluster.owner_name)
        # Parameters are made here, where there may be no device.
        self.kernels = kernels if isinstance(kernels, Cpu) else Cpu(str(np.dtype(kernels.dtype)))
        self.weight: Array | None = None
        self.bounds = np.zeros(1, int)
        cluster.data.add(self)
        told = self.load(list(range(cluster.n_blocks)))
        columns = np.sum([told[number][0] for number in sorted(told)], axis=0)
        mass = float(sum(told[number][1] for number in sorted(told)))
        self.summary = Summary(columns, mass, float(columns.sum()))
        weakref.finalize(self, cluster.dead.append, self.name)

    @classmethod
    def place(
        cls,
        counts: CountTable,
        kernels: Kernels,
        client: Any,
        *,
        weight: Array | None = None,
        n_blocks: int | None = None,
    ) -> Remote:
        """Counts cut into blocks of about equal numbers of non-zeros, on a client's workers."""
        if not callable(getattr(client, "nthreads", None)):
            raise IsothermError(
                f"client={client!r}; it must be a dask.distributed Client (pip install "
                "'isotherm[cluster]'), such as Client('tcp://...') or LocalCluster().get_client()",
                parameter="client",
            )
        if n_blocks is None:
            size = max(NONZEROS, PER_COLUMN * counts.n_columns)
            n_blocks = max(LEAST, -(-counts.nnz // size), len(client.nthreads()))
        indptr = counts.indptr
        marks = np.linspace(0, int(indptr[-1]), n_blocks + 1)[1:-1]
        inner = np.searchsorted(indptr, marks)
        bounds = np.unique(np.concatenate([[0], inner, [counts.n_rows]]))
        return cls._cut(counts, kernels, bounds, weight, _Cluster(client, len(bounds) - 1))

    @classmethod
    def _cut(
        cls,
        counts: CountTable,
        kernels: Kernels,
        bounds: Array,
        weight: Array | None,
        cluster: _Cluster,
        given: Remote | None = None,
    ) -> Remote:
        spans = list(itertools.pairwise(bounds.tolist()))
        weights = [None if weight is None else weight[lo:hi] for lo, hi in spans]
        pieces = [partial(_shares.rows_of, counts, lo, hi) for lo, hi in spans]
        sources = [partial(_shares.source, *two) for two in zip(pieces, weights, strict=True)]
        data = cls(sources, kernels, cluster, given)
        data.bounds, data.weight = bounds, weight
        return data

    def beside(self, counts: CountTable) -> Remote:
        """Other counts of the same rows, on the same workers (held-out tokens)."""
        return self._cut(counts, self.theirs, self.bounds, self.weight, self.cluster, self)

    def depth(self) -> int:
        """How many data these are beside, one beside the other."""
        return 0 if self.given is None else 1 + self.given.depth()

    def load(self, numbers: list[int]) -> dict[int, tuple[Array, float]]:
        """Let the owners of some blocks load them; what they tell of each."""
        calls, given = [], None if self.given is None else self.given.name
        for worker, mine in self.cluster.groups(numbers).items():
            # Counts of this process are cut here, so that only a block's own rows travel.
            sources = {number: _shares.sent(self.sources[number]) for number in mine}
            parts = self.name, sources, self.theirs, given
            calls.append(self.cluster.submit(worker, _shares.load, *parts))
        told: dict[int, tuple[Array, float]] = {}
        for one in self.cluster.results(calls):
            told.update(one)
        return told

    @property
    def no_rows(self) -> RowsHandle:
        """One empty state for all blocks together."""
        return ((),)

    @property
    def batches(self) -> tuple[Batch, ...]:
        """There are none: a sweep is one message to each worker."""
        raise IsothermError(
            "rows are on the workers of a cluster, which sweeps all of them at once; stepwise "
            "sweeps need them in memory or in StoredCounts: leave the client, or the batches, out"
        )

    def sweep(
        self,
        task: Task[Here, Old, *Shared, New, Sums],
        rows: RowsHandle,
        *shared: *Shared,
        within: slice = ALL,
    ) -> tuple[RowsHandle, Sums, float]:
        """Run the task on every block, wherever it is; add up along a tree that is always one.

        `within` names no blocks: there are no batches.
        """
        if within != ALL:
            self.batches  # noqa: B018 (says why not)
        recipe = Recipe(self, task, self._recipe_of(rows[0]), _nested.on_host(shared))
        stats, energy = self.cluster.swept(recipe)
        if recipe.depth >= COPIED_EVERY:
            self.cluster.copy(recipe)
        return self.cluster.kept(recipe), stats, energy

    def _recipe_of(self, rows: RowStates) -> object:
        """Recipes in place of versions, in tuples of any depth."""
        if not isinstance(rows, Version):
            return tuple(self._recipe_of(one) for one in rows)
        if rows.recipe is None:
            recipe = Recipe(self, None, (), ())
            recipe.given = row_versions.pieces(rows.rows, self.bounds.tolist())
            self.cluster.welcome(rows, recipe)
        return rows.recipe

    def gather(self, rows: RowsHandle) -> RowStates:
        """Row states of all blocks as one named tuple of arrays (I, ...), in this process."""
        if rows[0].recipe is None:
            return rows[0].rows
        return self.cluster.insist(partial(self._gathered, rows[0].recipe.name))

    def _gathered(self, name: str) -> RowStates:
        found: dict[int, RowStates] = {}
        groups = self.cluster.groups(range(self.cluster.n_blocks))
        calls = [
            self.cluster.submit(one, _shares.fetch, name, mine) for one, mine in groups.items()
        ]
        for states in self.cluster.results(calls):
            found.update(states)
        return _nested.concatenate([found[number] for number in sorted(found)])


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address, closed when the block ends."""
    try:
        import distributed
    except ImportError as missing:
        raise IsothermError(
            f"a fit on the workers of {address} needs dask, which is not installed: "
            "pip install 'isotherm[cluster]'"
        ) from missing
    connect: Any = distributed.Client
    try:
        client = connect(address, timeout=TIMEOUT)
    except (OSError, ValueError, TimeoutError) as error:
        raise IsothermError(
            f"no Dask scheduler answers at {address!r} ({error}); give its address, such as "
            "tcp://scheduler:8786"
        ) from error
    with client:
        yield client
