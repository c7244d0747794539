"""TTMM and PCP as estimators."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from isotherm import (
    PCP,
    TTMM,
    Callback,
    Engine,
    Exponential,
    Fixed,
    IsothermWarning,
    Noisy,
    TimeLimit,
)
from isotherm.evaluate import nmi
from isotherm.models.pcp import FactorizedPcp, Pcp
from support.corpora import admixture, one_topic_each

X, LABELS = one_topic_each(90, 40, 3)
NEW = one_topic_each(90, 40, 3, seed=0, length=25)[0]
KINDS: dict[str, Any] = {
    "ttmm": (TTMM, {}),
    "structured": (PCP, {}),
    "factorized": (PCP, {"inference": "factorized"}),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request: pytest.FixtureRequest) -> Any:
    made, settings = request.param
    return lambda *a, **k: made(*a, **{"random_state": 0, **settings, **k})


@pytest.fixture(scope="module")
def fits() -> dict[str, Any]:
    return {name: made(3, 4, random_state=0, **s).fit(X) for name, (made, s) in KINDS.items()}


@pytest.mark.parametrize("name", KINDS)
def test_planted_clusters_are_found_from_every_seed(name: str, fits: dict[str, Any]) -> None:
    for seed in range(3):
        again = clone(fits[name]).set_params(random_state=seed, tol=1e-4)
        model = again.fit(X) if seed else fits[name]
        assert nmi(LABELS, model.labels_) == pytest.approx(1.0)
        assert model.predict(NEW[:30]).shape == (30,)
        assert nmi(LABELS, model.predict(X)) == pytest.approx(1.0)


@pytest.mark.parametrize("name", KINDS)
def test_attributes(name: str, fits: dict[str, Any]) -> None:
    model = fits[name]
    assert model.components_.shape == (4, 40)
    assert model.components_.sum(axis=1) == pytest.approx(np.ones(4))
    assert model.cluster_centers_.shape == (3, 4)
    assert model.cluster_centers_.sum(axis=1) == pytest.approx(np.ones(3))
    assert model.cluster_weights_ == pytest.approx(np.full(3, 1 / 3), abs=0.02)
    assert model.weights_ == pytest.approx(model.cluster_weights_ @ model.cluster_centers_)
    assert model.row_weights_.sum(axis=1) == pytest.approx(np.ones(90))
    assert (model.labels_ == model.row_weights_.argmax(axis=1)).all()
    assert model.n_live_ == 3
    assert model.temperature_ == 1.0
    assert list(model.get_feature_names_out()) == [
        f"{type(model).__name__.lower()}{m}" for m in range(3)
    ]
    assert "clusters: 3" in model.describe()
    assert len(model.top_words(5)) == 4
    if name != "ttmm":
        assert model.elbo_ == -model.free_energy_ < 0
        assert model.alpha_ == 1.0
        assert model.concentration_ == pytest.approx(np.full(4, 0.25))


@pytest.mark.parametrize("name", KINDS)
def test_new_rows_are_treated_one_by_one(name: str, fits: dict[str, Any]) -> None:
    model = fits[name]
    for method in (model.transform, model.project, model.predict):
        whole = method(NEW)
        np.testing.assert_array_equal(method(NEW[10:13]), whole[10:13])
        np.testing.assert_array_equal(method(sparse.csr_array(NEW)), whole)
        np.testing.assert_array_equal(method(NEW.astype(np.float32)), whole)
    assert model.transform(NEW).shape == (90, 3)
    assert model.project(NEW).shape == (90, 4)
    assert model.project(NEW).sum(axis=1) == pytest.approx(np.ones(90))


@pytest.mark.parametrize("name", KINDS)
def test_topics_of_a_row_are_those_of_its_words(name: str, fits: dict[str, Any]) -> None:
    model = fits[name]
    m = model.cluster_weights_.argmax()
    rows = model.project(X)[model.labels_ == m]
    assert rows.mean(axis=0) == pytest.approx(model.cluster_centers_[m], abs=0.02)


def test_an_empty_row_gets_the_prior_and_a_warning(kind: Any) -> None:
    counts = X.copy()
    counts[[4, 9]] = 0
    with pytest.warns(IsothermWarning, match="2 of 90 rows are empty; they get the prior"):
        model = kind(3, 4).fit(counts)
    prior = model.row_weights_[4]
    assert prior == pytest.approx(model.cluster_weights_, abs=0.05)
    assert model.labels_[4] == prior.argmax()
    assert model.transform(counts[[9]])[0] == pytest.approx(prior, abs=0.01)
    assert model.project(counts[[9]])[0] == pytest.approx(
        model.transform(counts[[9]])[0] @ model.cluster_centers_
    )


def test_a_cluster_for_every_document() -> None:
    model = PCP("documents", 3, inference="factorized", random_state=0).fit(X)
    assert isinstance(model.model_, FactorizedPcp)
    assert model.model_.n_clusters == 90
    assert 3 <= model.n_live_ < 60
    assert model.row_weights_.shape == (90, model.n_live_)
    assert model.row_weights_.sum(axis=1) == pytest.approx(np.ones(90))
    assert model.perplexity(NEW) == model.perplexity(NEW, definition="fresh")
    twice = PCP("documents", 3, inference="factorized", random_state=0).fit(
        X[:45], sample_weight=np.full(45, 2.0)
    )
    assert twice.params_.eta.sum() == pytest.approx(90 + twice.n_live_ / 45, abs=1e-3)


def test_hyper_parameters_are_learned() -> None:
    rows, _ = admixture(80, 40)
    for inference in ("structured", "factorized"):
        given = PCP(6, 3, inference=inference, random_state=0).fit(rows)
        model = PCP(6, 3, inference=inference, learn_hyper=True, random_state=0).fit(rows)
        assert model.elbo_ > given.elbo_ + 1
        assert model.alpha_ != 1.0
        assert np.ptp(model.concentration_) > 0
    assert PCP(1, 3, learn_hyper=True, random_state=0).fit(rows).alpha_ == 1.0


def test_priors_are_not_learned_while_clusters_coincide() -> None:
    """A prior of clusters that are all alike would keep them so: nothing would be found at all."""
    cooled = {"schedule": Exponential(0.7, start=30.0), "random_state": 0}
    given = PCP(3, 3, **cooled).fit(X)
    model = PCP(3, 3, learn_hyper=True, **cooled).fit(X)
    assert model.elbo_ > given.elbo_
    assert nmi(LABELS, model.labels_) == pytest.approx(1.0)


def test_words_that_no_topic_has_say_nothing(kind: Any) -> None:
    counts, unseen = X.copy(), np.zeros((2, 40), int)
    counts[:, 7] = 0
    unseen[0, 7] = 5
    model = kind(3, 4, smooth=0.0, max_iter=20).fit(counts)
    for method in (model.transform, model.project):
        found = method(unseen)
        np.testing.assert_array_equal(found[0], found[1])
        mixed = counts[:4] + unseen[0]
        np.testing.assert_allclose(method(mixed), method(counts[:4]), rtol=1e-12, atol=1e-300)


def test_concentrations_and_topics_are_taken() -> None:
    table = admixture()[1]
    settings = {"concentration": [0.2, 0.3, 0.4], "topics": table, "random_state": 0}
    model = PCP(3, 3, alpha=2.5, **settings).fit(X)
    assert model.concentration_ == pytest.approx([0.2, 0.3, 0.4])
    assert model.alpha_ == 2.5
    assert isinstance(model.model_, Pcp)
    found = np.abs(model.components_[:, None] - table).sum(axis=2).argmin(axis=1)
    assert found.tolist() == [0, 1, 2]
    own = PCP("documents", 3, inference="factorized", **settings).fit(X)
    assert np.abs(own.components_ - table).sum(axis=1).max() < 0.5


def test_the_best_of_several_runs_is_kept() -> None:
    rows, _ = admixture(40, 30, 5, seed=2)
    rough = {"start": Noisy(0.5), "schedule": Fixed(1.0), "max_iter": 5}
    one = [PCP(5, 4, random_state=seed, **rough).fit(rows).elbo_ for seed in range(6)]
    many = PCP(5, 4, random_state=0, n_init=8, **rough).fit(rows)
    assert len(set(one)) > 1
    assert many.elbo_ >= one[0]
    assert many.elbo_ > np.mean(one)


class StopAfter(Callback):
    """Presses Ctrl-C in a sweep."""

    def __init__(self, sweeps: int) -> None:
        self.left = sweeps

    def on_sweep(self, *heard: Any, **more: Any) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("more", [1, 3, 5])
def test_an_interrupted_run_does_not_replace_a_finished_one(more: int) -> None:
    """At a higher temperature energies are lower: those of the two runs do not compare."""
    rough = {"schedule": Exponential(0.25, start=64.0), "max_iter": 2, "random_state": 0}
    one = TTMM(3, 4, **rough).fit(X)
    with pytest.warns(ConvergenceWarning, match="fit was interrupted"):
        model = TTMM(
            3, 4, n_init=2, engine=Engine(callbacks=[StopAfter(one.n_iter_ + more)]), **rough
        ).fit(X)
    assert model.outcome_.startswith("interrupted")
    assert model.temperature_ == 1.0
    np.testing.assert_array_equal(model.row_weights_, one.row_weights_)


def test_it_cools_as_told(kind: Any) -> None:
    model = kind(3, 4, schedule=Exponential(0.5, start=8.0)).fit(X)
    assert [record.temperature for record in model.trace_] == [8.0, 4.0, 2.0, 1.0]
    assert nmi(LABELS, model.labels_) == pytest.approx(1.0)


def test_weights_are_copies(kind: Any) -> None:
    weight = np.where(np.arange(90) % 2, 2.0, 1.0)
    heavy = kind(3, 4, engine=Engine(precision="float64")).fit(X, sample_weight=weight)
    twice = kind(3, 4, engine=Engine(precision="float64")).fit(
        np.repeat(X, weight.astype(int), axis=0)
    )
    assert heavy.free_energy_ == pytest.approx(twice.free_energy_, rel=1e-6)
    assert heavy.cluster_weights_ == pytest.approx(twice.cluster_weights_, abs=1e-4)


def test_clone_and_refit_give_the_same(kind: Any) -> None:
    model = kind(3, 4, max_iter=5).fit(X)
    again = clone(model).fit(X)
    np.testing.assert_array_equal(again.components_, model.components_)
    np.testing.assert_array_equal(model.fit_predict(X), again.labels_)
    np.testing.assert_array_equal(model.fit_transform(X), again.transform(X))


def test_one_topic_warns_and_has_constant_labels() -> None:
    for made in (TTMM, PCP):
        with pytest.warns(IsothermWarning, match="clusters over one topic do not differ"):
            model = made(3, 1, random_state=0).fit(X)
        assert len(np.unique(model.labels_)) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PCP(1, 1, random_state=0).fit(X)
    assert (model.row_weights_ == 1).all()
    totals = X.sum(axis=0) + 0.1
    assert model.components_[0] == pytest.approx(totals / totals.sum(), rel=1e-5)


def test_more_clusters_than_rows_do_no_harm(kind: Any) -> None:
    model = kind(12, 3).fit(X[:5])
    assert model.n_live_ <= 12
    assert np.isfinite(model.transform(X[:5])).all()
    assert np.isfinite(model.perplexity(X[:5], definition="mean"))


def test_a_stopped_run_is_a_fit(kind: Any) -> None:
    model = kind(3, 4, engine=Engine(callbacks=[TimeLimit(1e-9)])).fit(X)
    assert model.outcome_ == "a rule stopped the run"
    assert model.labels_.shape == (90,)


def test_ttmm_has_a_hard_limit() -> None:
    model = TTMM(3, 4, schedule=Exponential(start=2.0, end=0.0), random_state=0).fit(X)
    assert model.temperature_ == 0.0
    assert set(np.unique(model.row_weights_)) == {0.0, 1.0}
    assert nmi(LABELS, model.labels_) == pytest.approx(1.0)
