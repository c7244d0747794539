"""Perplexities of TTMM and PCP: what they are, and when they are infinite."""

from typing import Any

import numpy as np
import pytest

from isotherm import PCP, TTMM, IsothermError, IsothermWarning
from isotherm.estimators.row_densities import lda_document_bounds
from support.corpora import admixture, one_topic_each

X, _ = one_topic_each(90, 40, 3)
NEW = one_topic_each(90, 40, 3, seed=0, length=25)[0]
KINDS: dict[str, Any] = {
    "ttmm": (TTMM, {}),
    "structured": (PCP, {}),
    "factorized": (PCP, {"inference": "factorized"}),
}


@pytest.fixture(scope="module")
def fits() -> dict[str, Any]:
    return {name: made(3, 4, random_state=0, **s).fit(X) for name, (made, s) in KINDS.items()}


def test_perplexities_are_ordered(fits: dict[str, Any]) -> None:
    structured, factorized = fits["structured"], fits["factorized"]
    for model in (structured, factorized):
        bound, mean = (model.perplexity(NEW, definition=d) for d in ("bound", "mean"))
        assert mean <= bound
        assert model.perplexity(NEW, definition="structured") <= bound + 1e-9
        assert model.perplexity(NEW) == bound
    short = NEW // 3  # nothing is sure of rows so short
    loose = factorized.perplexity(short, definition="bound")
    assert loose > factorized.perplexity(short, definition="structured") + 1e-6
    same = structured.perplexity(NEW, definition="structured")
    assert same == structured.perplexity(NEW, definition="bound")


def test_mean_perplexity_is_that_of_the_mixture(fits: dict[str, Any]) -> None:
    for model in fits.values():
        means = np.log(model.cluster_centers_ @ model.components_)
        scores = NEW @ means.T + np.log(model.cluster_weights_)
        top = scores.max(axis=1)
        total = (top + np.log(np.exp(scores - top[:, None]).sum(axis=1))).sum()
        expected = np.exp(-total / NEW.sum())
        assert model.perplexity(NEW, definition="mean") == pytest.approx(expected, rel=1e-9)
    assert fits["ttmm"].perplexity(NEW) == fits["ttmm"].perplexity(NEW, definition="mean")


def test_factorized_bound_is_that_of_an_e_step(fits: dict[str, Any]) -> None:
    model = fits["factorized"]
    data, rows = model._folded(NEW)
    energy = model.model_.expect(model.params_, rows[0], data.blocks[0], 1.0, data.kernels).energy
    expected = np.exp(energy / NEW.sum())
    assert model.perplexity(NEW, definition="bound") == pytest.approx(expected, rel=1e-9)


def test_a_row_of_its_own_cluster_is_fresh() -> None:
    rows, _ = admixture(60, 40)
    model = PCP(50, 3, random_state=0).fit(rows)
    assert model.n_live_ < 50
    odd = admixture(20, 40, seed=0, alpha=5.0)[0]
    fresh, bound = (model.perplexity(odd, definition=d) for d in ("fresh", "bound"))
    assert fresh < bound
    share = (50 - model.n_live_) * (1 / 50) / (1 + 60)
    own = lda_document_bounds(odd, model.components_, model.concentration_)
    known = model._densities(model._counts(odd, reset=False), "bound")
    total = np.logaddexp(known, np.log(share) + own).sum()
    assert fresh == pytest.approx(np.exp(-total / odd.sum()), rel=1e-9)


def test_perplexity_leaves_empty_rows_out_and_completes_documents(fits: dict[str, Any]) -> None:
    model = fits["structured"]
    padded = np.vstack([NEW, np.zeros((3, 40), int)])
    assert model.perplexity(padded) == pytest.approx(model.perplexity(NEW), rel=1e-12)
    assert np.isnan(model.perplexity(np.zeros((2, 40), int)))
    given, held = NEW // 2, NEW - NEW // 2
    assert model.perplexity(given, held) < 40
    halves = model.perplexity(NEW, definition="completion")
    assert halves == pytest.approx(np.exp(-model.score(NEW)))


def test_an_impossible_column_makes_perplexity_infinite() -> None:
    counts = X.copy()
    counts[:, 7] = 0
    model = TTMM(3, 4, smooth=0.0, random_state=0).fit(counts)
    assert np.isfinite(model.perplexity(counts))
    for one in (model, PCP(3, 4, smooth=0.0, inference="factorized", random_state=0).fit(counts)):
        with pytest.warns(IsothermWarning, match="infinite; fit with smooth above 0"):
            assert one.perplexity(X) == np.inf
    smoothed = TTMM(3, 4, random_state=0).fit(counts)
    assert np.isfinite(smoothed.perplexity(X))
    assert smoothed.components_[:, 7] == pytest.approx(smoothed.components_.min(axis=1))


def test_bad_definitions(fits: dict[str, Any]) -> None:
    message = "definition='best'; it must be one of 'auto', 'bound', 'structured', 'mean', 'fresh'"
    with pytest.raises(IsothermError, match=message):
        fits["structured"].perplexity(NEW, definition="best")
    with pytest.raises(IsothermError, match="it must be one of 'auto', 'mean', 'completion'"):
        fits["ttmm"].perplexity(NEW, definition="bound")
    with pytest.raises(IsothermError, match="with X_heldout"):
        fits["structured"].perplexity(NEW, NEW, definition="mean")
