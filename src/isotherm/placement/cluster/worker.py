"""What a worker of a cluster does: it keeps blocks and row states, and works on its own.

Sums of blocks are added up along one binary tree over all blocks, whoever has them: two nodes are
added if and only if they are siblings. So the order of additions, and with it every bit of the
result, is the same for any number of workers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from isotherm import _nested
from isotherm._types import RowStates, Stats
from isotherm.data.base import Array, blocks_of
from isotherm.data.counts import Counts
from isotherm.data.table import CountTable
from isotherm.kernels.base import Kernels
from isotherm.kernels.devices import Elsewhere
from isotherm.placement.base import AnyTask

# Node of the tree (level, number) -> statistics and energy of all blocks below it.
Nodes = dict[tuple[int, int], tuple[Stats, float]]


class GoneError(Exception):
    """A worker was asked for what it does not have: it is a new one in the place of another."""


# Blocks by (data, number), row states by (version, number).
_KEPT: dict[tuple[str, int], object] = {}


def load(
    name: str,
    sources: dict[int, Callable[[], tuple[Counts, Array]]],
    kernels: Kernels,
    given: str | None = None,
) -> dict[int, tuple[Array, float]]:
    """Column totals and weight of some blocks, by number, once the blocks are here.

    They may be beside those of other data, which are here already.
    """
    told, kernels = {}, _own(kernels)
    for number, source in sources.items():
        counts, weight = source()
        block = blocks_of(counts, np.array([0, counts.n_rows]), weight)[0]
        if given is not None:
            block = dataclasses.replace(block, given=_get(given, number))
        block = kernels.prepare(block)
        _KEPT[name, number] = block
        told[number] = (block.column_totals, float(block.weight.sum()))
    return told


def work(
    name: str,
    numbers: Iterable[int],
    rows: RowStates,
    made: str,
    kernels: Any,
    n_threads: int,
    parts: tuple[AnyTask, tuple[object, ...]],
    n_blocks: int,
    dead: Iterable[str],
) -> Nodes:
    """Sums over some blocks of what a task makes of them; the row states stay here.

    Before that, whatever has one of the names `dead` is forgotten.
    """
    forget(dead)
    task, shared = parts
    kernels = _own(kernels)
    if getattr(kernels, "n_threads", 0) is None:
        kernels = dataclasses.replace(kernels, n_threads=n_threads)
    nodes: Nodes = {}
    for number in numbers:
        done = task(kernels, _get(name, number), _state(rows, number), *shared)
        _KEPT[made, number] = done.rows
        stats = _nested.on_host(done.stats)
        if n_blocks > 1:
            stats = _nested.apply(lambda sums: np.asarray(sums, np.float64), stats)
        nodes[0, number] = (stats, float(done.energy))
        nodes = joined(nodes, {}, n_blocks)
    return nodes


def _own(kernels: Kernels) -> Any:
    """The kernels, on a device of this worker where the client may have none."""
    return kernels.made() if isinstance(kernels, Elsewhere) else kernels


def joined(first: Nodes, second: Nodes, n_blocks: int) -> Nodes:
    """Nodes of both, with siblings added up as far as that goes."""
    nodes = {**first, **second}
    ready = sorted(nodes)
    while ready:
        level, number = ready.pop()
        last = (n_blocks - 1) >> level
        if (level, number) not in nodes or not last:
            continue
        left, right = number & ~1, number | 1
        if right > last:  # the last one of its level has no sibling
            nodes[level + 1, number >> 1] = nodes.pop((level, number))
        elif (level, left) in nodes and (level, right) in nodes:
            (stats, energy), (more, other) = nodes.pop((level, left)), nodes.pop((level, right))
            nodes[level + 1, number >> 1] = (_nested.add(stats, more), energy + other)
        else:
            continue
        ready.append((level + 1, number >> 1))
    return nodes


def fetch(name: str, numbers: Iterable[int]) -> dict[int, RowStates]:
    """Row states of some blocks; those of a GPU leave it here and not before."""
    return {number: _nested.on_host(_get(name, number)) for number in numbers}


def keep(name: str, states: dict[int, object]) -> None:
    """Keep row states under a name."""
    _KEPT.update({(name, number): state for number, state in states.items()})


def present(name: str) -> list[int]:
    """Numbers of the blocks, or row states, that are here."""
    return [number for one, number in list(_KEPT) if one == name]


def forget(names: Iterable[str]) -> None:
    """Keep nothing of these names any more."""
    gone = set(names)
    for key in [key for key in list(_KEPT) if key[0] in gone]:
        _KEPT.pop(key, None)


def clients(dask_scheduler: Any = None) -> list[str]:
    """Names of the clients that are connected; runs on the scheduler."""
    return list(dask_scheduler.clients)


def forget_others(owners: Iterable[str]) -> None:
    """Keep only what belongs to these clients."""
    alive = set(owners)
    forget({name for name, _ in list(_KEPT) if name.split("/")[0] not in alive})


def _get(name: str, number: int) -> Any:
    try:
        return _KEPT[name, number]
    except KeyError:
        raise GoneError(f"{name} {number}") from None


def _state(rows: RowStates, number: int) -> RowStates:
    """Row state of a block: that of a version, or a tuple of several."""
    if isinstance(rows, str):
        return _get(rows, number)
    return tuple(_state(one, number) for one in rows)


# Where blocks come from ---------------------------------------------------------------------------


def rows_of(counts: CountTable, first: int, last: int) -> Counts:
    """Counts of the rows from the first up to, and not with, the last."""
    return counts.rows(first, last)


def source(piece: Any, weight: Array | None) -> tuple[Counts, Array]:
    """Counts of a piece and the weights (I,) of its rows."""
    counts = piece()
    return counts, np.ones(counts.n_rows) if weight is None else weight


def sent(given: Any) -> object:
    """A source as it travels: rows of counts in this process are cut first."""
    piece, weight = given.args
    return partial(source, partial(_given, piece()), weight) if piece.args[0].in_memory else given


def _given(counts: Counts) -> Counts:
    return counts
