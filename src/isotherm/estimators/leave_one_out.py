"""What estimators with a leave-one-out E-step refuse, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np

from isotherm.anneal.schedule import Schedule, lowest
from isotherm.errors import IsothermError

GIB = 1 << 30
# The first posterior (zeros), the best so far, the last one and the next one.
HELD = 4


def check_settings(n_components: Any, schedule: Schedule | None, batches: Any) -> None:
    """Refuse a growing number of components, the hard limit and sweeps by batches."""
    if batches is not None:
        raise IsothermError(
            f"leave_one_out=True with batches={batches!r}; counts that are mixed over batches hold "
            "no token or row as it was last placed: leave one of them out",
            parameter="leave_one_out",
        )
    if isinstance(n_components, str):
        raise IsothermError(
            f"leave_one_out=True with n_components={n_components!r}; components that split have "
            "no last posterior to leave out: give a number, or use leave_one_out=False",
            parameter="leave_one_out",
            also=("n_components",),
        )
    if schedule is not None and lowest(schedule) <= 0:
        raise IsothermError(
            f"leave_one_out=True with schedule={schedule!r}, which goes down to T = 0; "
            "end above 0 (1 is plain EM), or use leave_one_out=False for the hard limit",
            parameter="leave_one_out",
        )


def check_memory(nnz: int, n_components: int, precision: str, limit: float) -> None:
    """Refuse counts whose posteriors (nnz, K) would take more than `limit` GiB."""
    needed = HELD * nnz * n_components * np.dtype(precision).itemsize / GIB
    if needed > limit:
        raise IsothermError(
            f"leave_one_out=True holds {HELD} posteriors for {nnz} non-zeros x {n_components} "
            f"components, {needed:.3g} GiB in {precision}; memory_limit={limit:g} GiB. Use fewer "
            "components, precision='float32', a higher memory_limit, or leave_one_out=False",
            parameter="leave_one_out",
        )
