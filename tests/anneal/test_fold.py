"""Folding in: each row by itself."""

from typing import Any

import numpy as np
import pytest

from isotherm.anneal.engine import NO_RELAXATION, Annealer
from isotherm.anneal.fold import SMALL, fold_in
from isotherm.anneal.schedule import Fixed
from isotherm.anneal.trace import Fit
from isotherm.data.base import Array
from isotherm.data.counts import Counts, as_counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from isotherm.placement.local import Local
from support.anneal import place
from support.corpora import admixture

MODELS = [
    (Aspect(4), 1.3),
    (Aspect(4, temper_prior=True), 1.0),
    (Cluster(4, 1.0), 3.0),
    (Cluster(4, 1.0, temper_prior=True), 0.0),
    (Document(4, 1.0), 3.0),
    (Document(4, 1.0), 1.0),
    (Document(4, 1.0, stepwise=True), 2.0),
]
KERNELS = [Cpu("float64"), Cpu("float32"), Cpu("float64", 1), Reference()]


def fitted(model: Any, T: float, X: Array, kernels: Any, **settings: Any) -> tuple[Local, Fit]:
    data = place(X, kernels)
    settings = {"max_sweeps": 10} | settings
    return data, Annealer(Fixed(T), **settings).run(model, data, np.random.default_rng(0))


def folded(model: Any, fit: Fit, X: Array, T: float, kernels: Any, n_blocks: int = 1) -> Array:
    counts = as_counts(X, allow_empty=True)
    data = Local.place(counts, kernels, n_blocks=n_blocks)
    rows = fold_in(model, fit.state.params, data, T)
    return np.asarray(model.mixture(fit.state.params, data.gather(rows)).weights)


@pytest.mark.parametrize("kernels", KERNELS, ids=["cpu", "float32", "one thread", "numpy"])
@pytest.mark.parametrize(("model", "T"), MODELS)
def test_a_row_does_not_depend_on_its_company(model: Any, T: float, kernels: Any) -> None:
    # More rows than SMALL, of very different lengths, so that rows stop early and are left out.
    rng = np.random.default_rng(0)
    X = rng.poisson(admixture(3 * SMALL, 30)[0] * rng.choice([0.05, 1, 5], (3 * SMALL, 1)))
    X[7] = 0
    _, fit = fitted(model, T, X, kernels)
    whole = folded(model, fit, X, T, kernels)
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(folded(model, fit, X[order], T, kernels), whole[order])
    np.testing.assert_array_equal(folded(model, fit, X, T, kernels, n_blocks=5), whole)
    some = rng.choice(len(X), 20, replace=False)
    np.testing.assert_array_equal(folded(model, fit, X[some], T, kernels), whole[some])
    for i in (0, 7, 11):
        np.testing.assert_array_equal(folded(model, fit, X[[i]], T, kernels), whole[[i]])
    np.testing.assert_allclose(whole.sum(axis=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize(("model", "T"), [pair for pair in MODELS if pair[1] > 0])
def test_training_rows_come_back(model: Any, T: float) -> None:
    X = admixture(40, 25)[0]
    # Plain EM: a relaxed step may throw an entry to its floor, from which it is slow to return.
    settings: dict[str, Any] = {"relaxation": NO_RELAXATION, "tol": 1e-12, "max_sweeps": 2000}
    data, fit = fitted(model, T, X, Cpu("float64"), **settings)
    rows = fold_in(model, fit.state.params, data, T, tol=1e-10, max_sweeps=2000)
    again = model.mixture(fit.state.params, data.gather(rows)).weights
    own = model.mixture(fit.state.params, data.gather(fit.state.rows)).weights
    np.testing.assert_allclose(again, own, atol=1e-4)


@pytest.mark.parametrize(("model", "T"), MODELS)
def test_an_empty_row_gets_the_weights_of_the_corpus(model: Any, T: float) -> None:
    X = admixture()[0]
    _, fit = fitted(model, T, X, Cpu("float64"))
    weights = folded(model, fit, np.zeros((2, X.shape[1])), T, Cpu("float64"))
    if isinstance(model, Document):
        expected = np.full(4, 0.25)
    elif T == 0:
        expected = np.eye(4)[model.components(fit.state.params)[0].argmax()]
    else:
        logs = np.log(model.components(fit.state.params)[0])
        tempered = isinstance(model, Cluster) and model.temper_prior
        expected = np.exp(logs / T if tempered else logs)
        expected /= expected.sum()
    np.testing.assert_allclose(weights, [expected] * 2, rtol=1e-9)


def test_scaling_an_aspect_row_changes_nothing() -> None:
    X = admixture()[0]
    model = Aspect(3)
    _, fit = fitted(model, 1.2, X, Cpu("float64"))
    plain = folded(model, fit, X, 1.2, Cpu("float64"))
    np.testing.assert_allclose(folded(model, fit, 7 * X, 1.2, Cpu("float64")), plain, atol=1e-9)


def test_fewer_sweeps_stop_earlier() -> None:
    X = admixture()[0]
    model = Aspect(3)
    data, fit = fitted(model, 1.0, X, Cpu("float64"))
    one = fold_in(model, fit.state.params, data, 1.0, max_sweeps=1)
    first = model.start(fit.state.params, data.blocks[0], data.kernels)
    step = model.expect(fit.state.params, first, data.blocks[0], 1.0, data.kernels)
    np.testing.assert_array_equal(one[0].table, step.rows.table)


def test_row_weights_do_not_matter() -> None:
    X = admixture()[0]
    model = Aspect(3)
    _, fit = fitted(model, 1.2, X, Cpu("float64"))
    heavy = Local.place(Counts(X), Cpu("float64"), weight=np.arange(1.0, 91.0))
    rows = fold_in(model, fit.state.params, heavy, 1.2)
    weights = model.mixture(fit.state.params, heavy.gather(rows)).weights
    expected = folded(model, fit, X, 1.2, Cpu("float64"))
    np.testing.assert_allclose(weights, expected, atol=1e-9)
