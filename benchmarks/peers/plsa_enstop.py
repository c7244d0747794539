"""enstop: PLSA by EM in numba, one fit from random numbers."""

from __future__ import annotations

import warnings

import numpy as np
from _adapter import Job, job

# The newest enstop is older than numpy's parting with these names.
for _name, _kind in (("bool", bool), ("float", float), ("int", int)):
    if _name not in vars(np):
        setattr(np, _name, _kind)

from enstop import PLSA  # noqa: E402


def main(given: Job) -> None:
    counts = given.counts.astype(np.float32)
    # Compiled before the clock starts.
    PLSA(4, n_iter=2, random_state=0).fit(counts[:100])
    with given.timed():
        model = PLSA(given.k, random_state=given.seed, **given.settings)
        documents = model.fit_transform(counts)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    given.finish(model.components_ + 1e-12, lengths @ documents + 1e-12, documents)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(job())
