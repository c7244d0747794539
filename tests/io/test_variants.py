"""Every choice that an estimator offers in words, fitted, written and read again."""

import inspect
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isotherm
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
    Fixed,
    Folds,
    HierarchicalClustering,
    IsothermWarning,
    LapPLSI,
    OneSidedClustering,
    Spectral,
    Stepwise,
    Tree,
    TwoSidedClustering,
)
from isotherm.io import registry
from support.estimators import V, X, assert_same

FOLDS = Engine(holdout=Folds(3))
WEIGHTS = ("document", "shared", "uniform")
GROWS: dict[str, Any] = {"n_components": "auto", "max_components": 3}
FACTORIZED = {"inference": "factorized"}
LINKED = {"n_components": 3, "n_neighbors": 3}
# Settings of those that are not three components and nothing else.
SMALL: dict[type[Any], dict[str, Any]] = {
    HierarchicalClustering: {"max_components": 3, "schedule": Exponential(0.8)},
    GTM: {"n_nodes": 6, "n_basis": 3},
    **dict.fromkeys((LapPLSI, LTM, DTM), LINKED),
    **{kind: {"n_clusters": 3, "n_components": 4} for kind in (PCP, TTMM)},
}
BASE: dict[type[Any], dict[str, Any]] = {
    kind: SMALL.get(kind, {"n_components": 3}) for kind in registry.ESTIMATORS
}
# What a choice needs besides.
WITH: dict[tuple[str, Any], dict[str, Any]] = {
    ("n_components", "auto"): GROWS,
    ("n_clusters", "documents"): FACTORIZED,
    ("start", "pca"): {"schedule": Fixed(1.0)},
}
# Weights of nodes that are not all alike.
OWN = ("cluster", "full")
# Settings of the engine, which change no type of what is fitted; and devices, which not all have.
ENGINE = ("over_relax", "precision", "device", "verbose")
# What no docstring has words for, and what two choices make together.
MORE: list[tuple[type[Any], dict[str, Any]]] = [
    (AspectModel, {"n_components": 1}),
    (AspectModel, {"engine": Engine(batches=Stepwise(batch=10))}),
    (AspectModel, {"validation_fraction": 0.0}),
    (AspectModel, {"leave_one_out": True, "temper_prior": False}),
    (AspectModel, {"own_words": True}),
    (AspectModel, {**GROWS, "own_words": 0.3}),
    (AspectModel, {**GROWS, "temper_prior": False}),
    *((OneSidedClustering, {**GROWS, "temper_prior": prior}) for prior in (True, False)),
    (OneSidedClustering, {"leave_one_out": True, "temper_prior": True, "start": Spectral(0.5)}),
    *((DocumentMixture, {**GROWS, "weights": one}) for one in ("shared", "uniform")),
    *((DocumentMixture, {"engine": FOLDS, "weights": one}) for one in WEIGHTS),
    (TwoSidedClustering, {"n_column_components": 2}),
    (TwoSidedClustering, {"n_column_components": 2, "temper_prior": False}),
    (HierarchicalClustering, {"tree": Tree.balanced(2)}),
    *((HierarchicalClustering, {"tree": Tree.balanced(2), "weights": one}) for one in OWN),
    (HierarchicalClustering, {"weights": "full", "engine": Engine(record_critical=True)}),
    (HierarchicalClustering, {"max_components": 1}),
    (GTM, {"n_components": 2, "n_nodes": (4, 5), "n_basis": (2, 3)}),
    (GTM, {"n_init": 1}),
    (DTM, {"n_components": 1}),
    *((PCP, {"n_init": 2, "inference": one}) for one in ("structured", "factorized")),
    (PCP, {**FACTORIZED, "learn_hyper": True}),
    (PCP, {**FACTORIZED, "n_clusters": "documents", "learn_hyper": True}),
    (PCP, {"topics": np.full((4, 15), 1 / 15)}),
    (TTMM, {"n_init": 2}),
]  # fmt: skip


def choices(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Parameters of an estimator and what its docstring lets one choose from."""
    text = (inspect.getdoc(kind) or "").split("Attributes\n")[0]
    for names, allowed in re.findall(r"^(\w[\w, ]*) : (.*)$", text, re.MULTILINE):
        words: list[Any] = re.findall(r'"([\w-]+)"', allowed)
        words += [True, False] * bool(re.search(r"\bbool\b", allowed))
        words += map(int, re.findall(r"(?<=[{ ])\d(?=[,}])", allowed))
        for name in set(names.split(", ")) - set(ENGINE):
            yield from ((name, word) for word in words)


CASES = [
    *((kind, {}) for kind in BASE),
    *((kind, {**WITH.get(one, {}), one[0]: one[1]}) for kind in BASE for one in choices(kind)),
    *MORE,
]


def named(case: Any) -> str:
    if isinstance(case, type):
        return case.__name__
    return ",".join(f"{name}={value}"[:40] for name, value in case.items())


def test_choices_are_read_from_docstrings() -> None:
    assert ("weights", "shared") in set(choices(DocumentMixture))
    assert ("temper_prior", False) in set(choices(AspectModel))
    assert ("n_components", 3) in set(choices(GTM))
    assert len(CASES) > 80


@pytest.mark.parametrize(("kind", "settings"), CASES, ids=named)
def test_every_variant_is_read_as_it_was_written(
    kind: type[Any], settings: dict[str, Any], tmp_path: Path
) -> None:
    model = kind(**{**BASE[kind], **settings}, random_state=0, max_iter=3, n_jobs=1)
    data: Any = V if kind is GTM else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsothermWarning)
        model.fit(data)
    again = isotherm.load(model.save(tmp_path / "model.iso"))
    assert_same(again, model)
    assert np.array_equal(again.transform(data[::5]), model.transform(data[::5]))


def test_a_map_of_points_with_missing_values_is_read_as_it_was_written(tmp_path: Path) -> None:
    some = np.where(np.arange(V.size).reshape(V.shape) % 17 == 3, np.nan, V)
    model = GTM(**BASE[GTM], random_state=0, max_iter=3).fit(some)
    again = isotherm.load(model.save(tmp_path / "model.iso"))
    assert_same(again, model)
    assert np.array_equal(again.transform(some[::5]), model.transform(some[::5]))
