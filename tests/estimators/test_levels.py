"""How many components there are at several levels, and which of them are found again."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag
from sklearn.exceptions import ConvergenceWarning

from isotherm import (
    AspectModel,
    Callback,
    Counts,
    DocumentMixture,
    Engine,
    HierarchicalClustering,
    IsothermError,
    IsothermWarning,
    OneSidedClustering,
    TimeLimit,
    load,
)
from isotherm.data.islands import island_columns
from isotherm.data.stored import StoredCounts
from isotherm.estimators.leveled import odd_rows
from isotherm.estimators.levels import Level, between, finest_found_again
from isotherm.estimators.plan import Table
from isotherm.estimators.trials import FOUND_AGAIN, Half, Trial, similarity
from isotherm.evaluate import match_topics
from support.corpora import mixture_of_unigrams

KINDS = [AspectModel, OneSidedClustering, DocumentMixture, HierarchicalClustering]
each_kind = pytest.mark.parametrize("kind", KINDS)


def mixed_topics(n_topics: int, length: int, seed: int = 0, sharp: float = 0.3) -> Any:
    """Counts (300, 100) of documents that mix some topics."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(100, sharp), n_topics)
    weights = rng.dirichlet(np.full(n_topics, 0.3), 300)
    return np.array([rng.multinomial(length, p) for p in weights @ topics])


def own_words(n_topics: int, seed: int) -> Any:
    """Documents of topics, each of which repeats words that hardly any other has."""
    rng = np.random.default_rng(seed)
    rows = mixed_topics(n_topics, 80, seed, sharp=0.05)
    own = np.zeros((300, 400), int)
    for row in own:
        row[rng.choice(400, 3, replace=False)] = 4 + rng.poisson(4, 3)
    return np.hstack([rows, own])


MIXED = mixed_topics(4, 40)
PLANTED = mixture_of_unigrams((120, 80), 4, (40, 80), 0.1, seed=5)


def with_row(length: int, common: int = 0) -> Any:
    """The documents and one more of 20 words of its own, and perhaps one of theirs."""
    X = block_diag(MIXED, np.full((1, 20), length))
    X[-1, MIXED.sum(axis=0).argmin()] = common
    return X


@pytest.fixture(scope="module")
def leveled() -> AspectModel:
    """A model of several levels."""
    return AspectModel("auto", random_state=0).fit(own_words(4, 0))


# The number ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_topics", [3, 6, 14])
@pytest.mark.parametrize("seed", [0, 1])
def test_planted_numbers_are_exact(n_topics: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(300, 0.05), n_topics)
    weights = rng.dirichlet(np.full(n_topics, 0.1), 40 * n_topics)
    rows = np.array([rng.multinomial(120, p) for p in weights @ topics])
    model = AspectModel("auto", random_state=seed).fit(rows)
    assert model.n_components_ == n_topics
    assert model.reproducibility_.min() > FOUND_AGAIN
    assert match_topics(model.components_, topics).mean > 0.95


def test_words_of_their_own_make_finer_levels_and_no_topics(leveled: AspectModel) -> None:
    assert leveled.n_components_ == 4
    assert leveled.reproducibility_.min() > 0.95
    finest = leveled.levels_[-1]
    assert finest.n_components > 8
    assert finest.n_found_again < 0.8 * finest.n_components
    assert finest.heldout < leveled.levels_[0].heldout


ODD = {
    "foreign": with_row(1),
    "a common word": with_row(1, 1),
    "long": with_row(20),
    "long, with a common word": with_row(20, 1),
    "longer than all others": with_row(1000),
    "several": block_diag(MIXED, *[np.ones((1, 5))] * 12),
    "twice": np.concatenate([MIXED, MIXED]),
    "shuffled": MIXED[:, np.random.default_rng(0).permutation(100)],
}


@pytest.mark.parametrize("kind", KINDS[:2])
@pytest.mark.parametrize("X", ODD.values(), ids=ODD.keys())
def test_odd_rows_do_not_change_the_number(kind: Any, X: Any) -> None:
    model = kind("auto", random_state=0, max_components=40).fit(X)
    # A cluster may be that of the odd row.
    assert int((model.reproducibility_ >= FOUND_AGAIN).sum()) == 4
    assert model.n_components_ == 4 + (kind is OneSidedClustering and model.n_components_ > 4)
    assert model.row_weights_.shape == (len(X), model.n_components_)
    assert np.allclose(model.row_weights_.sum(axis=1), 1.0)


def test_nine_tenths_of_the_rows_have_the_same_number() -> None:
    rng = np.random.default_rng(0)
    parts = [np.sort(rng.permutation(300)[:270]) for _ in range(3)]
    numbers = [AspectModel("auto", random_state=0).fit(MIXED[rows]).n_components_ for rows in parts]
    assert numbers == [4, 4, 4]


@each_kind
def test_every_seed_gives_the_same_levels(kind: Any) -> None:
    models = [kind("auto", random_state=seed).fit(PLANTED.counts) for seed in (0, 7)]
    sizes = [[one.n_components for one in model.levels_] for model in models]
    assert sizes[0] == sizes[1]
    for one, two in zip(models[0].levels_, models[1].levels_, strict=True):
        # The finest is that of the run that grew, whose noise is of the seed.
        matched = match_topics(one.values["components_"], two.values["components_"])
        assert matched.mean > 0.99


def test_rows_without_structure_are_one_component_and_a_warning_says_why() -> None:
    X = np.random.default_rng(0).poisson(3.0, (200, 40))
    with pytest.warns(IsothermWarning, match="one component only: two would predict"):
        model = AspectModel("auto", random_state=0).fit(X)
    assert model.n_components_ == 1
    assert [one.n_components for one in model.levels_] == [1]


def test_components_of_a_few_rows_each_are_told_as_found_once() -> None:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(100, 0.05), 90)
    X = np.array([rng.multinomial(60, topics[i % 90]) for i in range(180)])
    with pytest.warns(IsothermWarning, match="only .* of 90 components are found again"):
        model = OneSidedClustering("auto", weighting="tokens", random_state=0).fit(X)
    assert model.n_components_ == 90
    assert (model.reproducibility_ >= FOUND_AGAIN).mean() < 0.5


def test_predict_is_the_number_that_predicts_best(leveled: AspectModel) -> None:
    X = own_words(4, 0)
    model = AspectModel("predict", random_state=0).fit(X)
    assert model.n_components_ == leveled.levels_[-1].n_components
    assert not hasattr(model, "levels_")
    assert not hasattr(model, "reproducibility_")
    finest = leveled.at(model.n_components_)
    assert np.array_equal(finest.components_, model.components_)


# Levels -------------------------------------------------------------------------------------------


def test_levels_are_between_the_number_that_is_found_again_and_the_one_that_predicts_best() -> None:
    assert between(5, 205) == [5, 17, 59, 205]
    assert between(3, 205) == [3, 12, 50, 205]
    assert between(4, 9) == [4, 9]
    assert between(4, 5) == [4, 5]
    assert between(4, 4) == between(4, 2) == [4]


def test_a_level_is_a_model(leveled: AspectModel) -> None:
    X = own_words(4, 0)
    assert repr(leveled.levels_[0]) == "Level(4 components, 4 found again)"
    for level in leveled.levels_:
        model = leveled.at(level)
        K = level.n_components
        assert model.n_components_ == K == model.topic_tree_.n_leaves == len(model.names_)
        assert model.reproducibility_ is level.reproducibility
        assert len(level.node_reproducibility) == model.topic_tree_.n_nodes
        assert np.allclose(model.transform(X[:9]).sum(axis=1), 1.0)
        assert np.isfinite(model.perplexity(X))
        assert model.tree_.n_leaves == K
        assert model.levels_ is leveled.levels_
        assert model.at(4).names_ == leveled.names_


def test_a_level_is_no_worse_than_a_fit_of_its_number(leveled: AspectModel) -> None:
    X = own_words(4, 0)
    for level in leveled.levels_[:-1]:
        fit = AspectModel(level.n_components, random_state=0).fit(X)
        own = min(r.heldout for r in fit.trace_ if r.temperature == fit.temperature_)
        assert level.heldout <= 1.001 * own
        assert leveled.at(level).perplexity(X) <= 1.01 * fit.perplexity(X)


def test_the_root_of_the_tree_is_found_again_as_all_rows_are(leveled: AspectModel) -> None:
    for level in leveled.levels_:
        assert level.node_reproducibility[0] > 0.95
        leaves = leveled.at(level).topic_tree_.leaves
        assert level.node_reproducibility.mean() >= level.reproducibility.mean() - 0.02
        assert len(leaves) == level.n_components


def test_a_level_that_there_is_not_is_refused(leveled: AspectModel) -> None:
    with pytest.raises(IsothermError, match=r"level=5; the levels have 4, .* components"):
        leveled.at(5)
    with pytest.raises(IsothermError, match="n_components=3 and has no levels"):
        AspectModel(3, random_state=0).fit(MIXED).at(3)


def test_a_cut_of_a_level_begins_at_the_next_finer_one(leveled: AspectModel) -> None:
    X = own_words(4, 0)
    ((_, table),) = leveled._starts(leveled.levels_[-1].n_components - 1)
    assert table.shape[1] == leveled.levels_[-1].n_components - 1
    cut = leveled.cut(6, X)
    assert cut.n_components_ == 6
    assert not hasattr(cut, "levels_")
    assert not hasattr(cut, "reproducibility_")


def test_an_edited_model_has_no_levels_until_that_is_undone(leveled: AspectModel) -> None:
    edited = leveled.merge([0, 1])
    assert not hasattr(edited, "levels_")
    with pytest.raises(IsothermError, match="were edited"):
        edited.at(4)
    assert edited.undo().at(4).names_ == leveled.names_
    assert leveled.rename(0, "one").at(4).names_[0] != "one"


def test_hierarchies_have_levels_with_trees_of_their_own() -> None:
    X = with_row(20, 1)
    model = HierarchicalClustering("auto", random_state=0).fit(X)
    assert len(model.levels_) > 1
    for level in model.levels_:
        one = model.at(level)
        assert one.tree_.n_leaves == level.n_components == len(one.components_)
        assert len(one.node_components_) == one.tree_.n_nodes == len(level.node_reproducibility)
        assert one.labels_.max() < level.n_components


def test_a_hierarchy_is_cut_by_a_fit_of_that_number() -> None:
    model = HierarchicalClustering("auto", random_state=0).fit(PLANTED.counts)
    assert model.path_[-1].n_components >= 4
    cut = model.cut(3, PLANTED.counts)
    assert cut.n_components_ == cut.tree_.n_leaves == 3
    assert not hasattr(cut, "levels_")
    fit = HierarchicalClustering(3, random_state=0).fit(PLANTED.counts)
    assert np.allclose(cut.components_, fit.components_)
    with pytest.raises(IsothermError, match="came to at most"):
        model.cut(100, PLANTED.counts)


# Where counts are, and what may happen on the way -------------------------------------------------


@each_kind
def test_the_disk_gives_the_same_levels(kind: Any, tmp_path: Path) -> None:
    stored = StoredCounts.write(tmp_path / "counts", Counts(PLANTED.counts))
    near = kind("auto", random_state=0).fit(PLANTED.counts)
    far = kind("auto", random_state=0).fit(stored)
    assert [one.n_components for one in near.levels_] == [one.n_components for one in far.levels_]
    np.testing.assert_allclose(near.components_, far.components_, atol=2e-3)
    np.testing.assert_allclose(near.reproducibility_, far.reproducibility_, atol=0.05)


def test_rows_without_weight_are_as_rows_that_are_not_there() -> None:
    X, weight = with_row(20, 1), np.append(np.ones(300), 0.0)
    model = AspectModel("auto", random_state=0).fit(X, sample_weight=weight)
    alone = AspectModel("auto", random_state=0).fit(MIXED)
    assert model.n_components_ == alone.n_components_ == 4
    assert match_topics(model.components_[:, :100], alone.components_).mean > 0.99


def test_files_hold_levels(leveled: AspectModel, tmp_path: Path) -> None:
    path = leveled.save(tmp_path / "model.iso")
    again = load(path)
    assert [one.n_components for one in again.levels_] == [
        one.n_components for one in leveled.levels_
    ]
    for one, two in zip(again.levels_, leveled.levels_, strict=True):
        assert np.array_equal(one.reproducibility, two.reproducibility)
        assert again.at(one).names_ == leveled.at(two).names_
        assert np.array_equal(again.at(one).components_, leveled.at(two).components_)
    # Of the way there few steps have parameters.
    assert sum(step.params is not None for step in again.path_) <= 12


def test_files_with_levels_of_other_components_are_refused(
    leveled: AspectModel, tmp_path: Path
) -> None:
    wrong = copy.copy(leveled)
    first = leveled.levels_[0]
    other = Level(5, 1.0, 1.0, first.reproducibility, first.node_reproducibility, first.values)
    wrong.levels_ = (other, *leveled.levels_[1:])
    path = wrong.save(tmp_path / "model.iso")
    with pytest.raises(IsothermError, match="a level of other components"):
        load(path)


class Watch(Callback):
    """Counts temperatures, and interrupts or lets time pass at one of them."""

    def __init__(self, at: int, interrupt: bool) -> None:
        self.at, self.interrupt, self.now = at, interrupt, 0

    def on_temperature(self, fit: Any) -> bool:
        self.now += 1
        if self.interrupt and self.now == self.at:
            raise KeyboardInterrupt
        return False


def test_time_that_is_up_leaves_the_number_that_predicts_best() -> None:
    clock = Watch(10**9, interrupt=False)
    limit = TimeLimit(4.5, clock=lambda: float(clock.now))
    model = AspectModel("auto", engine=Engine(callbacks=[clock, limit]), random_state=0)
    with pytest.warns(IsothermWarning, match="time was up"):
        model.fit(own_words(4, 0))
    assert len(model.levels_) == 1
    assert np.isnan(model.reproducibility_).all()
    assert repr(model.levels_[0]) == f"Level({model.n_components_} components)"


def test_an_interrupt_among_levels_leaves_the_number_that_predicts_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("isotherm.estimators.leveled.finest_found_again", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = AspectModel("auto", random_state=0).fit(own_words(4, 0))
    assert model.outcome_.startswith("interrupted")
    assert len(model.levels_) == 1
    assert model.n_components_ > 4


def test_a_device_gives_the_same_levels(leveled: AspectModel) -> None:
    pytest.importorskip("torch")
    X, numbers = own_words(4, 0), [one.n_components for one in leveled.levels_]
    device = AspectModel("auto", random_state=0, device="torch").fit(X)
    assert [one.n_components for one in device.levels_] == numbers
    assert all(isinstance(one, np.ndarray) for one in device.levels_[-1].values["params_"])


# Pieces -------------------------------------------------------------------------------------------


def test_islands_are_small_parts_that_share_nothing() -> None:
    X = block_diag(np.ones((40, 10)), np.ones((1, 3)), np.ones((2, 4)))
    assert island_columns(Counts(X)).tolist() == [False] * 10 + [True] * 7
    X[41, 0] = 1  # a bridge
    assert island_columns(Counts(X)).tolist() == [False] * 10 + [True] * 3 + [False] * 4
    large = block_diag(np.ones((20, 10)), np.ones((20, 10)))
    assert not island_columns(Counts(large)).any()


def test_islands_on_the_disk_are_the_same(tmp_path: Path) -> None:
    X = Counts(block_diag(np.ones((40, 10)), np.ones((1, 3)), np.ones((2, 4))))
    stored = StoredCounts.write(tmp_path / "counts", X)
    assert np.array_equal(island_columns(stored), island_columns(X))


def test_odd_rows_are_those_with_a_component_of_their_own() -> None:
    X = with_row(20, 1)
    model = AspectModel("predict", random_state=0).fit(X)
    odd = odd_rows(model, Table(Counts(X), None, model._data))  # type: ignore[arg-type]
    assert np.flatnonzero(odd).tolist() == [300]


def half(weight: Any, table: Any) -> Half:
    return Half(np.array(weight), np.array(table), np.array(table))


def test_a_half_with_the_same_component_twice_finds_nothing_again() -> None:
    flat = np.full(6, 1 / 6)
    one = half([0.5, 0.5], np.eye(6)[:2])
    twice = half([0.5, 0.25, 0.25], np.eye(6)[[0, 1, 1]])
    trial = Trial(2, 1.0, flat)
    trial.add(one, one)
    assert trial.agrees(0)
    trial = Trial(3, 1.0, flat)
    trial.add(twice, twice)
    assert not trial.agrees(0)
    assert similarity(one, twice, flat).tolist() == [[1, 0, 0], [0, 1, 1]]


def test_two_parts_of_one_component_are_not_found_again() -> None:
    flat, apart = np.full(8, 1 / 8), np.eye(8)
    # The parts differ by a little, in each half in another way.
    one = half([0.4, 0.3, 0.3], [apart[0], 0.8 * apart[1] + 0.2 * apart[2], apart[1]])
    two = half([0.4, 0.3, 0.3], [apart[0], 0.8 * apart[1] + 0.2 * apart[3], apart[1]])
    assert similarity(one, two, flat).diagonal().min() > FOUND_AGAIN
    trial = Trial(3, 1.0, flat)
    trial.add(one, two)
    assert not trial.agrees(0)
    assert sorted(trial.similarities[0] > 0) != [True] * 3
    # As one component they count as one.
    assert trial.n_found_again == 2


class Known:
    """Halves in which known numbers are found again."""

    def __init__(self, passing: dict[int, int]) -> None:
        self.passing, self.tried, self.time_is_up = passing, list[int](), False
        self.trials: dict[int, Any] = {}

    def trial(self, n: int, dealings: int = 1) -> Any:
        self.tried.append(n)
        flat = np.full(n + 1, 1.0 / (n + 1))
        again = self.passing.get(n, n // 3)
        table = np.eye(n + 1)[:n]
        other = table.copy()
        other[again:] = np.eye(n + 1)[n]
        trial = self.trials[n] = Trial(n, 1.0, flat)
        trial.add(half(np.full(n, 1 / n), table), half(np.full(n, 1 / n), other))
        return trial

    def passes(self, n: int) -> bool:
        return self.passing.get(n) == n


@pytest.mark.parametrize(
    ("passing", "finest", "number"),
    [
        ({3: 3, 5: 5}, 200, 5),
        ({3: 3, 20: 14, 14: 14}, 200, 14),
        ({12: 11, 11: 10, 10: 10}, 200, 10),
        ({12: 12, 13: 13, 14: 14}, 200, 14),
        ({3: 3, 40: 40}, 40, 40),
        ({3: 3, 40: 40}, 41, 3),
    ],
)
def test_the_finest_number_is_looked_for(passing: dict[int, int], finest: int, number: int) -> None:
    halves: Any = Known(passing)
    assert finest_found_again(halves, finest, 256) == number
    assert len(halves.tried) < 40
