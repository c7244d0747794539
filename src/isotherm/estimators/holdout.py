"""What is held out of the counts to choose the temperature, as values that a user gives.

`validation_fraction` says how much is held out; these say what, and how it is scored.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from isotherm import _checks
from isotherm.errors import IsothermError

__all__ = ["Folds", "Holdout", "Rows", "Tokens"]

DENSITIES = ("prior", "fold-in", "best")


@dataclass(frozen=True)
class Tokens:
    """Tokens of every row are held out, and predicted from the rest (Hofmann & Puzicha 1998)."""


@dataclass(frozen=True)
class Rows:
    """Rows are held out whole; the score is Choi's total perplexity (eq. 4.14).

    Parameters
    ----------
    density : {"prior", "fold-in", "best"}
        Density of an unseen row: mean training weights, weights folded in, or its best component.
    train_weight, test_weight : float
        Weights a and b of the total perplexity: log-likelihood per token of training and of
        held-out rows.
    per_token : bool
        Weigh log-likelihoods per token of either part; False adds the raw sums, which leans to the
        larger part.
    """

    density: str = "prior"
    train_weight: float = 0.0
    test_weight: float = 1.0
    per_token: bool = True

    def __post_init__(self) -> None:
        _checks.one_of("density", self.density, DENSITIES)
        _checks.number("train_weight", self.train_weight, 0.0)
        _checks.number("test_weight", self.test_weight, 0.0)
        _checks.flag("per_token", self.per_token)
        if self.train_weight == self.test_weight == 0:
            raise IsothermError(
                "train_weight and test_weight are both 0; the total perplexity needs one of them"
            )


ROWS = tuple(field.name for field in fields(Rows))


@dataclass(frozen=True)
class Folds:
    """Cross-validation: the temperature that is best on average over folds.

    Every fold is cooled by itself, and folds are compared at equal temperatures relative to their
    first critical temperature (hierarchies: to that at which a tree has grown, and two-sided
    clusterings, which heat, at equal temperatures); the fit is then cooled, on all counts, to the
    best one. It costs one
    fit for every fold, and `validation_fraction` has no effect.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test) indices
        Folds of rows, as scikit-learn's `check_cv` takes them; where tokens are held out, the
        number of parts that the tokens of every row are dealt into.
    of : Tokens or Rows, optional
        What each fold holds out; by default what the estimator holds out.
    """

    cv: object = 5
    of: Tokens | Rows | None = None

    def __post_init__(self) -> None:
        if not (hasattr(self.cv, "split") or np.iterable(self.cv)):
            _checks.integer("cv", self.cv, 2)
        if isinstance(self.of, Tokens) and not isinstance(self.cv, int):
            raise IsothermError(
                f"cv={self.cv!r} with of=Tokens(); tokens are dealt into so many parts: give a "
                "number of at least 2, or of=Rows() for folds of rows",
                parameter="cv",
            )
        if not (self.of is None or isinstance(self.of, Tokens | Rows)):
            raise IsothermError(
                f"of={self.of!r}; it must be Tokens(), Rows() or None", parameter="of"
            )


Holdout = Tokens | Rows | Folds
