"""Settings of the annealing engine that few ever touch, as one value of every estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from isotherm import _checks
from isotherm.anneal.callbacks import Callback
from isotherm.anneal.stepwise import Stepwise
from isotherm.errors import IsothermError
from isotherm.estimators.holdout import ROWS, Folds, Holdout, Rows, Tokens

__all__ = ["Engine"]

PRECISIONS = ("auto", "float32", "float64", "bfloat16")


@dataclass(frozen=True, repr=False)
class Engine:
    """How the annealing engine works, beyond what every fit is asked for.

    The same value may be given to many estimators. `model.set_params(engine__over_relax=False)`
    and `model.get_params()` reach inside it. An estimator refuses settings that it has no use for.

    Parameters
    ----------
    holdout : Tokens, Rows or Folds, optional
        What chooses the temperature: tokens of every row, whole rows, or folds of either; by
        default tokens, and rows for a `DocumentMixture`.
    patience : int, optional
        Temperatures (of a model that grows, generations of splits) without improvement of the
        held-out score before the cooling stops; by default 2, and 3 for mixtures.
    over_relax : bool, optional
        Over-relaxed EM with an adaptive factor (at most 3) and a safeguard; by default wherever a
        model gains by it.
    batches : Stepwise, optional
        Begin every temperature with passes over batches of rows, after each of which the parameters
        move (stepwise EM), such as `Stepwise(batch=2000)`; for collections where full sweeps are
        wasteful. Free energies are still those of full sweeps.
    record_critical : bool
        Note the critical temperatures of all components in every record of `trace_` (an
        eigen-solve for each).
    memory_limit : float
        Most memory, in GiB, that the posteriors of `leave_one_out` may take.
    precision : {"auto", "float32", "float64", "bfloat16"}
        Type of the tables; "auto" is float32 except for small problems. "bfloat16" is for
        device="cuda" alone: float32, but sweeps gather three digits of it, in less time.
    callbacks : sequence of Callback
        Called at every sweep and temperature, such as `TimeLimit(60)`; not saved with a model.

    Examples
    --------
    >>> from isotherm import AspectModel, Engine
    >>> model = AspectModel(20, engine=Engine(patience=4))
    >>> model.set_params(engine__over_relax=False)
    AspectModel(engine=Engine(patience=4, over_relax=False), n_components=20)
    """

    holdout: Holdout | None = None
    patience: int | None = None
    over_relax: bool | None = None
    batches: Stepwise | None = None
    record_critical: bool = False
    memory_limit: float = 4.0
    precision: str = "auto"
    callbacks: Sequence[Callback] = ()

    def changed(self) -> dict[str, object]:
        """Settings that are not the default ones."""
        mine = {name: getattr(self, name) for name in SETTINGS}
        return {name: value for name, value in mine.items() if not _default(name, value)}

    def __post_init__(self) -> None:
        if not (self.holdout is None or isinstance(self.holdout, Tokens | Rows | Folds)):
            raise IsothermError(
                f"holdout={self.holdout!r}; it must be Tokens(), Rows(), Folds(5) or None",
                parameter="holdout",
            )
        if self.patience is not None:
            _checks.integer("patience", self.patience, 1)
        if self.over_relax is not None:
            _checks.flag("over_relax", self.over_relax)
        if not (self.batches is None or isinstance(self.batches, Stepwise)):
            raise IsothermError(
                f"batches={self.batches!r}; it must be a Stepwise, such as Stepwise(batch=2000), "
                "or None to sweep over all rows at once",
                parameter="batches",
            )
        _checks.flag("record_critical", self.record_critical)
        _checks.number("memory_limit", self.memory_limit, 0.0)
        _checks.one_of("precision", self.precision, PRECISIONS)
        _checks.callbacks(self.callbacks)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.changed().items())
        return f"Engine({inside})"


SETTINGS = tuple(field.name for field in fields(Engine))

# Names that were parameters of estimators once -> how they are written inside `Engine(...)`.
MOVED = {
    **dict.fromkeys(SETTINGS, "{}"),
    "cv": "holdout=Folds({})",
    **dict.fromkeys(ROWS, "holdout=Rows({})"),
}

# Names that parameters of estimators had once -> the name of today, and the values for False, True.
RENAMED = {"equal_rows": ("weighting", ("tokens", "rows"))}


def _default(name: str, value: object) -> bool:
    """Whether a setting has its default value; of callbacks any empty sequence is one."""
    if name == "callbacks" and isinstance(value, Sequence):
        return not len(value)
    default = Engine.__dataclass_fields__[name].default
    return value is default or (type(value) is type(default) and bool(value == default))
