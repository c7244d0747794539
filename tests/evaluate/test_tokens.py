"""Perplexity of held-out tokens, against the formula in numpy."""

from typing import Any

import numpy as np
import pytest

from isotherm import evaluate
from isotherm.anneal.engine import Annealer
from isotherm.anneal.fold import fold_in
from isotherm.anneal.schedule import Fixed
from isotherm.data.counts import Counts
from isotherm.data.split import hold_out_tokens
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.document import Document
from support.anneal import place
from support.corpora import admixture


@pytest.mark.parametrize(
    ("model", "T"), [(Aspect(3), 1.2), (Cluster(3, 2.0), 3.0), (Document(3, 2.0), 3.0)]
)
@pytest.mark.parametrize("smoothing", [0.0, 1e-3, 1.0])
def test_held_out_log_likelihood(model: Any, T: float, smoothing: float) -> None:
    X = admixture(60, 30)[0]
    data = place(X[:40])
    params = Annealer(Fixed(T), max_sweeps=10).run(model, data, np.random.default_rng(0)).state[0]
    given, held = evaluate.completion_halves(Counts(X[40:]))
    background = np.arange(1.0, 31.0) / np.arange(1.0, 31.0).sum()
    total, tokens = evaluate.heldout_log_likelihood(
        model, params, T, given, held, background, Cpu("float64"), smoothing
    )
    new = place(given.matrix.toarray())
    rows = fold_in(model, params, new, T)
    weights, table = model.mixture(params, new.gather(rows))
    p = (1 - smoothing) * weights @ table.T + smoothing * background
    m = held.matrix.toarray().astype(float)
    assert tokens == m.sum()
    expected = (m * np.log(np.maximum(p, 1e-300))).sum()
    assert total == pytest.approx(expected, rel=1e-10)
    assert evaluate.perplexity(total, tokens) == pytest.approx(np.exp(-total / tokens))


def test_halves_are_the_split_by_content() -> None:
    counts = Counts(admixture()[0])
    for part, same in zip(
        evaluate.completion_halves(counts), hold_out_tokens(counts, 0.5, 0), strict=True
    ):
        np.testing.assert_array_equal(part.matrix.toarray(), same.matrix.toarray())
    other = evaluate.completion_halves(counts, seed=1)[0]
    assert (other.matrix != evaluate.completion_halves(counts)[0].matrix).nnz > 0


def test_parts_must_have_the_same_shape() -> None:
    X = admixture(10, 6)[0]
    model = Aspect(2)
    data = place(X)
    params = Annealer(Fixed(1.0), max_sweeps=2).run(model, data, np.random.default_rng(0)).state[0]
    with pytest.raises(IsothermError, match=r"\(10, 6\).*\(9, 6\).*same rows and columns"):
        evaluate.heldout_log_likelihood(
            model, params, 1.0, Counts(X), Counts(X[:9]), np.full(6, 1 / 6), Cpu("float64")
        )


@pytest.mark.parametrize(
    ("total", "tokens", "expected"), [(-10.0 * np.log(7.0), 10.0, 7.0), (0.0, 3.0, 1.0)]
)
def test_perplexity(total: float, tokens: float, expected: float) -> None:
    assert evaluate.perplexity(total, tokens) == pytest.approx(expected)


def test_perplexity_of_nothing() -> None:
    assert np.isnan(evaluate.perplexity(0.0, 0.0))
