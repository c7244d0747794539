"""Where clustering-projection begins."""

from typing import Any

import numpy as np
import pytest

from isotherm.estimators.starts.projection import (
    ClustersAndTopics,
    OwnClusters,
    StructuredFit,
    aspect_fit,
    smoothed,
)
from isotherm.evaluate import nmi
from isotherm.models.pcp import FactorizedPcp, Pcp
from isotherm.models.ttmm import Ttmm
from support.anneal import place
from support.corpora import admixture, one_topic_each
from support.models import same, sweep

X, LABELS = one_topic_each(90, 40, 3)
DATA = place(X)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("model", [Ttmm(5, 3, 0.1), Pcp(5, 3, 0.1), Pcp(2, 6, 0.1)], ids=str)
def test_clusters_begin_apart(model: Any) -> None:
    state = ClustersAndTopics().state(model, DATA, rng())
    centres = model.centres(state.params)
    assert centres.shape == (model.n_clusters, model.n_components)
    assert centres.sum(axis=1) == pytest.approx(np.ones(model.n_clusters))
    assert len(np.unique(centres.round(12), axis=0)) == model.n_clusters
    assert state.params.word_topic.sum(axis=0) == pytest.approx(np.ones(model.n_components))
    assert state.extra == pytest.approx(model.prior_energy(state.params, DATA.summary))


def test_one_sweep_finds_planted_clusters() -> None:
    for model in (Ttmm(4, 3, 0.1), Pcp(4, 3, 0.1)):
        state, _ = sweep(model, DATA, ClustersAndTopics().state(model, DATA, rng()), 1.0)
        assert nmi(LABELS, state.rows[0].posterior.argmax(axis=1)) == pytest.approx(1.0)


def test_clusters_have_the_counts_of_their_rows() -> None:
    model = Pcp(4, 3, 0.1, 1.0, 0.25)
    params = ClustersAndTopics().state(model, DATA, rng()).params
    assert params.eta.sum() == pytest.approx(90 + 1)
    # Noise of a percent tells clusters apart.
    assert model.tokens(params).sum() == pytest.approx(X.sum(), rel=0.03)


def test_clusters_that_coincide_are_told_apart() -> None:
    data = place(np.tile(X[:1], (20, 1)))
    for model in (Ttmm(3, 4, 0.1), Pcp(3, 4, 0.1)):
        centres = model.centres(ClustersAndTopics().state(model, data, rng()).params)
        assert np.ptp(centres, axis=0).min() > 1e-4


def test_blocks_do_not_matter() -> None:
    cut = place(X, n_blocks=3)
    assert len(cut.blocks) == 3
    for model, start in (
        (Pcp(4, 3, 0.1), ClustersAndTopics()),
        (FactorizedPcp(4, 90, 0.1), OwnClusters()),
    ):
        one, many = (start.state(model, data, rng()) for data in (DATA, cut))
        assert same(one.params, many.params, 1e-6)
        assert same(DATA.gather(one.rows), cut.gather(many.rows), 1e-6)


def test_given_topics_are_where_it_begins() -> None:
    table = admixture()[1]
    for model, start in (
        (Pcp(3, 3, 0.1), ClustersAndTopics(topics=table)),
        (FactorizedPcp(3, 90, 0.1), OwnClusters(topics=table)),
    ):
        state = start.state(model, DATA, rng())
        assert state.params.word_topic == pytest.approx(table.T)


def test_one_cluster_is_the_whole() -> None:
    params = ClustersAndTopics().state(Ttmm(3, 1, 0.1), DATA, rng()).params
    assert params.weight == pytest.approx([1.0])
    assert params.inside == pytest.approx([X.sum()])


def test_every_row_is_a_cluster_of_its_own() -> None:
    model = FactorizedPcp(3, 90, 0.1, 1.0, 0.5)
    fit = aspect_fit(model, DATA, rng(), 40)
    state = OwnClusters().state(model, DATA, rng())
    assert (DATA.gather(state.rows).posterior == np.eye(90)).all()
    assert state.params.eta == pytest.approx(np.full(90, 1 + 1 / 90))
    assert state.params.gamma == pytest.approx(fit.state.rows[0].table + 0.5)
    assert state.rows[0].topic == pytest.approx(fit.state.rows[0].table)
    assert state.params.word_topic == pytest.approx(smoothed(model, fit).word_topic)


def test_topics_are_smoothed_as_the_model_says() -> None:
    for smooth in (0.0, 2.0):
        model = Pcp(3, 3, smooth)
        fit = aspect_fit(model, DATA, rng(), 40)
        counts = fit.state.params.word_topic * fit.state.params.row_mass + smooth
        assert smoothed(model, fit).word_topic == pytest.approx(counts / counts.sum(axis=0))


def test_the_factorized_family_begins_at_a_structured_fit() -> None:
    model = FactorizedPcp(4, 3, 0.1)
    state = StructuredFit(ClustersAndTopics()).state(model, DATA, rng())
    structured = model.structured()
    assert (structured.n_components, structured.n_clusters, structured.smooth) == (4, 3, 0.1)
    settled, energy = sweep(structured, DATA, state, 1.0)
    again = sweep(structured, DATA, settled, 1.0)[1]
    assert 0 <= energy - again <= 1e-4 * X.sum()
    assert nmi(LABELS, state.rows[0].posterior.argmax(axis=1)) == pytest.approx(1.0)
