"""Loading the code that a fit needs before its memory is counted."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from isotherm.anneal import journal
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError

log = logging.getLogger("isotherm")

_LOADED: set[tuple[Any, ...]] = set()


def loaded(estimator: Any, auto: str) -> None:
    """Fit a copy of an estimator to a few counts, once for every kind, device and precision.

    Compilers and compiled kernels take a hundred megabytes or more, whatever the counts are.
    """
    asked = estimator._settings.precision
    precision = auto if asked == "auto" else asked
    key = type(estimator), estimator.device, precision
    if key in _LOADED:
        return
    _LOADED.add(key)
    counts = Counts(np.random.default_rng(0).poisson(1.0, (40, 30)) + np.eye(40, 30))
    other = clone(estimator).set_params(
        engine__callbacks=(),
        engine__precision=precision,
        random_state=0,
        verbose=False,
        max_iter=2,
    )
    before, log.disabled = log.disabled, True
    try:
        # What does not fit a few counts may fit many: whatever happens here says nothing.
        with warnings.catch_warnings(), journal.writing_to(journal.NOTHING):
            warnings.simplefilter("ignore")
            other.fit(counts)
    except (IsothermError, ValueError, ArithmeticError):
        pass
    finally:
        log.disabled = before
