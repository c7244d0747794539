"""Stages: what the model was at higher temperatures, in terms of what came of it."""

import math
from typing import Any

import numpy as np
import pytest

from isotherm import IsothermError, Tree
from isotherm.anneal.fold import fold_in
from isotherm.kernels.cpu.backend import Cpu
from isotherm.placement.local import Local
from isotherm.viewer.format import NONE_16
from isotherm.viewer.parts import stages
from isotherm.viewer.parts.points import Place, around
from isotherm.viewer.parts.stages import (
    Guide,
    Moment,
    branches,
    candidates,
    joined,
    shared,
    stages_of,
)
from viewer import corpora

NAMES = [str(name) for name in corpora.counts().column_names]


def moments(model: Any, given: Any) -> list[Moment]:
    return [one.build() for one in candidates(model, given)]


def guides(of: str = "grown") -> list[Guide]:
    found = []
    for m, axes in enumerate((2, 3)):
        mapped = corpora.mapped(axes, of)
        corners = around(mapped.map.grid_shape)
        place = Place(f"{axes}-D", mapped.map.coordinates, *corners)
        found.append(Guide(m, place, mapped.map, mapped.gtm))
    return found


def test_growing_run_goes_from_one_topic_to_all() -> None:
    model = corpora.grown()
    found = moments(model, None)
    numbers = [one.n_topics for one in found]
    assert numbers[0] == 1
    assert numbers == sorted(set(numbers))
    assert numbers[-1] < len(model.weights_)
    temperatures = [one.temperature for one in found]
    assert temperatures == sorted(temperatures, reverse=True)
    kept = {step.n_components: step for step in model.path_}
    for one in found:
        step = kept[one.n_topics]
        weight, table = step.model.components(step.params)
        assert one.temperature == step.temperature >= model.temperature_
        np.testing.assert_allclose(one.weights, weight)
        np.testing.assert_allclose(one.table, table.T)


def test_documents_are_folded_in_at_the_temperature_of_the_stage() -> None:
    model, counts = corpora.grown(), corpora.counts()
    metas, arrays = stages_of(model, None, counts, model.transform(counts), NAMES, [])
    found = moments(model, None)
    kept = {step.n_components: step for step in model.path_}
    data = Local.place(counts, Cpu(model.precision_, 1))
    assert len(metas) == len(found) + 1
    for s, one in enumerate(found):
        step = kept[one.n_topics]
        rows = data.gather(fold_in(step.model, step.params, data, step.temperature))
        expected = step.model.mixture(step.params, rows).weights
        np.testing.assert_allclose(stages._folded(model, one, counts), expected, atol=1e-6)
        assert arrays[f"stage{s}.topic"].tolist() == expected.argmax(axis=1).tolist()
    assert "stage0.map0" not in arrays
    # Folding in leaves the model as it was.
    assert model.transform(counts).shape[1] == len(model.weights_)


def test_two_pairs_of_subjects_come_apart_before_the_four() -> None:
    model, counts = corpora.grown(), corpora.counts()
    metas, arrays = stages_of(model, None, counts, model.transform(counts), NAMES, [])
    two = next(s for s, meta in enumerate(metas) if meta["n_topics"] == 2)
    codes = arrays[f"stage{two}.topic"][:-1]
    pair = np.arange(119) // (2 * corpora.N_EACH)
    agree = (codes == pair).mean()
    assert max(agree, 1 - agree) > 0.95


def test_last_stage_is_the_model() -> None:
    model, counts = corpora.grown(), corpora.counts()
    metas, arrays = stages_of(model, None, counts, model.transform(counts), NAMES, guides())
    last = metas[-1]
    assert last["temperature"] == model.temperature_
    assert last["n_topics"] == len(model.weights_)
    assert [topic["finals"] for topic in last["topics"]] == [[k] for k in range(last["n_topics"])]
    assert [topic["size"] for topic in last["topics"]] == model.weights_.tolist()
    assert last["moved"] == []
    assert not any(name.startswith(f"stage{len(metas) - 1}.") for name in arrays)


def test_every_final_topic_came_of_something() -> None:
    model, counts = corpora.grown(), corpora.counts()
    metas, _ = stages_of(model, None, counts, model.transform(counts), NAMES, [])
    for meta in metas:
        finals = [k for topic in meta["topics"] for k in topic["finals"]]
        assert set(finals) == set(range(len(model.weights_)))
        assert all(topic["finals"] for topic in meta["topics"])
        assert sum(topic["size"] for topic in meta["topics"]) == pytest.approx(1.0)
        for topic in meta["topics"]:
            assert topic["name"] == ", ".join(word for word, _ in topic["words"][:3])


@pytest.mark.parametrize("of", ["grown", "clusters", "fixed"])
def test_map_unfolds(of: str) -> None:
    model = corpora.fixed().model if of == "fixed" else getattr(corpora, of)()
    kept = corpora.fixed().stages if of == "fixed" else None
    counts, both = corpora.counts(), guides(of)
    assert both[0].corpus.transform == ("log-likelihood" if of == "clusters" else "sqrt")
    metas, arrays = stages_of(model, kept, counts, model.transform(counts), NAMES, both)
    assert metas[0]["n_topics"] == 1
    for m, guide in enumerate(both):
        spreads = []
        for s, meta in enumerate(metas[:-1]):
            assert meta["moved"] == [0, 1]
            places = arrays[f"stage{s}.map{m}"]
            assert places.shape == guide.corpus.coordinates.shape
            assert (places[-1] == NONE_16).all()  # the empty document
            assert (places[:-1] < NONE_16).all()
            spreads.append(places[:-1].astype(float).std(axis=0).max())
        # One topic is one place, and the last stage before the end is not.
        assert spreads[0] <= 1.0
        assert spreads[-1] > 500.0


def test_final_proportions_lead_to_the_final_places() -> None:
    """The way of the stages, taken with the model itself, ends where the map has the documents."""
    model, counts = corpora.grown(), corpora.counts()
    for guide in guides():
        places = stages._moved(
            model, stages._last(model), guide.corpus.topic_weights, counts, guide
        )
        np.testing.assert_array_equal(
            places, stages.quantised_places(guide.place, guide.corpus.coordinates)
        )


def test_places_are_left_out_where_there_would_be_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, counts = corpora.grown(), corpora.counts()
    monkeypatch.setattr(stages, "MOVED", 120 * len(moments(model, None)) - 1)
    metas, arrays = stages_of(model, None, counts, model.transform(counts), NAMES, guides())
    assert all(meta["moved"] == [] for meta in metas)
    assert not any(".map" in name for name in arrays)


@pytest.mark.parametrize("why", ["no counts", "too much work"])
def test_without_folding_in_final_topics_add_up(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = corpora.grown()
    weights = model.transform(corpora.counts())
    counts = None if why == "no counts" else corpora.counts()
    monkeypatch.setattr(stages, "FOLD_WORK", 10)
    metas, arrays = stages_of(model, None, counts, weights, NAMES, guides())
    for s, one in enumerate(moments(model, None)):
        sums = [weights[:, one.owner == c].sum(axis=1) for c in range(one.n_topics)]
        assert arrays[f"stage{s}.topic"].tolist() == np.argmax(sums, axis=0).tolist()
        assert metas[s]["moved"] == [0, 1]


def test_clusters_cannot_be_placed_without_counts() -> None:
    model = corpora.clusters()
    weights = model.transform(corpora.counts())
    metas, _ = stages_of(model, None, None, weights, NAMES, guides("clusters"))
    assert len(metas) > 1
    assert all(meta["moved"] == [] for meta in metas)


# Fits with a fixed number, and trees ------------------------------------------------------------


def test_stages_of_a_fixed_number_are_groups_of_components() -> None:
    model, kept = corpora.fixed()
    first, *found = moments(model, kept)
    assert first.temperature == model.first_critical_
    assert first.n_topics == 1
    np.testing.assert_array_equal(first.table[0], model.unigram_)
    hotter = [stage for stage in kept.kept if stage.temperature > model.temperature_]
    assert [one.temperature for one in found] == [stage.temperature for stage in hotter]
    assert [one.n_topics for one in found] == [stage.n_distinct for stage in hotter] != []
    for one in found:
        assert one.groups is not None
        assert one.owner.tolist() == one.groups.tolist()
        np.testing.assert_allclose(one.table.sum(axis=1), 1.0, rtol=1e-5)
        np.testing.assert_allclose(one.weights.sum(), 1.0, rtol=1e-5)


def test_a_sequence_of_stages_will_do() -> None:
    model, kept = corpora.fixed()
    first = [one.temperature for one in moments(model, kept)]
    assert [one.temperature for one in moments(model, list(kept.kept))] == first


def test_stages_of_another_corpus_are_refused() -> None:
    _, kept = corpora.fixed()
    stage = kept.kept[0]
    short = stage.params._replace(word_topic=stage.params.word_topic[:5])
    with pytest.raises(IsothermError, match="stages are of 5 columns and the model of 48"):
        moments(corpora.fixed().model, [stage._replace(params=short)])


def test_hierarchy_has_the_stages_of_its_tree() -> None:
    model = corpora.hierarchy()
    found = moments(model, None)
    assert [one.n_topics for one in found] == [1, 2, 3]
    assert found[0].temperature == model.first_critical_
    for one in found:
        for c in range(one.n_topics):
            below = np.flatnonzero(one.owner == c)
            assert one.weights[c] == pytest.approx(model.weights_[below].sum())
            share = model.weights_[below] / model.weights_[below].sum()
            np.testing.assert_allclose(one.table[c], share @ model.components_[below])


def test_no_stages_without_anything_to_make_them_of() -> None:
    model = corpora.fixed().model
    weights = model.transform(corpora.counts())
    assert stages_of(model, None, corpora.counts(), weights, NAMES, []) == ([], {})


def test_branches_at_a_temperature() -> None:
    nan = math.nan
    tree = Tree((-1, 0, 0, 1, 1), (3, 4, 2), (2.0, 1.0, nan, nan, nan))
    assert branches(tree, 2.5) == ((0, 1, 2),)
    assert branches(tree, 2.0) == ((0, 1), (2,))
    assert branches(tree, 1.5) == ((0, 1), (2,))
    assert branches(tree, 1.0) == ((0,), (1,), (2,))


# Sharing out -------------------------------------------------------------------------------------


def moment(owner: list[int], n_topics: int) -> Moment:
    return Moment(1.0, np.full(n_topics, 1 / n_topics), np.ones((n_topics, 2)), np.array(owner))


def test_joined_adds_up() -> None:
    values = np.array([[0.1, 0.2, 0.7]])
    np.testing.assert_allclose(joined(values, np.array([1, 0, 1]), 2), [[0.2, 0.8]])


def test_shared_goes_by_the_sizes() -> None:
    sizes = np.array([0.1, 0.3, 0.6])
    found = shared(moment([0, 0, 1], 2), np.array([[0.8, 0.2], [0.0, 1.0]]), sizes)
    np.testing.assert_allclose(found, [[0.2, 0.6, 0.2], [0, 0, 1]])


def test_what_came_to_nothing_is_shared_by_the_rest() -> None:
    sizes = np.array([0.5, 0.5])
    given = moment([0, 1], 3)
    found = shared(given, np.array([[0.2, 0.2, 0.6], [0.0, 0.0, 1.0]]), sizes)
    np.testing.assert_allclose(found, [[0.5, 0.5], [0.5, 0.5]])


def test_topics_without_any_size_share_evenly() -> None:
    found = shared(moment([0, 0, 1], 2), np.array([[1.0, 0.0]]), np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.0]])


def test_topics_that_are_one_share_the_sums_of_their_components() -> None:
    """Components that coincide are one topic of the stage."""
    model, kept = corpora.fixed()
    stage = kept.kept[0]
    table = stage.params.word_topic.copy()
    table[:, 2] = table[:, 0]
    twin = stage._replace(params=stage.params._replace(word_topic=table))
    one = stages._of_stage(model, twin)
    weight, _ = twin.model.components(twin.params)
    assert one.groups is not None
    assert one.groups.tolist() == one.owner.tolist() == [0, 1, 0, 2]
    np.testing.assert_allclose(one.weights, [weight[0] + weight[2], weight[1], weight[3]])
    np.testing.assert_allclose(one.table[0], table[:, 0], rtol=1e-5)
    folded = stages._folded(model, one, corpora.counts())
    assert folded is not None
    assert folded.shape == (120, 3)
    np.testing.assert_allclose(folded.sum(axis=1), 1.0, rtol=1e-5)
