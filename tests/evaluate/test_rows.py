"""Perplexity of whole rows, against formulas in numpy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm.errors import IsothermError
from isotherm.evaluate import (
    lda_document_bounds,
    mixture_densities,
    plsi_perplexity,
    row_perplexity,
    unigram_perplexity,
)
from support.corpora import admixture

X, TABLE = admixture(30, 20)


def test_row_perplexity_is_per_token_and_leaves_empty_rows_out() -> None:
    counts = np.array([[2, 1], [0, 0], [1, 0]])
    assert row_perplexity(counts, np.array([-3.0, -9.0, -1.0])) == pytest.approx(np.e)


def test_mixture_densities(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = np.log([0.2, 0.3, 0.5])
    direct = np.log((np.exp(X @ np.log(TABLE).T) * [0.2, 0.3, 0.5]).sum(axis=1))
    assert mixture_densities(X, logs, TABLE) == pytest.approx(direct, rel=1e-12)
    monkeypatch.setattr("isotherm.estimators.row_densities.SPAN", 7)
    assert mixture_densities(sparse.csr_array(X), logs, TABLE) == pytest.approx(direct, rel=1e-12)


def test_an_impossible_row_has_no_density() -> None:
    means = np.array([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    counts = np.array([[300, 1, 0], [1, 0, 1]])
    found = mixture_densities(counts, np.log([0.5, 0.5]), means)
    # The first mean has no third column: the second row owes all to the second.
    assert found[1] == pytest.approx(np.log(0.5) + np.log(0.25) + np.log(0.5))
    assert np.isfinite(found[0])
    assert mixture_densities(counts, np.zeros(1), means[:1])[1] == -np.inf
    assert row_perplexity(counts, mixture_densities(counts, np.zeros(1), means[:1])) == np.inf
    bounds = lda_document_bounds(counts, means[:1], 1.0)
    assert bounds[1] == -np.inf
    assert bounds[0] == pytest.approx(301 * np.log(0.5))


def test_lda_bound_is_below_the_integral_and_near_it() -> None:
    rng = np.random.default_rng(0)
    theta = rng.dirichlet([0.5, 0.5, 0.5], 200_000)
    few = X[:4] // 4
    bounds = lda_document_bounds(few, TABLE, 0.5)
    exact = np.log(np.exp(np.log(theta @ TABLE) @ few.T).mean(axis=0))
    assert (bounds < exact).all()
    assert bounds == pytest.approx(exact, abs=1.0)


def test_lda_bound_of_one_topic_is_its_likelihood() -> None:
    found = lda_document_bounds(X, TABLE[:1], 0.7)
    assert found == pytest.approx(X @ np.log(TABLE[0]), rel=1e-9)


def test_lda_bound_of_a_row_is_its_own() -> None:
    whole = lda_document_bounds(X, TABLE, [0.1, 0.5, 1.0])
    assert lda_document_bounds(X[5:7], TABLE, [0.1, 0.5, 1.0]) == pytest.approx(whole[5:7])


def test_plsi_perplexity() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(3), 8)
    p = np.arange(8.0)
    direct = np.log((np.exp(X @ np.log(weights @ TABLE).T) * (p / p.sum())).sum(axis=1))
    expected = np.exp(-direct.sum() / X.sum())
    assert plsi_perplexity(X, weights, TABLE, p) == pytest.approx(expected, rel=1e-12)
    equal = np.log(np.exp(X @ np.log(weights @ TABLE).T).mean(axis=1))
    found = plsi_perplexity(X, weights, TABLE)
    assert found == pytest.approx(np.exp(-equal.sum() / X.sum()), rel=1e-12)


def test_unigram_of_the_split_of_the_newsgroups(shared_data: Path) -> None:
    counts = sparse.load_npz(shared_data / "20news" / "four-groups-counts.npz").tocsr()
    order = np.random.default_rng(0).permutation(4000)
    test, train = counts[order[:400]], counts[order[400:]]
    totals = np.asarray(train.sum(axis=0)).ravel()
    assert unigram_perplexity(test, totals, 0.1) == pytest.approx(3010.6, abs=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lda_document_bounds(X, TABLE * 2, 1.0), "components of shape .* sum to 1"),
        (lambda: lda_document_bounds(X, TABLE, 0.0), "concentration=0.0; .* above 0"),
        (lambda: lda_document_bounds(X, TABLE, [1.0, -1.0, 1.0]), "number above 0, or one per"),
        (lambda: plsi_perplexity(X, -TABLE[:, :3], TABLE), "row_weights of shape .* sum to 1"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        call()
