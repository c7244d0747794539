"""Editing by hand: what adds up, what stays, what is refused, and the way back."""

import copy
from typing import Any

import numpy as np
import pytest

from isotherm import (
    LTM,
    PCP,
    AspectModel,
    Counts,
    DocumentMixture,
    Exponential,
    Fixed,
    HierarchicalClustering,
    IsothermError,
    OneSidedClustering,
    SearchIndex,
    load,
    map_corpus,
)
from isotherm.estimators.edits import Before, Edit, taken_back
from isotherm.estimators.fitted import branch_words
from support.corpora import admixture, matched, one_topic_each
from support.estimators import assert_same

K = 4
MIXED, TOPICS = admixture(150, 40, K, 60)
SINGLE, LABELS = one_topic_each(100, 40, K, 60)
MODELS: dict[str, Any] = {
    "aspects": AspectModel(K, random_state=0, n_jobs=1),
    "clusters": OneSidedClustering(K, weighting="tokens", random_state=0, n_jobs=1),
    "documents": DocumentMixture(K, random_state=0, n_jobs=1),
    "uniform": DocumentMixture(K, weights="uniform", random_state=0, n_jobs=1),
    "left out": AspectModel(K, leave_one_out=True, random_state=0, n_jobs=1, max_iter=20),
}
FITTED = {}


def data_of(name: str) -> Any:
    return MIXED if name in ("aspects", "left out", "grown") else SINGLE


def fit_of(name: str) -> Any:
    if name not in FITTED:
        FITTED[name] = copy.deepcopy(MODELS[name]).fit(data_of(name))
    return FITTED[name]


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def assert_whole(model: Any, X: Any, n_topics: int) -> None:
    """All that a model says of itself goes together."""
    assert model.n_components_ == model.model_.n_components == len(model.weights_) == n_topics
    np.testing.assert_allclose(model.weights_.sum(), 1.0, atol=1e-9)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(model.row_weights_.sum(axis=1), 1.0, atol=1e-5)
    assert model.row_weights_.shape == (len(X), n_topics)
    assert model.topic_tree_.n_leaves == n_topics
    assert len(set(model.names_)) == len(model.names_) == n_topics
    assert model.n_alive_ == model.n_distinct_ == n_topics
    assert model.transform(X).shape == (len(X), n_topics)
    assert np.isfinite(model.perplexity(X))
    assert np.isfinite(model.score(X))
    assert len(model.top_words(3)) == n_topics
    assert f"{n_topics} components" in model.describe()
    assert len(branch_words(model)) == 2 * n_topics - 1
    assert not hasattr(model, "path_")
    assert not hasattr(model, "tree_")
    if hasattr(model, "labels_"):
        assert np.array_equal(model.labels_, model.row_weights_.argmax(axis=1))
        assert model.predict(X).max() < n_topics


def apart(model: Any, table: Any) -> float:
    """How far topics are from those that were planted (K, J), at most."""
    return float(matched(model.components_, table).max())


# Merging ------------------------------------------------------------------------------------------


def test_merging_adds_weights_and_averages_words(name: str) -> None:
    model, X = fit_of(name), data_of(name)
    merged = model.merge([1, 3])
    assert_whole(merged, X, K - 1)
    weight = model.weights_[[1, 3]]
    assert merged.weights_[1] == weight.sum()
    mean = weight @ model.components_[[1, 3]] / weight.sum()
    np.testing.assert_allclose(merged.components_[1], mean, atol=1e-6)
    both = model.row_weights_[:, [1, 3]].sum(axis=1)
    np.testing.assert_allclose(merged.row_weights_[:, 1], both, atol=1e-12)
    # The others are the same, and move up.
    assert_same(merged.components_[[0, 2]], model.components_[[0, 2]])
    names, new = tuple(model.names_[k] for k in (1, 3)), (merged.names_[1],) * 2
    assert merged.edits_ == (Edit("merge", (1, 3), names, (1, 1), new),)
    assert merged.names_[0] == model.names_[0]
    assert merged.names_[2] == model.names_[2]


def test_the_model_that_is_edited_stays_as_it_was(name: str) -> None:
    model, X = fit_of(name), data_of(name)
    before = copy.deepcopy(vars(model))
    model.merge([0, 1]).drop(0, X).pin(1)
    assert_same(vars(model), before)
    assert model.edits_ == ()


def test_merging_is_associative(name: str) -> None:
    model = fit_of(name)
    one, two = model.merge([0, 2, 3]), model.merge([2, 3]).merge([0, 2])
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-6)
    np.testing.assert_allclose(one.row_weights_, two.row_weights_, atol=1e-9)
    assert_same(model.merge([3, 0]).components_, model.merge([0, 3]).components_)


def test_several_groups_at_once_are_as_one_after_the_other(name: str) -> None:
    model = fit_of(name)
    at_once = model.merge([[3, 0], [1, 2]])
    assert at_once.edits_[0].topics == (3, 0, 1, 2)
    assert at_once.edits_[0].into == (0, 0, 1, 1)
    assert_same(at_once.components_, model.merge([0, 3]).merge([1, 2]).components_)
    assert_same(vars(at_once.undo()), vars(model))


def test_two_copies_of_a_topic_predict_as_that_topic() -> None:
    twice = AspectModel(3, schedule=Fixed(1.0), validation_fraction=0, random_state=0, n_jobs=1)
    model = twice.fit(MIXED)
    weight = model.params_.weight * [1.0, 1.0, 0.5]
    index, share = [0, 1, 2, 2], np.array([1.0, 1.0, 0.5, 0.5])
    copied = copy.copy(model)
    copied.model_ = model.model_.sized(4)
    copied.params_ = type(model.params_)(
        np.append(weight, weight[2]),
        model.params_.row_mass[index] * share,
        model.params_.word_topic[:, index],
    )
    copied.weights_, copied.components_ = copied.params_.weight, model.components_[index]
    copied.row_weights_ = model.row_weights_[:, index] * share
    del copied.prominence_
    copied._name_components()
    merged = copied.merge([2, 3])
    np.testing.assert_allclose(merged.components_, model.components_, rtol=1e-6)
    np.testing.assert_allclose(merged.perplexity(MIXED), copied.perplexity(MIXED), rtol=1e-5)


# Names --------------------------------------------------------------------------------------------


def test_topics_have_the_names_that_are_given(name: str) -> None:
    model = fit_of(name)
    named = model.rename(2, "sports").rename({0: "the   sea", 1: model.names_[3], 3: "air"})
    assert named.names_ == ("the sea", model.names_[3], "sports", "air")
    assert "sports" in named.describe()
    assert str(named.edits_[0]) == f"rename 2 ({model.names_[2]}) to 2 (sports)"
    assert_same(named.components_, model.components_)
    assert_same(vars(named.undo().undo()), vars(model))


def test_names_given_by_hand_outlive_a_merge() -> None:
    model = fit_of("aspects")
    named = model.rename({1: "one", 2: "two"})
    assert named.merge([0, 2]).names_[0] == "two"
    heavy = "one" if model.weights_[1] > model.weights_[2] else "two"
    assert named.merge([1, 2]).names_[1] == heavy
    assert named.merge([0, 3]).names_[1:] == ("one", "two")
    apart = named.merge([0, 2]).split(0, MIXED)
    assert apart.names_ == (model.names_[0], "one", model.names_[3], "two")


def test_no_two_topics_are_called_alike() -> None:
    model = fit_of("aspects")
    fresh = model.merge([0, 1]).names_[0]
    assert model.rename(3, fresh).merge([0, 1]).names_ == (f"{fresh} (2)", model.names_[2], fresh)


def test_models_of_all_kinds_have_names_that_can_be_given() -> None:
    model = LTM(3, n_neighbors=3, random_state=0, n_jobs=1, max_iter=5).fit(SINGLE)
    assert model.rename(1, "sports").names_[1] == "sports"


# Dropping -----------------------------------------------------------------------------------------


def test_what_is_dropped_goes_to_the_others(name: str) -> None:
    model, X = fit_of(name), data_of(name)
    dropped = model.drop(2, X)
    assert_whole(dropped, X, K - 1)
    assert dropped.edits_ == (Edit("drop", (2,), (model.names_[2],)),)
    assert dropped.names_ == tuple(model.names_[k] for k in (0, 1, 3))
    # Nothing is lost: together the topics have the words of the counts.
    tokens = X.sum(axis=1)
    words = (tokens @ dropped.row_weights_) @ dropped.components_
    np.testing.assert_allclose(words / words.sum(), X.sum(axis=0) / X.sum(), atol=3e-3)


def test_a_dead_topic_goes_without_a_trace() -> None:
    model = fit_of("aspects")
    dead = copy.copy(model)
    dead.model_ = model.model_.sized(K + 1)
    dead.params_ = type(model.params_)(
        np.append(model.params_.weight, 0.0),
        np.append(model.params_.row_mass, 0.0),
        model.params_.word_topic[:, [*range(K), 0]],
    )
    dead.weights_ = dead.params_.weight
    dead.components_ = model.components_[[*range(K), 0]]
    dead.row_weights_ = np.column_stack([model.row_weights_, np.zeros(len(MIXED))])
    del dead.prominence_
    dead._name_components()
    dropped = dead.drop(K, MIXED)
    assert_same(dropped.params_, model.params_)
    assert_same(dropped.row_weights_, model.row_weights_)
    one, two = dropped.topic_tree_, model.topic_tree_
    assert (one.parents, one.leaves) == (two.parents, two.leaves)
    np.testing.assert_allclose(one.similarities, two.similarities, rtol=1e-9)


def test_other_rows_become_those_of_the_model(name: str) -> None:
    X = data_of(name)[:60]
    dropped = fit_of(name).drop(0, X)
    assert_whole(dropped, X, K - 1)
    assert len(dropped.undo().row_weights_) == len(data_of(name))


def test_the_order_of_rows_does_not_matter(name: str) -> None:
    if name == "left out":
        pytest.skip("its topics are not split")
    model, X = fit_of(name), data_of(name)
    order = np.random.default_rng(0).permutation(len(X))
    for edit in ("drop", "split"):
        topics = model if edit == "drop" else model.merge([0, 1])
        one = getattr(topics, edit)(0, X, **({"by": "annealing"} if edit == "split" else {}))
        two = getattr(topics, edit)(0, X[order], **({"by": "annealing"} if edit == "split" else {}))
        np.testing.assert_allclose(one.components_, two.components_, atol=1e-5)
        np.testing.assert_allclose(one.row_weights_[order], two.row_weights_, atol=1e-4)


# Splitting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["tree", "annealing"])
@pytest.mark.parametrize("name", ["aspects", "clusters", "documents", "uniform"])
def test_a_merged_topic_comes_apart_into_what_was_planted(name: str, by: str) -> None:
    model, X = fit_of(name), data_of(name)
    found = model.merge([0, 2]).split(0, X, by=by)
    assert_whole(found, X, K)
    assert found.edits_[-1].topics == (0, 0)
    assert found.edits_[-1].into == (0, K - 1)
    assert found.names_[1:3] == (model.names_[1], model.names_[3])
    if by == "tree":
        assert found.names_ == tuple(model.names_[k] for k in (0, 1, 3, 2))
    assert apart(found, model.components_) < 0.03
    np.testing.assert_allclose(found.perplexity(X), model.perplexity(X), rtol=1e-3)
    # The others did not move at all.
    assert_same(found.components_[[1, 2]], model.components_[[1, 3]])


def test_topics_that_were_merged_are_known() -> None:
    model = fit_of("aspects")
    merged = model.merge([[0, 2], [1, 3]])
    again = merged.drop(0, MIXED).split(0, MIXED)
    assert_same(again.components_, model.components_[[1, 3]])
    with pytest.raises(IsothermError, match="no join of known topics"):
        merged.split(0, MIXED).split(0, MIXED, by="tree")
    three = model.merge([0, 1, 2])
    assert_same(three.split(0, MIXED, 3).components_[[0, 2, 3]], model.components_[[0, 1, 2]])
    two = three.split(0, MIXED, 2)
    assert_whole(two, MIXED, 3)
    with pytest.raises(IsothermError, match="join of 3 topics"):
        three.split(0, MIXED, 4, by="tree")
    with pytest.raises(IsothermError, match="no join of known topics"):
        model.split(0, MIXED, by="tree")


def test_a_topic_of_three_comes_apart_into_three() -> None:
    model = fit_of("aspects")
    merged = model.merge([0, 1, 2])
    assert apart(merged.split(0, MIXED, 3, by="annealing"), model.components_) < 0.03
    with pytest.raises(IsothermError, match="comes apart into 3 and no more"):
        merged.split(0, MIXED, 9, by="annealing")


@pytest.mark.parametrize("name", ["aspects", "clusters", "documents"])
def test_a_topic_that_was_planted_does_not_come_apart(name: str) -> None:
    for k in range(K):
        with pytest.raises(IsothermError, match=f"topic {k} has nothing to tell apart"):
            fit_of(name).split(k, data_of(name))


def test_hard_clusters_come_apart() -> None:
    hard = OneSidedClustering(K, schedule=Exponential(0.7, end=0.0), random_state=0, n_jobs=1)
    model = hard.set_params(validation_fraction=0).fit(SINGLE)
    assert model.temperature_ == 0
    found = model.merge([1, 2]).split(1, SINGLE, by="annealing")
    assert apart(found, model.components_) < 0.05


# Pins ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["aspects", "clusters", "documents"])
def test_a_pinned_topic_stays_to_the_bit(name: str) -> None:
    model, X = fit_of(name), data_of(name)
    topics = model.merge([0, 1]).pin(2)
    for edited, place in ((topics.drop(0, X), 1), (topics.split(0, X), 2), (topics.drop(1, X), 1)):
        assert edited.pinned_ == (place,)
        assert_same(edited.components_[place], model.components_[3])
        words = edited.params_.word_topic[:, place], model.params_.word_topic[:, 3]
        assert np.array_equal(*words)
    assert not np.array_equal(topics.drop(0, X).components_[0], topics.components_[1])


def test_a_pinned_topic_is_not_edited_itself() -> None:
    model = fit_of("aspects").pin([1, 2])
    assert model.pinned_ == (1, 2)
    for edit in (
        lambda: model.merge([0, 1]),
        lambda: model.drop(1, MIXED),
        lambda: model.split(1, MIXED),
    ):
        with pytest.raises(IsothermError, match="topic 1 is pinned"):
            edit()
    assert model.undo().pinned_ == ()


# The way back -------------------------------------------------------------------------------------


def test_undo_gives_back_every_model(name: str, tmp_path: Any) -> None:
    X = data_of(name)
    way = [fit_of(name)]
    way.append(way[-1].merge([0, 3]))
    if name != "left out":
        way.append(way[-1].split(0, X))
    way.append(way[-1].pin(0))
    way.append(way[-1].rename(1, "sports"))
    way.append(way[-1].drop(1, X))
    way.append(way[-1].drop(1, X[:50]))
    way[-1].save(tmp_path / "edited.iso")
    loaded = load(tmp_path / "edited.iso")
    for model in (way[-1], loaded):
        for earlier in reversed(way):
            assert_same(vars(model), vars(earlier))
            assert_same(model.transform(X[:5]), earlier.transform(X[:5]))
            model = model.undo() if model.edits_ else model
    with pytest.raises(IsothermError, match="nothing to take back"):
        way[0].undo()


def test_edits_of_a_loaded_model_are_those_of_the_original(name: str, tmp_path: Any) -> None:
    model, X = fit_of(name), data_of(name)
    model.save(tmp_path / "model.iso")
    again = load(tmp_path / "model.iso")
    for edit in (lambda m: m.merge([1, 2]), lambda m: m.drop(3, X)):
        assert_same(vars(edit(again)), vars(edit(model)))


def test_a_model_that_grew_has_its_path_back() -> None:
    grown = AspectModel("auto", max_components=6, random_state=0, n_jobs=1).fit(MIXED)
    merged = grown.merge([0, 1])
    assert_whole(merged, MIXED, grown.n_components_ - 1)
    with pytest.raises(IsothermError, match="cut needs the topics of the fit"):
        merged.cut(2, MIXED)
    assert_same(vars(merged.undo()), vars(grown))
    assert not hasattr(grown.pin(0).cut(2, MIXED), "pinned_") or not grown.cut(2, MIXED).edits_
    assert grown.pin(0).cut(2, MIXED).edits_ == grown.pin(0).cut(2, MIXED).pinned_ == ()


def test_what_was_merged_is_all_that_is_kept_of_it() -> None:
    model = fit_of("aspects")
    before: Before = model.merge([0, 1]).before_edits_[0]
    assert before.values["params_.word_topic"].rest.shape == (2, MIXED.shape[1])
    assert before.values["row_weights_"].rest.shape == (2, len(MIXED))
    assert taken_back(model.merge([0, 1])) is not model


# What else reads a model --------------------------------------------------------------------------


def test_an_edited_model_is_searched_and_mapped() -> None:
    docs = Counts(MIXED, column_names=[f"w{j}" for j in range(MIXED.shape[1])])
    model = AspectModel(K, random_state=0, n_jobs=1).fit(docs)
    merged = model.merge([0, 1])
    index = SearchIndex.of(merged, docs)
    assert_same(index.theta, merged.row_weights_)
    assert index.query("w1", 3).hits
    found = map_corpus(docs, topics=merged)
    assert found.map.topic_weights.shape[1] == K - 1


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda m: m.rename(4, "a"), "topics=4; the model has topics 0 to 3"),
        (lambda m: m.rename(0), "name=None; it must be text of 1 to 80 letters"),
        (lambda m: m.rename(0, " "), "name=' '; it must be text"),
        (lambda m: m.rename(0, "a" * 81), "it must be text of 1 to 80 letters"),
        (lambda m: m.rename({}), "no topic"),
        (lambda m: m.rename({0: "a", 1: "a"}), "topic 1 is called so"),
        (lambda m: m.merge([0, 4]), "topics=4; the model has topics 0 to 3"),
        (lambda m: m.merge([0]), "nothing to merge with"),
        (lambda m: m.merge([0, 0]), "topic 0 twice"),
        (lambda m: m.merge([[0, 1], [1, 2]]), "topic 1 twice"),
        (lambda m: m.merge([]), "no topic"),
        (lambda m: m.merge([0, "a"]), "topics='a'; the model has topics 0 to 3"),
        (lambda m: m.drop(-1, MIXED), "topic=-1; the model has topics 0 to 3"),
        (lambda m: m.drop(0, MIXED[:, :5]), "expecting 40 features"),
        (lambda m: m.pin(True), "topics=True; the model has topics 0 to 3"),
        (lambda m: m.split(0, MIXED, 1), "into=1; it must be an integer of at least 2"),
        (lambda m: m.split(0, MIXED, by="hand"), "by='hand'; it must be one of"),
    ],
)
def test_edits_that_make_no_sense(edit: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        edit(fit_of("aspects"))


def test_the_last_topic_is_not_dropped() -> None:
    with pytest.raises(IsothermError, match="the only topic"):
        fit_of("aspects").merge([0, 1, 2, 3]).drop(0, MIXED)


@pytest.mark.parametrize("model", [HierarchicalClustering(3), PCP(3, 4)], ids=["hierarchy", "pcp"])
def test_models_whose_topics_are_tied_to_more(model: Any) -> None:
    fitted = copy.deepcopy(model).set_params(random_state=0, n_jobs=1, max_iter=5).fit(SINGLE)
    renamed = fitted.rename(0, "sports")
    assert renamed.names_[0] == "sports"
    assert_same(vars(renamed.undo()), vars(fitted))
    with pytest.raises(IsothermError, match="can be edited by rename alone"):
        fitted.merge([0, 1])
    with pytest.raises(IsothermError, match="can be edited by rename alone"):
        fitted.drop(0, SINGLE)


def test_linked_topics_are_merged() -> None:
    model = LTM(3, n_neighbors=3, random_state=0, n_jobs=1, max_iter=5).fit(SINGLE)
    merged = model.merge([0, 2])
    assert merged.row_weights_.shape == (len(SINGLE), 2)
    assert merged.transform(SINGLE[:5]).shape == (5, 2)
    assert_same(vars(merged.undo()), vars(model))
    with pytest.raises(IsothermError, match="can be edited by rename, merge, pin alone"):
        model.drop(0, SINGLE)


def test_topics_without_a_last_posterior_are_not_split() -> None:
    with pytest.raises(IsothermError, match="leave_one_out=True"):
        fit_of("left out").split(0, MIXED)
