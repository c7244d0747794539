"""What every estimator shares: a fit that leaves no mess, and the settings of the engine."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import logging
import os
import sys
import warnings
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from isotherm import _nested
from isotherm.anneal import journal
from isotherm.anneal.callbacks import Callback, Log
from isotherm.anneal.engine import NO_RELAXATION, Annealer, Relaxation
from isotherm.anneal.progress import Progress
from isotherm.anneal.schedule import Schedule
from isotherm.anneal.trace import Outcome, Records
from isotherm.data.stored import StoredCounts, is_stored
from isotherm.errors import IsothermError
from isotherm.estimators import parameters
from isotherm.estimators.engine import MOVED, RENAMED, SETTINGS, Engine
from isotherm.estimators.parameters import Checks, integer, number, provides, threads
from isotherm.kernels.devices import kernels_on
from isotherm.placement.memory import watched
from isotherm.placement.place import elsewhere, using

log = logging.getLogger("isotherm")


class Annealed(BaseEstimator):
    """Base of all estimators; not for direct use. A shell defines `_fit`."""

    _parameters: ClassVar[Checks] = {
        "tol": number(0.0),
        "max_iter": integer(1),
        "n_jobs": threads,
        "schedule": provides("next", "Exponential() or Fixed(1.0)"),
    }
    # What components are called while a fit goes on.
    _noun: ClassVar[str] = "component"
    # Why the fit stays in one process, where it does.
    _one_process: str | None = "data are vectors"

    # Settings of `engine` that mean something here, and what they are by default.
    _takes: ClassVar[frozenset[str]] = frozenset(SETTINGS)
    _default_patience: ClassVar[int] = 2
    _default_over_relax: ClassVar[bool] = True
    engine: Engine | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = _refusing_moved(cls.__init__)  # type: ignore[method-assign]

    def fit(
        self, X: object, y: object = None, sample_weight: object = None, *, client: object = None
    ) -> Self:
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
        batches = self._settings.batches
        if client is not None and batches is not None:
            raise IsothermError(
                f"batches={batches!r} with a client; workers sweep all of their rows at once: "
                "leave one of them out",
                parameter="batches",
            )
        self._check_client(client)
        if is_stored(X):
            self._load_libraries(X)
        with self._afresh(), self._fit_told(), using(client), watched() as memory:
            self._fit(X, sample_weight)
            if is_stored(X):
                self.peak_memory_ = memory.peak
                log.info("peak memory %.0f MB of %.0f MB allowed", memory.peak, X.memory)
        return self

    def _load_libraries(self, counts: StoredCounts) -> None:
        """Load what a fit loads by fitting a few counts: a budget is for data, not for code."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Parameters of this estimator; with `deep`, the settings of an engine that was given.

        Parameters
        ----------
        deep : bool
        """
        params: dict[str, object] = super().get_params(deep)
        engine = params.get("engine")
        if deep and isinstance(engine, Engine):
            params |= {f"engine__{name}": getattr(engine, name) for name in sorted(self._takes)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `engine__patience=4` sets one of the engine and leaves the others.

        Parameters
        ----------
        **params : any
        """
        _refuse_former(type(self).__name__, self._get_param_names(), params)
        inside = {name: value for name, value in params.items() if name.startswith("engine__")}
        own = {name: params[name] for name in params if name not in inside}
        settings = {name.removeprefix("engine__"): value for name, value in inside.items()}
        unknown = sorted(settings.keys() - self._takes)
        if unknown:
            raise IsothermError(
                f"engine__{unknown[0]}={settings[unknown[0]]!r}; the engine of a "
                f"{type(self).__name__} takes {', '.join(sorted(self._takes))}"
            )
        if settings:
            # The value may be that of other estimators too: it is replaced, never changed.
            engine = _engine_of(own.get("engine", self.engine))
            own["engine"] = dataclasses.replace(engine, **settings)
        super().set_params(**own)
        return self

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
                "random numbers: give an integer",
                parameter="random_state",
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
        """Tell callbacks of the beginning and the end of the fit, and show how far it is."""
        # Those that are none are refused when the parameters are checked.
        listening = [one for one in self._settings.callbacks if isinstance(one, Callback)]
        if self.verbose or (self.verbose is None and sys.stderr.isatty()):
            listening.append(Progress(delay=0.0 if self.verbose else 2.0, noun=self._noun))
        for callback in listening:
            callback.on_fit_begin()
        try:
            yield
        finally:
            for callback in listening:
                callback.on_fit_end()

    def _check_client(self, client: object) -> None:
        """Refuse a cluster where a fit has no blocks to give to its workers."""
        if client is not None and self._one_process is not None:
            raise IsothermError(
                f"client= with {type(self).__name__}, whose {self._one_process}: it is fitted in "
                "one process; leave client out",
                parameter="client",
            )

    def _fit(self, X: object, sample_weight: object) -> None:
        raise NotImplementedError

    def _come_home(self) -> None:
        """Keep what was fitted on the host, wherever that was."""
        for name, value in list(vars(self).items()):
            if name.endswith("_"):
                found = _nested.on_host(value)
                setattr(self, name, Records(found) if name.endswith("trace_") else found)

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before any work."""
        parameters.check(self)
        self._check_engine()
        self._check()

    def _check_engine(self) -> None:
        """Refuse settings of the engine that make no sense here."""
        engine = self._settings
        useless = [name for name in self._own_engine.changed() if name not in self._takes]
        if useless:
            raise IsothermError(
                f"engine={self.engine!r} with {type(self).__name__}, which has no use for "
                f"{useless[0]}; leave it out (it takes {', '.join(sorted(self._takes))})",
                parameter="engine",
            )
        precision = "float32" if engine.precision == "auto" else engine.precision
        kernels_on(self.device, precision, elsewhere=elsewhere())

    def _check(self) -> None:
        """Refuse parameters that do not go together."""

    def _kernels(self) -> Any:
        # The precision of the fit: that of a batch by itself would depend on its size.
        threads = None if self.n_jobs in (None, -1) else int(self.n_jobs)
        return kernels_on(self.device, self.precision_, threads, elsewhere=elsewhere())

    @property
    def _own_engine(self) -> Engine:
        """The engine as it was given."""
        return _engine_of(self.engine)

    @property
    def _settings(self) -> Engine:
        """The settings of the engine, with what is the default of this estimator."""
        engine = self._own_engine
        over_relax = self._default_over_relax if engine.over_relax is None else engine.over_relax
        return dataclasses.replace(
            engine, patience=self._patience_of(engine), over_relax=over_relax
        )

    @property
    def _patience(self) -> int:
        return self._patience_of(self._own_engine)

    def _patience_of(self, engine: Engine) -> int:
        return self._default_patience if engine.patience is None else engine.patience

    def _engine(self, schedule: Schedule) -> Annealer:
        """The engine with this estimator's settings."""
        settings = self._settings
        return Annealer(
            schedule,
            relaxation=Relaxation(cap=3.0) if settings.over_relax else NO_RELAXATION,
            tol=self.tol,
            max_sweeps=self.max_iter,
            record_critical=settings.record_critical,
            stepwise=settings.batches,
            callbacks=[Log(), *settings.callbacks],
        )


def _engine_of(given: object) -> Engine:
    """The value of the parameter `engine`, which may be None."""
    engine = Engine() if given is None else given
    if not isinstance(engine, Engine):
        raise IsothermError(
            f"engine={engine!r}; it must be an Engine, such as Engine(patience=4), or None",
            parameter="engine",
        )
    return engine


def _refusing_moved(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that says where a parameter went which is part of `engine` now."""
    own = inspect.signature(init).parameters

    @functools.wraps(init)
    def checked(self: object, *args: object, **params: object) -> None:
        _refuse_former(type(self).__name__, own, params)
        init(self, *args, **params)

    return checked


def _refuse_former(kind: str, own: Container[str], params: Mapping[str, object]) -> None:
    """Refuse parameters that have another place or name now, and say which."""
    for name, value in params.items():
        if name in own:
            continue
        if name in MOVED:
            raise IsothermError(_where(name, value, kind))
        if name in RENAMED and RENAMED[name][0] in own:
            new, values = RENAMED[name]
            raise IsothermError(
                f"{name}={value!r}; {name} is called {new} now: write "
                f"{kind}(..., {new}={values[bool(value)]!r})",
                parameter=name,
            )


def _where(name: str, value: object, kind: str) -> str:
    """What to write in place of a parameter that is part of `engine` now."""
    setting = MOVED[name].format(f"{name}={value!r}" if name != "cv" else f"{value!r}")
    return (
        f"{name}={value!r}; {name} is a setting of the engine now: write "
        f"{kind}(..., engine=Engine({setting}))"
    )
