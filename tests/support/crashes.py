"""Fits that end with a crash at a given note of their journal."""

import pytest

from isotherm import GTM, PCP, AspectModel, Engine, Exponential, Grid, OneSidedClustering
from isotherm.io import checkpoint


class Crash(BaseException):
    """What a test ends a fit with."""


class Crashing:
    """Lets a journal write at the n-th note and raise; counts notes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int = 1 << 60) -> None:
        self.n_notes, self.at = 0, at
        put = checkpoint.File.put

        def noted(file: checkpoint.File, number: int, entry: checkpoint.Entry) -> None:
            put(file, number, entry)
            self.n_notes += 1
            if self.n_notes == self.at:
                file.write()
                raise Crash

        monkeypatch.setattr(checkpoint.File, "put", noted)
        monkeypatch.setattr(checkpoint.File, "leave", lambda file: None)


# Estimators that run in other ways than those of `support.estimators`.
MORE = {
    "grid": AspectModel(2, schedule=Grid((1.5, 1.2, 1.0))),
    "critical": AspectModel(3, engine=Engine(record_critical=True), schedule=Exponential(0.8)),
    "two kinds of growth": OneSidedClustering("auto", max_components=4, schedule=Exponential(0.8)),
    "several starts": PCP(3, 4, n_init=2),
    "maps": GTM(n_nodes=4, n_basis=3, n_init=2, max_iter=30),
}
