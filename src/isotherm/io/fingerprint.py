"""Fingerprints of runs: whether what is asked for now is what was asked for before."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from numbers import Number
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from isotherm._types import RowStates
from isotherm.anneal.engine import Annealer
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.trace import State
from isotherm.data.base import Array
from isotherm.format.archive import library
from isotherm.kernels.base import Kernels
from isotherm.models.base import Model
from isotherm.placement.base import Data, Expected
from isotherm.placement.disk.cache import Shelved


class _Sums(NamedTuple):
    bytes: Array


class Fingerprints:
    """Fingerprints of all that decides what comes out of a run; data are looked at once."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Data, str] = WeakKeyDictionary()

    def of(
        self,
        annealer: Annealer,
        model: Model,
        data: Data,
        rng: np.random.Generator,
        heldout: Heldout | None,
        state: State | None,
    ) -> dict[str, str]:
        """Fingerprint of every part, by its name."""
        rules = [one for one in annealer.callbacks if _is_rule(one)]
        settings = {
            field.name: getattr(annealer, field.name)
            for field in dataclasses.fields(annealer)
            if field.name != "callbacks"
        }
        return {
            "library": library(),
            "data": self._data(data),
            "held-out data": self._heldout(heldout),
            "model": digest(model),
            "settings": digest([*settings.items(), rules]),
            "random numbers": digest(rng.bit_generator.state),
            "start": digest(state),
        }

    def _data(self, data: Data) -> str:
        if data not in self._known:
            _, sums, _ = data.sweep(_sum, data.no_rows)
            kernels = data.kernels
            whole = [type(kernels).__name__, str(np.dtype(kernels.dtype)), sums.bytes]
            self._known[data] = digest(whole)
        return self._known[data]

    def _heldout(self, heldout: object) -> str:
        if not dataclasses.is_dataclass(heldout):
            return digest(heldout)
        parts = [
            (field.name, getattr(heldout, field.name)) for field in dataclasses.fields(heldout)
        ]
        return digest(
            [(name, self._data(one) if hasattr(one, "sweep") else one) for name, one in parts]
        )


def digest(value: object) -> str:
    """SHA-256 of a value: numbers, text, arrays, and whatever has fields of them."""
    total = hashlib.sha256()
    for part in _parts(value):
        total.update(part)
    return total.hexdigest()


def _parts(value: object) -> Iterator[Any]:
    """What a value is made of, in bytes; each with its type, so that nothing runs together."""
    if isinstance(value, Shelved):  # wherever it is, what matters is what it holds
        value = value.open()
    if hasattr(value, "on_device"):
        value = np.asarray(value)
    yield f"<{type(value).__name__}>".encode()
    if isinstance(value, np.ndarray):
        yield f"{value.dtype.str} {value.shape}".encode()
        yield np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    elif value is None or isinstance(value, str | Number):
        yield repr(value).encode("utf-8", "surrogatepass")
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield field.name.encode()
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, dict):
        for name, one in value.items():
            yield repr(name).encode()
            yield from _parts(one)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _parts(one)
    yield b";"


def _is_rule(callback: object) -> bool:
    """Whether a callback is a value: it has settings, and nothing that changes."""
    settings = getattr(type(callback), "__dataclass_params__", None)
    return bool(settings and settings.frozen)


def _sum(k: Kernels, block: object, rows: object) -> Expected[RowStates, _Sums]:
    """Fingerprint of a block as numbers that add up over blocks."""
    found = np.frombuffer(bytes.fromhex(digest(block)), np.uint8)
    return Expected(rows, _Sums(found.astype(np.float64)), 0.0)
