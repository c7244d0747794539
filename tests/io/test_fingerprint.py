import itertools
from typing import NamedTuple

import numpy as np
import pytest

from isotherm import Exponential, HeldoutRule, Progress, TimeLimit
from isotherm.anneal.engine import Annealer
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.data.counts import Counts
from isotherm.io.fingerprint import Fingerprints, digest
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.placement.local import Local


class Pair(NamedTuple):
    a: object
    b: object


DIFFERENT = [
    *(None, 0, 1, True, 1.0, -0.0, "1", "", (), [], (1,), ("1",), (1, (2,)), ((1, 2),), {}),
    *({"a": 1}, {"b": 1}, {"a": 2}, Pair(1, 2), Pair(2, 1), Exponential(0.9), Exponential(0.8)),
    *(np.zeros(6), np.zeros((2, 3)), np.zeros(6, np.float32), np.zeros(0), np.array(0.0)),
    *(np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2).T, Aspect(2), Aspect(3)),
]


def test_different_values_have_different_fingerprints() -> None:
    for one, two in itertools.combinations(DIFFERENT, 2):
        assert digest(one) != digest(two), (one, two)


def test_equal_values_have_the_same() -> None:
    table = np.arange(12.0).reshape(3, 4)
    assert digest(table) == digest(np.asfortranarray(table))
    assert digest(table[::2]) == digest(table[::2].copy())
    assert digest(Pair(table, [Exponential()])) == digest(Pair(table.copy(), [Exponential()]))


def marks(**changes: object) -> dict[str, str]:
    table = np.array([[1.0, 2.0], [0.0, 3.0]])
    parts = {
        "annealer": Annealer(Exponential(), callbacks=[HeldoutRule(3), Progress()]),
        "model": Aspect(2),
        "data": Local.place(Counts(table), Cpu("float64")),
        "rng": np.random.default_rng(0),
        "heldout": HeldoutTokens(Local.place(Counts(table), Cpu("float64"))),
        "state": None,
    } | changes
    return Fingerprints().of(*parts.values())  # type: ignore[arg-type]


OTHER = Local.place(Counts([[1.0, 2.0], [1.0, 3.0]]), Cpu("float64"))
HEAVY = Local.place(Counts([[1.0, 2.0], [0.0, 3.0]]), Cpu("float64"), weight=np.array([1.0, 2.0]))
SHORT = Local.place(Counts([[1.0, 2.0], [0.0, 3.0]]), Cpu("float32"))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({}, set()),
        ({"model": Aspect(3)}, {"model"}),
        ({"data": OTHER}, {"data"}),
        ({"data": HEAVY}, {"data"}),
        ({"data": SHORT}, {"data"}),
        ({"rng": np.random.default_rng(1)}, {"random numbers"}),
        ({"heldout": None}, {"held-out data"}),
        ({"heldout": HeldoutTokens(OTHER)}, {"held-out data"}),
        ({"state": (1, 2)}, {"start"}),
        ({"annealer": Annealer(Exponential(0.5), callbacks=[HeldoutRule(3)])}, {"settings"}),
        ({"annealer": Annealer(Exponential(), callbacks=[HeldoutRule(4)])}, {"settings"}),
        ({"annealer": Annealer(Exponential(), tol=1.0, callbacks=[HeldoutRule(3)])}, {"settings"}),
        # What only watches makes no difference.
        (
            {"annealer": Annealer(Exponential(), callbacks=[TimeLimit(3.0), HeldoutRule(3)])},
            set(),
        ),
        (
            {"data": Local.place(Counts([[1.0, 2.0], [0.0, 3.0]]), Cpu("float64", 1))},
            set(),
        ),
    ],
)
def test_the_part_that_differs_is_known(changes: dict[str, object], what: set[str]) -> None:
    before, after = marks(), marks(**changes)
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} == what
