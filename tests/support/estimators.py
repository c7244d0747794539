"""Estimators of every class, data for them, and what it means to be the same."""

import copy
import dataclasses
import warnings
from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from isotherm import (
    DTM,
    GTM,
    LTM,
    PCP,
    TTMM,
    AspectModel,
    DocumentMixture,
    Engine,
    Exponential,
    HierarchicalClustering,
    IsothermWarning,
    LapPLSI,
    Noisy,
    OneSidedClustering,
    Spectral,
    Tree,
    TwoSidedClustering,
    checkpointing,
)
from isotherm.anneal.trace import Fit, Record, Records
from isotherm.estimators.levels import Level
from isotherm.io import registry

RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, (40, 15)) + 3 * (np.arange(40)[:, None] // 20 == np.arange(15) // 8)
V = RNG.standard_normal((40, 3)) * [3, 1, 0.3]

# Estimators whose settings are chosen; of every other class there is one with three components.
CHOSEN: dict[str, Any] = {
    "aspect": AspectModel(3),
    "aspect, given settings": AspectModel(
        3,
        schedule=Exponential(0.8, margin=0.9),
        start=Noisy(0.1),
        engine=Engine(precision="float32"),
    ),
    "aspect, left out": AspectModel(2, leave_one_out=True),
    "aspect, own words": AspectModel(2, own_words=True),
    "clusters that grew": OneSidedClustering(
        "auto", max_components=3, schedule=Exponential(0.7), temper_prior=True
    ),
    "clusters, left out": OneSidedClustering(2, leave_one_out=True, start=Spectral(0.5)),
    "documents": DocumentMixture(3),
    "two-sided": TwoSidedClustering(3),
    "hierarchy": HierarchicalClustering(max_components=3, schedule=Exponential(0.8)),
    "given tree": HierarchicalClustering(tree=Tree.balanced(2), weights="cluster"),
    "map": GTM(n_nodes=6, n_basis=3),
    "lap": LapPLSI(3, n_neighbors=3),
    "ltm": LTM(3, n_neighbors=3),
    "dtm": DTM(3, n_neighbors=3),
    "themes": TTMM(3, 4),
    "pcp": PCP(3, 4),
    "pcp, factorized": PCP(3, 2, inference="factorized", topics=np.full((2, 15), 1 / 15)),
    "pcp, own clusters": PCP("documents", 4, inference="factorized", concentration=[0.5] * 4),
}
ESTIMATORS: dict[str, Any] = {
    **CHOSEN,
    **{
        kind.__name__: kind(n_components=3)
        for kind in registry.ESTIMATORS
        if kind not in map(type, CHOSEN.values())
    },
}


def data_of(estimator: Any) -> Any:
    return V if isinstance(estimator, GTM) else X


def assert_same(one: Any, two: Any, where: str = "it") -> None:
    """The same types and the same bits, however deep."""
    assert type(one) is type(two), where
    if isinstance(one, np.ndarray) and one.dtype != object:
        assert one.dtype == two.dtype, where
        assert one.shape == two.shape, where
        assert np.array_equal(one, two, equal_nan=one.dtype.kind == "f"), where
    elif sparse.issparse(one):
        for name in ("data", "indices", "indptr"):
            assert_same(getattr(one, name), getattr(two, name), f"{where}.{name}")
    elif isinstance(one, tuple | list | np.ndarray):
        assert len(one) == len(two), where
        for i, (a, b) in enumerate(zip(one, two, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(one, dict):
        assert one.keys() == two.keys(), where
        for name in one:
            assert_same(one[name], two[name], f"{where}.{name}")
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            name = field.name
            assert_same(getattr(one, name), getattr(two, name), f"{where}.{name}")
    elif hasattr(one, "__dict__") and not isinstance(one, Enum):
        mine, theirs = ({k: v for k, v in vars(x).items() if k[0] != "_"} for x in (one, two))
        assert_same(mine, theirs, where)
    else:
        assert one == two or (one != one and two != two), where


# Few sweeps: tests of checkpoints see whether fits end alike, not how good they are. One thread:
# on so small tables others only wait for each other.
FEW: dict[str, Any] = {"max_iter": 8, "n_jobs": 1}


def fitted(estimator: Any, path: Path | None) -> Any:
    model = copy.deepcopy(estimator).set_params(random_state=0, **FEW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsothermWarning)
        if path is None:
            return model.fit(data_of(model))
        with checkpointing(path, every=1e9):
            return model.fit(data_of(model))


def timeless(value: Any) -> Any:
    """The value with all times set to 0, however deep."""
    if isinstance(value, Record):
        return dataclasses.replace(value, seconds=0.0)
    if isinstance(value, Fit):
        return dataclasses.replace(value, trace=timeless(value.trace))
    if isinstance(value, Level):
        values = {name: timeless(one) for name, one in value.values.items()}
        return dataclasses.replace(value, values=values)
    if type(value) in (tuple, Records):
        return tuple(map(timeless, value))
    return value


def assert_same_fit(one: Any, two: Any) -> None:
    first, second = ({k: timeless(v) for k, v in vars(x).items()} for x in (one, two))
    assert_same(first, second)


def of_counts(kind: type) -> Callable[..., Any]:
    """The class, set to model the counts themselves, where it can weigh them too."""
    return partial(kind, weighting="tokens") if kind is OneSidedClustering else kind
