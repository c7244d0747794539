"""What fitted models of counts give to other programs: probabilities, samples, pyLDAvis."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm import (
    AspectModel,
    Counts,
    DocumentMixture,
    HierarchicalClustering,
    IsothermError,
    OneSidedClustering,
    Tree,
)
from isotherm.estimators import exports
from support.estimators import ESTIMATORS, X, fitted

COUNTED = {name: one for name, one in ESTIMATORS.items() if name != "map"}
MIXED = ("aspect", "lap", "ltm", "dtm")


@pytest.fixture(scope="module", params=COUNTED)
def model(request: pytest.FixtureRequest) -> Any:
    return fitted(COUNTED[request.param], None)


def planted(kind: str, n_rows: int = 300) -> tuple[sparse.csr_array, np.ndarray]:
    """Counts of two topics that share no column, mixed in each row or one to a row."""
    rng = np.random.default_rng(3)
    topics = np.kron(np.eye(2), rng.dirichlet(np.full(6, 2.0)))
    share = rng.beta(0.5, 0.5, n_rows)
    share = share if kind == "mixed" else np.rint(share)
    table = np.stack([share, 1.0 - share], axis=1) @ topics
    return sparse.csr_array(rng.multinomial(60, table)), topics


# expected -----------------------------------------------------------------------------------------


def test_expected_is_a_distribution_that_fits_the_counts(model: Any) -> None:
    counts = np.concatenate([X[:5], 3 * X[20:25]])
    found = model.expected(counts)
    assert found.shape == counts.shape
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    alone = model.unigram_
    logs = np.log(np.maximum(found, 1e-12))
    # One of the fits is stopped where its topics are all but the same.
    assert (counts * (logs - np.log(alone))).sum() > -0.1


def test_expected_of_an_aspect_model_is_weights_times_topics() -> None:
    model = AspectModel(3, random_state=0).fit(X)
    assert np.array_equal(model.expected(X), model.transform(X) @ model.components_)


@pytest.mark.parametrize("weights", ["uniform", "cluster", "full"])
def test_expected_of_a_hierarchy_goes_through_its_nodes(weights: str) -> None:
    model = HierarchicalClustering(
        tree=Tree.balanced(2), weights=weights, weights_fraction=0.0, random_state=0
    ).fit(X)
    found = model.expected(X)
    leaf = model.transform(X).argmax(axis=1)
    # Rows belong to one leaf nearly for sure: theirs is the mixture of the nodes above that.
    if weights != "full":
        paths = np.array([model.tree_.path(int(c)) for c in leaf])
        share = model.params_.share[leaf]
        direct = (share[:, :, None] * model.node_components_[paths]).sum(axis=1)
        assert found == pytest.approx(direct, abs=0.02)
        return
    general = model.components_[leaf]
    logs = [np.log(np.maximum(one, 1e-12)) for one in (found, general)]
    assert (X * logs[0]).sum() > (X * logs[1]).sum()


def test_expected_that_is_too_large_says_how_large(monkeypatch: pytest.MonkeyPatch) -> None:
    model = AspectModel(2, random_state=0).fit(X)
    monkeypatch.setattr(exports, "LARGEST", 8 * 15 * 39)
    with pytest.raises(IsothermError, match=r"40 rows by 15 columns takes .* at most 39 rows"):
        model.expected(X)
    assert model.expected(X[:39]).shape == (39, 15)


# sample -------------------------------------------------------------------------------------------


def test_sample_has_the_columns_and_the_lengths_of_the_data(model: Any) -> None:
    rows, origin = model.sample(400, random_state=1)
    assert rows.shape == (400, 15)
    assert set(rows.row_totals.tolist()) <= set(X.sum(axis=1).tolist())
    mixed = isinstance(model, AspectModel) or hasattr(model, "graph_")
    clusters = model.row_weights_.shape[1]
    assert origin.shape == ((400, clusters) if mixed else (400,))
    if not mixed:
        assert 0 <= origin.min() <= origin.max() < clusters
    again, _ = model.sample(400, random_state=1)
    assert np.array_equal(again.matrix.toarray(), rows.matrix.toarray())


def test_columns_of_a_large_sample_come_as_the_model_says(model: Any) -> None:
    # What the model expects of its own training rows, each with its own weights and length.
    weights = exports.topic_weights(model)
    if getattr(model, "weights", None) == "full":
        weights = model.transform(X)
    law = X.sum(axis=1) @ weights @ model.components_
    law /= law.sum()
    rows, _ = model.sample(4000, random_state=0)
    seen = rows.column_totals / rows.total
    # Rows of clusters are drawn as wholes, some 20 tokens at a time.
    assert seen == pytest.approx(law, abs=0.006)


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (AspectModel(2, random_state=0), "mixed"),
        (OneSidedClustering(2, weighting="tokens", random_state=0), "whole"),
        (DocumentMixture(2, random_state=0), "whole"),
        (HierarchicalClustering(tree=[0, 1], weights="cluster", random_state=0), "whole"),
    ],
    ids=["aspects", "clusters", "documents", "hierarchy"],
)
def test_a_fit_to_a_sample_has_the_planted_topics(estimator: Any, kind: str) -> None:
    counts, topics = planted(kind)
    rows, origin = estimator.fit(counts).sample(300, random_state=0)
    again = estimator.fit(rows)
    apart = np.abs(again.components_[:, None] - topics).sum(axis=2)
    assert apart.min(axis=1).max() < 0.15
    assert sorted(apart.argmin(axis=1)) == [0, 1]
    if origin.ndim == 1:
        agreed = np.mean(origin == again.transform(rows).argmax(axis=1))
        assert max(agreed, 1 - agreed) > 0.99


def test_lengths_of_samples_are_those_asked_for() -> None:
    model = AspectModel(2, random_state=0).fit(X)
    assert model.sample(3, lengths=7)[0].row_totals.tolist() == [7, 7, 7]
    assert model.sample(3, lengths=[0, 5, 2])[0].row_totals.tolist() == [0, 5, 2]
    for wrong in ([1, 2], -1, 1.5, "many"):
        with pytest.raises(IsothermError, match="lengths="):
            model.sample(3, lengths=wrong)
    with pytest.raises(IsothermError, match="n_samples=0"):
        model.sample(0)


def test_rows_without_counts_are_never_drawn() -> None:
    counts = np.vstack([X, np.zeros((40, 15), int)])
    rows, _ = AspectModel(2, random_state=0).fit(counts).sample(200, random_state=0)
    assert rows.row_totals.min() > 0


# pyLDAvis -----------------------------------------------------------------------------------------


def test_pyldavis_gets_what_it_asks_for(model: Any) -> None:
    for given in (model.to_pyldavis(), model.to_pyldavis(X[:30])):
        n_topics, n_words = given["topic_term_dists"].shape
        n_rows = len(given["doc_lengths"])
        assert n_topics == len(model.components_)
        assert given["doc_topic_dists"].shape == (n_rows, n_topics)
        assert len(given["vocab"]) == len(given["term_frequency"]) == n_words
        assert given["topic_term_dists"].sum(axis=1) == pytest.approx(1.0)
        assert given["doc_topic_dists"].sum(axis=1) == pytest.approx(1.0)
        assert given["doc_lengths"].sum() == pytest.approx(given["term_frequency"].sum())
        assert (given["term_frequency"] > 0).all()


def test_pyldavis_gets_names_and_no_empty_rows_or_columns() -> None:
    names = [f"w{j}" for j in range(16)]
    counts = np.zeros((41, 16), int)
    counts[1:, 1:] = X
    model = AspectModel(2, random_state=0).fit(Counts(counts, column_names=names))
    given = model.to_pyldavis()
    assert given["vocab"] == names[1:]
    assert given["doc_lengths"].tolist() == X.sum(axis=1).tolist()
    assert given["term_frequency"] == pytest.approx(X.sum(axis=0))


def test_a_model_of_a_file_without_lengths_asks_for_them() -> None:
    model = AspectModel(2, random_state=0).fit(X)
    del model.row_totals_
    with pytest.raises(IsothermError, match="lengths="):
        model.sample(2)
    assert model.sample(2, lengths=3)[0].total == 6
    with pytest.raises(IsothermError, match=r"to_pyldavis\(X\)"):
        model.to_pyldavis()
    assert len(model.to_pyldavis(X)["doc_lengths"]) == 40
