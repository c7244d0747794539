"""TTMM and PCP as estimators."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from anneal.corpora import admixture, one_topic_each
from isotherm import (
    PCP,
    TTMM,
    Exponential,
    Fixed,
    IsothermError,
    IsothermWarning,
    Noisy,
    TimeLimit,
)
from isotherm.evaluate import lda_document_bounds, nmi
from isotherm.models.pcp import FactorizedPcp, Pcp

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


def test_planted_clusters_are_found_from_every_seed(kind: Any) -> None:
    for seed in range(3):
        model = kind(3, 4, random_state=seed).fit(X)
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


def test_it_cools_as_told(kind: Any) -> None:
    model = kind(3, 4, schedule=Exponential(0.5, start=8.0)).fit(X)
    assert [record.temperature for record in model.trace_] == [8.0, 4.0, 2.0, 1.0]
    assert nmi(LABELS, model.labels_) == pytest.approx(1.0)


def test_weights_are_copies(kind: Any) -> None:
    weight = np.where(np.arange(90) % 2, 2.0, 1.0)
    heavy = kind(3, 4, precision="float64").fit(X, sample_weight=weight)
    twice = kind(3, 4, precision="float64").fit(np.repeat(X, weight.astype(int), axis=0))
    assert heavy.free_energy_ == pytest.approx(twice.free_energy_, rel=1e-6)
    assert heavy.cluster_weights_ == pytest.approx(twice.cluster_weights_, abs=1e-4)


def test_clone_and_refit_give_the_same(kind: Any) -> None:
    model = kind(3, 4).fit(X)
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


def test_a_stopped_run_is_a_fit(kind: Any) -> None:
    model = kind(3, 4, callbacks=[TimeLimit(1e-9)]).fit(X)
    assert model.outcome_ == "a rule stopped the run"
    assert model.labels_.shape == (90,)


@pytest.mark.parametrize("made", [TTMM, PCP])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0; it must be an integer of at least 1"),
        ({"n_clusters": 2.5}, "n_clusters=2.5; it must be an integer"),
        ({"n_clusters": 5001}, "5001 clusters; at most 5000 .* n_clusters=200"),
        ({"n_components": 0}, "n_components=0; it must be an integer of at least 1"),
        ({"smooth": -0.1}, "smooth=-0.1; it must be a number of at least 0"),
        ({"n_init": 0}, "n_init=0; it must be an integer of at least 1"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"start": "spectral"}, "start='spectral'"),
    ],
)
def test_bad_settings(made: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        made(**settings).fit(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "gibbs"}, "inference='gibbs'; it must be one of 'structured', 'factorized'"),
        ({"n_clusters": "rows"}, "n_clusters='rows'; it must be one of 'documents'"),
        ({"n_clusters": "documents"}, 'give inference="factorized", or a number of clusters'),
        ({"alpha": 0.0}, "alpha=0.0; it must be a number above 0"),
        ({"alpha": -1.0}, "alpha=-1.0; it must be a number of at least 0"),
        ({"concentration": 0.0}, "concentration=0.0; it must be a number above 0"),
        ({"concentration": [1.0, 1.0]}, "concentration=.*one for each of the 10 topics"),
        ({"concentration": [0.0] * 10}, "concentration=.*one for each of the 10 topics"),
        ({"concentration": ["a"] * 10}, "concentration=.*one for each of the 10 topics"),
        ({"topics": np.ones((10, 40))}, r"topics of shape \(10, 40\); they must be 10 rows"),
        ({"topics": -np.ones((10, 40)) / 40}, "of probabilities that sum to 1"),
        ({"topics": np.ones((3, 40)) / 40}, r"topics of shape \(3, 40\); they must be 10 rows"),
        ({"topics": np.ones((10, 7)) / 7}, r"topics has shape \(10, 7\) for 40 columns"),
        ({"learn_hyper": 1}, "learn_hyper=1; it must be True or False"),
        ({"schedule": Exponential(end=0.0)}, "ends at T = 0, where the bound has no meaning"),
        ({"schedule": Fixed(0.0)}, "take TTMM for hard clusters"),
    ],
)
def test_bad_settings_of_pcp(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        PCP(**settings).fit(X)


def test_ttmm_has_a_hard_limit() -> None:
    model = TTMM(3, 4, schedule=Exponential(start=2.0, end=0.0), random_state=0).fit(X)
    assert model.temperature_ == 0.0
    assert set(np.unique(model.row_weights_)) == {0.0, 1.0}
    assert nmi(LABELS, model.labels_) == pytest.approx(1.0)


def test_ttmm_takes_no_word_for_its_clusters() -> None:
    with pytest.raises(IsothermError, match="n_clusters='documents'; it must be an integer"):
        TTMM("documents").fit(X)


def test_too_many_documents_are_refused() -> None:
    counts = sparse.csr_array(np.tile(X[:, :15], (56, 1)))
    with pytest.raises(IsothermError, match=r"5040 clusters; at most 5000 .* n_clusters=200"):
        PCP("documents", 2, inference="factorized").fit(counts)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_counts(kind: Any, bad: float) -> None:
    counts = X.astype(float)
    counts[3, 3] = bad
    with pytest.raises(ValueError, match=r"Negative values|NaN|infinity"):
        kind(3, 4).fit(counts)


def test_bad_definitions(fits: dict[str, Any]) -> None:
    message = "definition='best'; it must be one of 'auto', 'bound', 'structured', 'mean', 'fresh'"
    with pytest.raises(IsothermError, match=message):
        fits["structured"].perplexity(NEW, definition="best")
    with pytest.raises(IsothermError, match="it must be one of 'auto', 'mean', 'completion'"):
        fits["ttmm"].perplexity(NEW, definition="bound")
    with pytest.raises(IsothermError, match="with X_heldout"):
        fits["structured"].perplexity(NEW, NEW, definition="mean")
