"""Where the blocks of counts go: this process, its disk, or the workers of a cluster.

What is given decides: `Counts` are placed in memory, `StoredCounts` are streamed from the disk, and
either goes to the workers while a client is in use. Nothing above this file knows the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from isotherm.data.base import Array
from isotherm.data.counts import Counts
from isotherm.data.split import hold_out_tokens
from isotherm.data.stored import StoredCounts
from isotherm.kernels.base import Kernels
from isotherm.placement.disk.streamed import Streamed
from isotherm.placement.local import Local

AnyCounts = Counts | StoredCounts

_CLIENT: ContextVar[object] = ContextVar("isotherm client", default=None)


@contextmanager
def using(client: object) -> Iterator[None]:
    """Let counts that are placed within the block go to a client's workers; None: stay here."""
    before = _CLIENT.set(client)
    try:
        yield
    finally:
        _CLIENT.reset(before)


def elsewhere() -> bool:
    """Whether counts that are placed now go to the workers of a cluster."""
    return _CLIENT.get() is not None


def place(
    counts: AnyCounts,
    kernels: Kernels,
    *,
    weight: Array | None = None,
    n_components: int = 64,
    batch: int | None = None,
) -> Any:
    """Data for the engine, with `beside` and `gather` besides the contract.

    Parameters
    ----------
    counts : Counts or StoredCounts, (I, J)
    kernels : Kernels
    weight : (I,) array, optional
        Row weights; ones by default.
    n_components : int
        How many components to expect, where memory is short.
    batch : int, optional
        Rows to a batch, where not all rows are swept at once; not for workers.
    """
    client = _CLIENT.get()
    if client is not None:
        from isotherm.placement.cluster.remote import Remote

        return Remote.place(counts, kernels, client, weight=weight)
    if isinstance(counts, StoredCounts):
        return Streamed.place(
            counts, kernels, weight=weight, n_components=n_components, batch=batch
        )
    return Local.place(counts, kernels, weight=weight, batch=batch)


def hold_out(counts: AnyCounts, fraction: float, seed: int) -> tuple[Any, Any]:
    """Counts to fit and counts to hold out, dealt by the content of each row."""
    if isinstance(counts, StoredCounts):
        return counts.hold_out(fraction, seed)
    return hold_out_tokens(counts, fraction, seed)


def changed(counts: AnyCounts, change: Callable[[Counts], Counts]) -> Any:
    """Counts with a function of rows applied, now or when they are read."""
    return counts.changed(change) if isinstance(counts, StoredCounts) else change(counts)
