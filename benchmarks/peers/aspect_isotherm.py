"""isotherm's aspect model, measured in the same way as every peer."""

from __future__ import annotations

from typing import Any

import numpy as np
from _adapter import Job, job

from isotherm import AspectModel, Counts
from isotherm.anneal.callbacks import Callback


class Watch(Callback):
    """A snapshot of the best topics so far at every temperature."""

    def __init__(self, given: Job) -> None:
        self.given = given

    def on_temperature(self, fit: Any) -> bool:
        weights, table = fit.model.components(fit.state.params)
        self.given.snapshot(lambda: (np.array(table.T), np.array(weights)))
        return False


def main(given: Job) -> None:
    counts = Counts(given.counts)
    settings: dict[str, Any] = {"n_jobs": given.threads, **given.settings}
    # Compiled before the clock starts, for either precision that the size may choose.
    few = counts.take_rows(np.arange(min(200, counts.n_rows)))
    for precision in ("float32", "float64"):
        AspectModel(8, precision=precision, random_state=0, n_jobs=given.threads).fit(few)
    with given.timed():
        model = AspectModel(
            given.k, random_state=given.seed, callbacks=[Watch(given)], verbose=False, **settings
        ).fit(counts)
    given.finish(model.components_, model.weights_, model.row_weights_)


if __name__ == "__main__":
    main(job())
