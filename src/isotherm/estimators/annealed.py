"""What every estimator shares: a fit that leaves no mess, and the settings of the engine."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from isotherm import _checks, _nested
from isotherm.anneal import journal
from isotherm.anneal.callbacks import Callback, Log, Progress
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.schedule import Schedule
from isotherm.anneal.stepwise import Stepwise
from isotherm.anneal.trace import Outcome, Records
from isotherm.data.stored import StoredCounts
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import MOST_THREADS
from isotherm.kernels.devices import kernels_on
from isotherm.placement.memory import watched
from isotherm.placement.place import elsewhere, using

log = logging.getLogger("isotherm")


class Annealed(BaseEstimator):
    """Base of all estimators; not for direct use. A shell defines `_fit`."""

    # Why the fit stays in one process, where it does.
    _one_process: str | None = "data are vectors"

    # How to sweep by batches of rows; a parameter of those that can.
    batches: Stepwise | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None) -> Self:
        """Fit to data.

        Parameters
        ----------
        X : array-like or dataframe, (I, J)
            Non-negative counts (sparse matrices and Counts as well), or vectors for a map.
        y : ignored
        sample_weight : array-like (I,), optional
            How often each row counts.
        client : dask.distributed.Client, optional
            Keep counts and row states on the workers of this cluster. No parameter of the
            constructor: a connection can be neither cloned nor saved, and the result does not
            depend on it.

        Returns
        -------
        self
        """
        if client is not None and self.batches is not None:
            raise IsothermError(
                f"batches={self.batches!r} with a client; workers sweep all of their rows at once: "
                "leave one of them out"
            )
        self._check_client(client)
        if isinstance(X, StoredCounts):
            self._load_libraries(X)
        with self._afresh(), self._fit_told(), using(client), watched() as memory:
            self._fit(X, sample_weight)
            if isinstance(X, StoredCounts):
                self.peak_memory_ = memory.peak
                log.info("peak memory %.0f MB of %.0f MB allowed", memory.peak, X.memory)
        return self

    def _load_libraries(self, counts: StoredCounts) -> None:
        """Load what a fit loads by fitting a few counts: a budget is for data, not for code."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Path of the file that was written; see `isotherm.save`."""
        from isotherm.io import store

        return store.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator of this class that `save` wrote; see `isotherm.load`."""
        from isotherm.format import values
        from isotherm.io import store

        found: Self = values.expect(store.load(path), cls, path)
        return found

    @contextmanager
    def _afresh(self) -> Iterator[None]:
        """Forget the last fit for a new one, but keep it where that fails."""
        if journal.current() is not journal.NOTHING and self.random_state is None:
            raise IsothermError(
                "random_state=None with checkpoints; a fit that is gone on with needs the same "
                "random numbers: give an integer"
            )
        before = dict(vars(self))
        for name in [name for name in before if name.endswith("_")]:
            delattr(self, name)
        try:
            yield
        except BaseException:
            # A fit that fails leaves the estimator as it was, fitted or not.
            self.__dict__ = before
            raise
        self._come_home()
        if self.outcome_ == Outcome.INTERRUPTED.value:
            warnings.warn(f"fit was {self.outcome_}", ConvergenceWarning, stacklevel=4)

    @contextmanager
    def _fit_told(self) -> Iterator[None]:
        """Tell callbacks of the beginning and the end of the fit."""
        given = self.callbacks if isinstance(self.callbacks, Sequence) else ()
        # Those that are none are refused when the parameters are checked.
        listening = [one for one in given if isinstance(one, Callback)]
        for callback in listening:
            callback.on_fit_begin()
        try:
            yield
        finally:
            for callback in listening:
                callback.on_fit_end()

    def _check_client(self, client: Any) -> None:
        """Refuse a cluster where a fit has no blocks to give to its workers."""
        if client is not None and self._one_process is not None:
            raise IsothermError(
                f"client= with {type(self).__name__}, whose {self._one_process}: it is fitted in "
                "one process; leave client out"
            )

    def _fit(self, X: Any, sample_weight: Any) -> None:
        raise NotImplementedError

    def _come_home(self) -> None:
        """Keep what was fitted on the host, wherever that was."""
        for name, value in list(vars(self).items()):
            if name.endswith("_"):
                found = _nested.on_host(value)
                setattr(self, name, Records(found) if name.endswith("trace_") else found)

    def _check_engine(self) -> None:
        """Refuse settings of the engine that make no sense."""
        _checks.number("tol", self.tol, 0.0)
        _checks.integer("max_iter", self.max_iter, 1)
        _checks.flag("over_relax", self.over_relax)
        _checks.flag("record_critical", self.record_critical)
        _checks.one_of("precision", self.precision, ("auto", "float32", "float64", "bfloat16"))
        if self.n_jobs is not None and not (isinstance(self.n_jobs, int) and self.n_jobs == -1):
            _checks.integer("n_jobs", self.n_jobs, 1, MOST_THREADS)
        given = "float32" if self.precision == "auto" else self.precision
        kernels_on(self.device, given, elsewhere=elsewhere())
        if not (self.batches is None or isinstance(self.batches, Stepwise)):
            raise IsothermError(
                f"batches={self.batches!r}; it must be a Stepwise, such as Stepwise(batch=2000), "
                "or None to sweep over all rows at once"
            )
        _checks.provides("schedule", self.schedule, "next", "Exponential() or Fixed(1.0)")
        _checks.callbacks(self.callbacks)

    def _kernels(self) -> Any:
        # The precision of the fit: that of a batch by itself would depend on its size.
        threads = None if self.n_jobs in (None, -1) else int(self.n_jobs)
        return kernels_on(self.device, self.precision_, threads, elsewhere=elsewhere())

    def _engine(self, schedule: Schedule) -> Annealer:
        """The engine with this estimator's settings."""
        callbacks: list[Callback] = [Log(), *self.callbacks]
        if self.verbose or (self.verbose is None and sys.stderr.isatty()):
            callbacks.append(Progress(delay=0.0 if self.verbose else 2.0))
        return Annealer(
            schedule,
            relaxation=Relaxation(cap=3.0) if self.over_relax else NO_RELAXATION,
            tol=self.tol,
            max_sweeps=self.max_iter,
            record_critical=self.record_critical,
            stepwise=self.batches,
            callbacks=callbacks,
        )
