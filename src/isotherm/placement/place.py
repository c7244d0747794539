"""Where the blocks of counts go: this process, its disk, or the workers of a cluster.

What is given decides: `Counts` are placed in memory, `StoredCounts` are streamed from the disk, and
either goes to the workers while a client is in use. Nothing above this file knows the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from isotherm.data.base import Array, Block, Summary
from isotherm.data.counts import Counts
from isotherm.data.stored import StoredCounts, is_stored
from isotherm.kernels.base import Kernels
from isotherm.placement.base import Data
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
) -> Data[Block, Summary]:
    """Data for the engine.

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
    if is_stored(counts):
        return Streamed.place(
            counts, kernels, weight=weight, n_components=n_components, batch=batch
        )
    return Local.place(counts, kernels, weight=weight, batch=batch)
