"""What was changed in a fitted model by hand, and how the model was before each change.

An edit leaves most of a model as it was. What is needed to take it back are the attributes that
changed and, of arrays with an entry for each topic, the topics that are not in the new array.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from isotherm import _nested
from isotherm._types import Array, Fields
from isotherm.errors import IsothermError

M = TypeVar("M")

# What edits leave in a model: a record of each, what takes it back, and topics that stay.
EDITS, BEFORE, PINNED = "edits_", "before_edits_", "pinned_"
# In front of fields of the parameters, where these stand beside attributes.
PARAMS = "params_."


@dataclass(frozen=True)
class Edit:
    """One change that was made to a fitted model by hand.

    Topic `topics[i]`, called `names[i]`, became topic `into[i]`, called `new_names[i]`: several
    that became one were merged, one that became several was split, what was dropped became none.

    Attributes
    ----------
    what : {"rename", "merge", "split", "drop", "pin"}
    topics : tuple of int
        Numbers before the edit.
    names : tuple of str
    into : tuple of int
        Numbers after it; none of a topic that was dropped.
    new_names : tuple of str
    """

    what: str
    topics: tuple[int, ...]
    names: tuple[str, ...]
    into: tuple[int, ...] = ()
    new_names: tuple[str, ...] = ()

    @property
    def reshapes(self) -> bool:
        """Whether topics are others since: a name or a pin changes none."""
        return self.what not in ("rename", "pin")

    def __str__(self) -> str:
        """The edit in words, as `merge 3 (oil), 7 (gas) into 3 (oil gas)`."""
        before = _listed(self.topics, self.names)
        after = _listed(self.into, self.new_names)
        way = "to" if self.what == "rename" else "into"
        same = not self.into or self.what == "pin"
        return f"{self.what} {before}" if same else f"{self.what} {before} {way} {after}"


class Pieces(NamedTuple):
    """An array from before an edit, by what the one after it does not have.

    `axis` of the topics; `source` (K,) where each topic of the old array is in the new one, -1 of
    those that are in `rest`, in order; `fortran` whether columns lie together in memory.
    """

    axis: int
    source: tuple[int, ...]
    rest: Array
    fortran: bool


@dataclass(frozen=True)
class Before:
    """What takes an edit back.

    Attributes
    ----------
    values : dict
        Attributes as they were, those with an entry for each topic as `Pieces`; fields of the
        parameters are called `params_.weight` and so on.
    new : tuple of str
        Attributes that the edit brought.
    into : tuple of int, (K,)
        The number of each topic after the edit, -1 of one that is gone.
    """

    values: Fields = field(default_factory=dict)
    new: tuple[str, ...] = ()
    into: tuple[int, ...] = ()


def fitted_values(model: object) -> Fields:
    """What a fit and edits have set, parameters field by field; without the record of the edits."""
    values: Fields = {}
    for name, value in vars(model).items():
        if not name.endswith("_") or name.startswith("_") or name in (EDITS, BEFORE):
            continue
        if name == "params_":
            values |= {f"{PARAMS}{one}": getattr(value, one) for one in value._fields}
        else:
            values[name] = value
    return values


def difference(old: object, new: object, into: tuple[int, ...]) -> Before:
    """What has to be known besides the new model to have the old one again."""
    first, second = fitted_values(old), fitted_values(new)
    changed = {
        name: _pieces(value, second.get(name))
        for name, value in first.items()
        if not (name in second and _same(value, second[name]))
    }
    return Before(changed, tuple(name for name in second if name not in first), into)


def recorded(edit: Edit, old: M, new: M, into: Array) -> M:
    """The new model, with the edit that made it of the old one and what takes it back."""
    setattr(new, EDITS, (*edits_of(old), edit))
    setattr(new, BEFORE, (*getattr(old, BEFORE, ()), difference(old, new, tuple(into.tolist()))))
    return new


def taken_back(model: M) -> M:
    """A copy of the model as it was before its last edit."""
    before: Before = getattr(model, BEFORE)[-1]
    values, earlier = fitted_values(model), copy.copy(model)
    now = {name: one for name, one in values.items() if name not in before.new}
    now |= {name: _whole(one, values.get(name)) for name, one in before.values.items()}
    params = {
        name.removeprefix(PARAMS): one for name, one in now.items() if name.startswith(PARAMS)
    }
    now["params_"] = vars(model)["params_"]._replace(**params)
    for name in before.new:
        delattr(earlier, name)
    for name in ("params_", *before.values):
        if not name.startswith(PARAMS):
            setattr(earlier, name, now[name])
    for name in (EDITS, BEFORE):
        rest = getattr(model, name)[:-1]
        delattr(earlier, name)
        if rest:
            setattr(earlier, name, rest)
    return earlier


def edits_of(model: object) -> tuple[Edit, ...]:
    """The edits of a model, the first one first."""
    found: tuple[Edit, ...] = getattr(model, EDITS, ())
    return found


def check_unedited(model: object, action: str) -> None:
    """Refuse what only the topics of a fit allow, not those that were changed since."""
    changed = [one for one in edits_of(model) if one.reshapes]
    if changed:
        raise IsothermError(
            f"{action} needs the topics of the fit, and these were edited ({changed[-1]}); take "
            "the edits back by undo() first"
        )


def _listed(topics: tuple[int, ...], names: tuple[str, ...]) -> str:
    known = dict(zip(topics, names, strict=True))
    return ", ".join(f"{k} ({name})" if name else str(k) for k, name in known.items())


def _same(one: object, other: object) -> bool:
    """Whether two values are one and the same, or arrays of the same bits."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one is other or (
            one.dtype == other.dtype
            and one.shape == other.shape
            and one.dtype != object
            and _fortran(one) == _fortran(other)
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, Mapping | np.ndarray) or isinstance(other, np.ndarray):
        return one is other
    return one is other or (type(one) is type(other) and bool(one == other))


def _pieces(old: object, new: object) -> object:
    """The old value, by what the new one does not have where both are arrays of topics."""
    old = _nested.on_host(old)
    if not (isinstance(old, np.ndarray) and isinstance(new, np.ndarray)):
        return old
    axis = _topic_axis(old, new)
    if axis is None:
        return old
    ours, theirs = (np.moveaxis(one, axis, 0) for one in (old, new))
    # Each once: of topics that are equal one may be in the new array, and the others are not.
    numbers = {one.tobytes(): n for n, one in enumerate(theirs)}
    source = tuple(numbers.pop(one.tobytes(), -1) for one in ours)
    rest = np.ascontiguousarray(ours[[n for n, where in enumerate(source) if where < 0]])
    return Pieces(axis, source, rest, _fortran(old))


def _topic_axis(old: Array, new: Array) -> int | None:
    """The axis along which two arrays have another number of entries; None if there is no one."""
    if old.dtype != new.dtype or old.ndim != new.ndim or old.dtype == object:
        return None
    other = [n for n in range(old.ndim) if old.shape[n] != new.shape[n]]
    if len(other) == 1:
        return other[0]
    return None


def _whole(piece: object, new: object) -> object:
    """The old value again."""
    if not isinstance(piece, Pieces):
        return piece
    source = np.array(piece.source, np.intp)
    own = source < 0
    there = source[~own]
    if not isinstance(new, np.ndarray) or new.dtype != piece.rest.dtype:
        raise ValueError("pieces of another array")
    if len(np.unique(there)) != len(there) or len(piece.rest) != own.sum():
        raise ValueError("pieces that do not fit together")
    theirs, shape = np.moveaxis(new, piece.axis, 0), list(new.shape)
    shape[piece.axis] = len(source)
    old = np.empty(shape, new.dtype, order="F" if piece.fortran else "C")
    ours = np.moveaxis(old, piece.axis, 0)
    ours[~own], ours[own] = theirs[there], piece.rest
    return old


def _fortran(array: Array) -> bool:
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)
