"""`AspectModel(own_words=...)`: what users see of it, wherever counts are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import isotherm
from isotherm import AspectModel, Counts, Fixed, IsothermError, StoredCounts, split_tokens
from isotherm.models.own_words import AspectOwnWords

SEED: dict[str, Any] = {"random_state": 0, "n_jobs": 1}


def texts(own: float = 0.25, seed: int = 0, n: int = 200) -> Any:
    """Counts of rows that mix three topics, and repeat their own words."""
    rng = np.random.default_rng(seed)
    table = rng.dirichlet(np.full(40, 0.2), 3)
    counts = np.zeros((n, 40))
    for row in counts:
        words = rng.choice(40, 50, p=rng.dirichlet(np.full(3, 0.3)) @ table)
        for at in range(1, len(words)):
            if rng.random() < own:
                words[at] = words[rng.integers(at)]
        np.add.at(row, words, 1)
    return counts


X = texts()
MODEL = AspectModel(3, own_words=True, **SEED).fit(X)


def test_tokens_are_predicted_better() -> None:
    given, held = split_tokens(texts(seed=1), (0.5, 0.5), 0)
    plain = AspectModel(3, **SEED).fit(X)
    assert MODEL.perplexity(given, held) < 0.9 * plain.perplexity(given, held)
    assert MODEL.score(texts(seed=1)) > plain.score(texts(seed=1))
    assert plain.own_weight_ == 0.0
    assert type(MODEL.model_) is AspectOwnWords


def test_the_weight_is_one_that_is_given() -> None:
    model = clone(MODEL).set_params(own_words=0.2).fit(X)
    assert model.own_weight_ == 0.2
    none = clone(MODEL).set_params(own_words=0.0).fit(X)
    plain = AspectModel(3, **SEED).fit(X)
    assert none.own_weight_ == 0.0
    assert none.components_ == pytest.approx(plain.components_, abs=1e-5)
    assert none.free_energy_ == pytest.approx(plain.free_energy_, rel=1e-7)


def test_without_tokens_held_out_it_is_found_by_em() -> None:
    model = AspectModel(3, own_words=True, schedule=Fixed(1.0), validation_fraction=0, **SEED).fit(
        X
    )
    assert 0.02 < model.own_weight_ < MODEL.own_weight_
    assert model.model_.known is None


@pytest.mark.parametrize("given", [{"leave_one_out": True}, {"temper_prior": False}])
def test_what_it_does_not_go_with(given: dict[str, bool]) -> None:
    name = next(iter(given))
    with pytest.raises(IsothermError, match=f"own_words=True with {name}"):
        AspectModel(3, own_words=True, **given).fit(X)


@pytest.mark.parametrize("value", ["yes", -0.1, 1.0, None])
def test_values_that_are_refused(value: Any) -> None:
    with pytest.raises(IsothermError, match="own_words="):
        AspectModel(3, own_words=value).fit(X)


def test_rows_are_folded_in_as_they_were_fitted() -> None:
    assert MODEL.transform(X) == pytest.approx(MODEL.row_weights_, abs=0.02)
    assert MODEL.transform(X[:5]) == pytest.approx(MODEL.transform(X)[:5], abs=1e-12)


def test_what_is_expected_next() -> None:
    expected = MODEL.expected(np.vstack([X[:3], np.zeros(40)]))
    assert expected.sum(axis=1) == pytest.approx(np.ones(4))
    weights, g = MODEL.transform(X[:3]), MODEL.own_weight_
    topics = weights @ MODEL.components_
    wanted = (1 - g) * topics + g * X[:3] / X[:3].sum(axis=1, keepdims=True)
    assert expected[:3] == pytest.approx(wanted)


def test_samples_repeat_themselves() -> None:
    drawn, _ = MODEL.sample(300, random_state=0)
    plain = AspectModel(3, **SEED).fit(X)
    without, _ = plain.sample(300, random_state=0)

    def pairs(counts: Any) -> float:
        n = np.asarray(counts.matrix.todense() if hasattr(counts, "matrix") else counts)
        return float((n * (n - 1)).sum() / (n.sum(axis=1) * (n.sum(axis=1) - 1)).sum())

    assert pairs(drawn) > pairs(without)
    assert drawn.row_totals.sum() == 300 * 50


def test_it_grows_cuts_saves_and_is_edited(tmp_path: Path) -> None:
    model = AspectModel("predict", own_words=True, max_components=8, **SEED).fit(X)
    assert 2 <= model.n_components_ <= 5
    assert 0.1 < model.own_weight_ < 0.6
    model.save(tmp_path / "model.isotherm")
    other = isotherm.load(tmp_path / "model.isotherm")
    assert other.own_weight_ == model.own_weight_
    assert np.array_equal(other.transform(X[:9]), model.transform(X[:9]))
    fewer = model.cut(2, X)
    assert fewer.n_components_ == 2
    assert 0.1 < fewer.own_weight_ < 0.6
    for edited in (MODEL.merge([0, 1]), MODEL.drop(0, X)):
        assert edited.own_weight_ == MODEL.own_weight_
        assert edited.transform(X[:3]).shape == (3, 2)


def test_counts_on_the_disk_give_the_same(tmp_path: Path) -> None:
    names = [f"word {j}" for j in range(40)]
    stored = StoredCounts.write(tmp_path / "counts", Counts(X, column_names=names), memory=64)
    found = AspectModel(3, own_words=True, **SEED).fit(stored)
    assert found.own_weight_ == pytest.approx(MODEL.own_weight_, abs=1e-3)
    assert found.components_ == pytest.approx(MODEL.components_, abs=1e-4)


def test_weights_of_rows_are_copies() -> None:
    settings = {**SEED, "own_words": True, "schedule": Fixed(1.1), "validation_fraction": 0}
    heavy = AspectModel(3, **settings).fit(X[:60], sample_weight=np.full(60, 2.0))
    twice = AspectModel(3, **settings).fit(np.vstack([X[:60], X[:60]]))
    assert heavy.own_weight_ == pytest.approx(twice.own_weight_, rel=1e-6)
    assert heavy.components_ == pytest.approx(twice.components_, abs=1e-6)
