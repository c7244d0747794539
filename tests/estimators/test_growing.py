"""Estimators that find their number of components."""

import itertools
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.linalg import block_diag
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from isotherm import (
    AspectModel,
    Callback,
    DocumentMixture,
    Engine,
    Exponential,
    Fixed,
    Folds,
    Grid,
    HierarchicalClustering,
    IsothermError,
    IsothermWarning,
    Noisy,
    OneSidedClustering,
    Tempered,
    TimeLimit,
)
from isotherm.anneal.growth import prune
from isotherm.anneal.trace import way
from isotherm.maps.corpus import Cooling
from isotherm.plots import annealing
from isotherm.viewer.parts.contents import cooling_meta
from support.corpora import mixture_of_unigrams
from support.estimators import of_counts

K = 4
PLANTED = mixture_of_unigrams((120, 80), K, (40, 80), 0.1, seed=5)
KINDS = [AspectModel, OneSidedClustering, DocumentMixture]
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def fitted() -> dict[Any, Any]:
    return {kind: kind("auto", random_state=0).fit(PLANTED.counts) for kind in KINDS}


@each_kind
def test_planted_number_is_found(kind: Any, fitted: dict[Any, Any]) -> None:
    model = fitted[kind]
    assert model.n_components == "auto"
    assert model.n_components_ == K == len(model.weights_) == model.n_distinct_
    assert model.components_.shape == (K, 80)
    assert model.transform(PLANTED.counts).shape == (120, K)
    assert list(model.get_feature_names_out()) == [f"{kind.__name__.lower()}{k}" for k in range(K)]
    labels = model.row_weights_.argmax(axis=1)
    assert adjusted_rand_score(PLANTED.labels, labels) > 0.95
    assert len(model.tree_.leaves) == K
    assert f"{K} components" in model.describe()


def test_topics_that_documents_mix_are_counted_exactly() -> None:
    # Many split at once here, and some halves are one topic: 12 before they are joined.
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(500, 0.05), 10)
    weights = rng.dirichlet(np.full(10, 0.1), 500)
    rows = np.array([rng.multinomial(150, p) for p in weights @ topics])
    model = AspectModel("auto", random_state=0).fit(rows)
    assert model.n_components_ == 10 == model.tree_.n_leaves
    cosines = model.components_ @ topics.T / np.linalg.norm(topics, axis=1)
    cosines /= np.linalg.norm(model.components_, axis=1)[:, None]
    assert sorted(cosines.argmax(axis=0)) == list(range(10))
    assert cosines.max(axis=0).min() > 0.98


@each_kind
def test_path_answers_how_many(kind: Any, fitted: dict[Any, Any]) -> None:
    path = fitted[kind].path_
    numbers = [step.n_components for step in path]
    assert numbers[0] == 1
    assert numbers == sorted(set(numbers))
    scores = {step.n_components: step.heldout for step in path}
    # What was chosen is the smallest number whose score is within the gain asked for of the best.
    assert scores[K] < 1.004 * min(scores.values())
    assert scores[K] < 0.9 * scores[1]


@each_kind
@pytest.mark.parametrize("n", [1, 2, 3, K])
def test_cut_gives_any_number_up_to_the_largest(kind: Any, n: int, fitted: dict[Any, Any]) -> None:
    model = fitted[kind]
    other = model.cut(n, PLANTED.counts)
    assert other is not model
    assert other.n_components == other.n_components_ == n == len(other.weights_)
    assert other.row_weights_.shape == (120, n)
    assert np.allclose(other.components_.sum(axis=1), 1.0)
    assert not hasattr(other, "path_")
    assert model.n_components_ == K  # the model itself is untouched
    assert clone(other).n_components == n
    if n > 2:  # two aspects, just below the first transition, are hardly any yet
        # What was put together is a union of what was found.
        found = model.row_weights_.argmax(axis=1)
        merged = other.row_weights_.argmax(axis=1)
        together = [np.bincount(merged[found == c], minlength=n).max() for c in range(K)]
        assert sum(together) > 0.9 * 120


@each_kind
def test_cutting_to_what_was_chosen_changes_little(kind: Any, fitted: dict[Any, Any]) -> None:
    model = fitted[kind]
    again = model.cut(K, PLANTED.counts)
    assert again.temperature_ == model.temperature_
    assert np.abs(again.components_ - model.components_).sum(axis=1).max() < 0.05


@each_kind
def test_what_cannot_be_cut_is_refused(kind: Any, fitted: dict[Any, Any]) -> None:
    model = fitted[kind]
    most = model.path_[-1].n_components
    with pytest.raises(IsothermError, match=f"came to at most {most}"):
        model.cut(most + 1, PLANTED.counts)
    with pytest.raises(IsothermError, match="n_components=0; it must be an integer"):
        model.cut(0, PLANTED.counts)
    fixed = kind(2, max_iter=3, random_state=0).fit(PLANTED.counts)
    with pytest.raises(IsothermError, match="fitted with n_components=2; only one that grew"):
        fixed.cut(2, PLANTED.counts)
    with pytest.raises(NotFittedError):
        kind("auto").cut(2, PLANTED.counts)


@each_kind
def test_seeds_agree(kind: Any, fitted: dict[Any, Any]) -> None:
    for seed in (1, 2):
        model = kind("auto", random_state=seed).fit(PLANTED.counts)
        assert model.n_components_ == K
        first = fitted[kind].row_weights_.argmax(axis=1)
        assert adjusted_rand_score(first, model.row_weights_.argmax(axis=1)) > 0.95


@each_kind
def test_no_more_components_than_allowed(kind: Any) -> None:
    model = kind("predict", max_components=2, random_state=0).fit(PLANTED.counts)
    assert model.n_components_ == 2


@each_kind
def test_without_held_out_data_it_grows_to_the_limit(kind: Any) -> None:
    model = kind(
        "predict",
        max_components=3,
        schedule=Exponential(0.8, end=1.5, margin=1.0),
        validation_fraction=0.0,
        random_state=0,
    ).fit(PLANTED.counts)
    assert model.n_components_ == 3
    assert model.temperature_ == 1.5


@each_kind
@pytest.mark.parametrize("n_components", ["auto", "predict"])
@pytest.mark.filterwarnings("ignore:validation_fraction", "ignore:all rows are in proportion")
def test_rows_in_proportion_are_one_component_and_a_warning_says_why(
    kind: Any, n_components: str
) -> None:
    with pytest.warns(IsothermWarning, match="one component only: two would predict"):
        model = of_counts(kind)(n_components, random_state=0).fit(
            np.outer(np.arange(1, 7), [1, 2, 3])
        )
    assert model.n_components_ == model.tree_.n_nodes == 1
    np.testing.assert_allclose(model.components_, [[1 / 6, 2 / 6, 3 / 6]])


def test_many_clusters_that_no_longer_split_are_cooled_faster() -> None:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(100, 0.05), 80)
    rows = np.array([rng.multinomial(60, topics[i % 80]) for i in range(320)])
    model = OneSidedClustering(
        "predict", max_components=80, validation_fraction=0, tol=1e-3, random_state=0
    ).fit(rows)
    trace = model.trace_
    steps = [
        (one.n_components, two.temperature / one.temperature)
        for one, two in itertools.pairwise(trace[:-1])
    ]
    # Splits are a matter of small steps, and many clusters one of few.
    assert all(step == pytest.approx(0.98) for n, step in steps if n < 64)
    many = [step for n, step in steps if n >= 64]
    assert many[-20:] == pytest.approx([0.93] * 20)
    assert trace[-1].temperature == 1.0


def test_fixed_numbers_have_no_tree() -> None:
    model = AspectModel(3, max_iter=3, random_state=0).fit(PLANTED.counts)
    assert model.n_components_ == 3
    assert not hasattr(model, "tree_")


def test_both_priors_are_tried_where_the_number_of_clusters_is_found() -> None:
    found = OneSidedClustering("auto", random_state=0).fit(PLANTED.counts)
    assert found.model_.temper_prior is False
    assert found.model_.pseudo_count == 0.0
    forced = OneSidedClustering("auto", temper_prior=True, random_state=0).fit(PLANTED.counts)
    assert forced.model_.temper_prior is True
    given = OneSidedClustering(3, max_iter=3, random_state=0).fit(PLANTED.counts)
    assert given.model_.temper_prior is False


class Interrupts(Callback):
    """Counts the runs, and interrupts one of them at a sweep, as Ctrl-C does."""

    def __init__(self, run: int, sweep: int) -> None:
        self.run, self.sweep = run, sweep
        self.runs = self.sweeps = 0

    def on_begin(self) -> None:
        self.runs, self.sweeps = self.runs + 1, 0

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.sweeps += 1
        if (self.runs, self.sweeps) == (self.run, self.sweep):
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("run", "sweep", "n_components"),
    [(1, 20, 2), (2, 1, K), (2, 20, K)],
    ids=["the first", "the second at once", "the second"],
)
def test_an_interrupt_ends_all_runs(run: int, sweep: int, n_components: int) -> None:
    watch = Interrupts(run, sweep)
    model = of_counts(OneSidedClustering)("auto", engine=Engine(callbacks=[watch]), random_state=0)
    with pytest.warns(ConvergenceWarning, match="fit was interrupted"):
        model.fit(PLANTED.counts)
    assert (watch.runs, watch.sweeps) == (run, sweep)
    assert model.n_components_ == n_components == len(model.tree_.leaves)
    assert model.outcome_.startswith("interrupted")


def test_an_interrupt_before_there_is_a_model_is_passed_on() -> None:
    model = OneSidedClustering("auto", engine=Engine(callbacks=[Interrupts(1, 1)]), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(PLANTED.counts)
    assert not hasattr(model, "outcome_")


def test_only_one_prior_is_tried_where_nothing_says_which_is_better() -> None:
    watch = Interrupts(0, 0)
    schedule = Exponential(0.8, end=10.0, margin=1.0)
    model = OneSidedClustering(
        "auto",
        schedule=schedule,
        validation_fraction=0.0,
        engine=Engine(callbacks=[watch]),
        random_state=0,
    ).fit(PLANTED.counts)
    assert watch.runs == 1
    assert model.model_.temper_prior is True


@each_kind
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": "many"}, "n_components='many'; it must be an integer"),
        ({"n_components": "auto", "max_components": 0}, "max_components=0"),
        ({"n_components": "auto", "max_components": 2.5}, "max_components=2.5"),
        ({"n_components": "auto", "start": Noisy()}, "begins with one component"),
        ({"n_components": "auto", "schedule": Grid((2.0, 1.5))}, "while the model cools"),
        ({"n_components": "auto", "schedule": Tempered(start=1.5)}, "while the model cools"),
        ({"n_components": "auto", "schedule": Fixed(1.0)}, "while the model cools"),
        ({"n_components": None}, "n_components=None"),
    ],
)
def test_settings_without_sense_are_refused(
    kind: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(IsothermError, match=message):
        kind(**settings).fit(PLANTED.counts)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": Engine(holdout=Folds(3))}, "folds grow different numbers"),
        ({"stepwise": True}, "do not divide when a topic splits"),
    ],
)
def test_what_documents_cannot_grow_with(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        DocumentMixture("auto", **settings).fit(PLANTED.counts)


def test_leave_one_out_does_not_grow() -> None:
    with pytest.raises(IsothermError, match="no last posterior"):
        AspectModel("auto", leave_one_out=True).fit(PLANTED.counts)


# Foreign rows ----------------------------------------------------------------------------------


def mixed_topics(n_topics: int, length: int, seed: int = 1) -> Any:
    """Counts (300, 100) of documents that mix some topics which have words in common."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(100, 0.3), n_topics)
    weights = rng.dirichlet(np.full(n_topics, 0.3), 300)
    return np.array([rng.multinomial(length, p) for p in weights @ topics])


def with_foreign(X: Any, n_rows: int = 1, n_words: int = 20, count: int = 1) -> Any:
    """The counts and some rows that share no column with them or with each other."""
    return block_diag(X, *[np.full((1, n_words), count)] * n_rows)


def near_island(X: Any) -> Any:
    """The counts and a foreign row that has one rare word of theirs."""
    Y = with_foreign(X)
    Y[-1, X.sum(axis=0).argmin()] = 1
    return Y


MIXED = mixed_topics(4, 40)
FOREIGN = {
    "none": MIXED,
    "one": with_foreign(MIXED),
    "twelve": with_foreign(MIXED, 12, 5),
    "one with a common word": near_island(MIXED),
    "one in three copies": np.concatenate([with_foreign(MIXED), with_foreign(MIXED)[[-1, -1]]]),
    "shuffled": with_foreign(MIXED)[np.random.default_rng(0).permutation(301)],
}


@pytest.mark.parametrize("X", FOREIGN.values(), ids=FOREIGN.keys())
def test_foreign_rows_do_not_stand_in_the_way(X: Any) -> None:
    model = AspectModel("auto", random_state=0).fit(X)
    # Topics are so much alike that a few more may be as good, but none is lost.
    assert 4 <= model.n_components_ <= 12
    # The first transition is that of the topics, 1.54, and not that of islands, 2.
    assert model.first_critical_ == pytest.approx(1.541, abs=0.005)
    assert model.temperature_ > 1.15
    assert np.allclose(model.row_weights_.sum(axis=1), 1.0)


def test_a_long_foreign_row_sets_no_first_transition() -> None:
    # Of clusters, such a row is one of 121, and its critical temperature 1350.
    X = with_foreign(PLANTED.counts, 1, 20, 100)
    model = OneSidedClustering("auto", temper_prior=True, random_state=0).fit(X)
    assert model.first_critical_ < 60.0
    assert model.n_components_ >= 4


@pytest.mark.parametrize("n_components", [4, "predict"])
@pytest.mark.parametrize("common", [0, 1])
def test_a_document_in_words_of_its_own_sets_no_transition_however_long(
    n_components: Any, common: int
) -> None:
    X = with_foreign(MIXED, 1, 20, 20)  # 400 tokens, as many as ten others
    X[-1, MIXED.sum(axis=0).argmin()] = common
    engine = Engine(record_critical=n_components == 4)
    model = AspectModel(n_components, engine=engine, random_state=0).fit(X)
    assert model.first_critical_ == pytest.approx(1.541, abs=0.005)
    assert model.trace_[0].temperature < 1.6
    if n_components == 4:
        assert max(max(record.critical) for record in model.trace_) < 1.6
    else:
        assert 4 <= model.n_components_ <= 7


@pytest.mark.parametrize("kind", [OneSidedClustering, DocumentMixture, HierarchicalClustering])
@pytest.mark.parametrize("length", [50, 200, 1000])
def test_clusters_grow_beside_a_row_as_long_as_many(kind: Any, length: int) -> None:
    # One row of two parts is small, but the best of all splits; joined again, it was the next one.
    X = with_foreign(MIXED, 1, 20, length)
    model = kind("predict", max_components=12, random_state=0).fit(X)
    alone = kind("predict", max_components=12, random_state=0).fit(MIXED)
    assert model.first_critical_ == pytest.approx(alone.first_critical_, rel=0.01)
    assert len(model.components_) >= 5
    labels = model.row_weights_.argmax(axis=1)
    assert adjusted_rand_score(alone.row_weights_.argmax(axis=1), labels[:300]) > 0.4
    assert (labels == labels[300]).sum() == 1


def test_two_collections_that_share_nothing_split_first_and_then_go_on() -> None:
    X = with_foreign(block_diag(MIXED, MIXED))
    model = AspectModel("predict", random_state=0).fit(X)
    assert model.first_critical_ == pytest.approx(2.0)
    assert model.trace_[1].n_components == 2
    assert model.n_components_ >= 8
    halves = model.components_[:, :100].sum(axis=1)
    assert ((halves > 0.95) | (halves < 0.05)).all()


@pytest.mark.parametrize("seed", [3, 5])
def test_a_collection_with_words_of_its_own_does_not_keep_copies(seed: int) -> None:
    # When it ends to grow there are 75 and 59 of them; with a few less each fits more of the noise.
    rng = np.random.default_rng(seed + 50)
    own = {3: np.full(60, 1 / 60), 5: rng.dirichlet(np.full(200, 0.1))}[seed]
    X = block_diag(mixed_topics(4, 40, seed + 1), rng.multinomial(40 if seed == 3 else 60, own, 40))
    model = AspectModel("predict", random_state=0).fit(X)
    assert max(record.n_components for record in model.trace_) > 55
    assert 5 <= model.n_components_ <= 7
    foreign = model.components_[:, 100:].sum(axis=1)
    assert ((foreign > 0.99) | (foreign < 0.01)).all()
    assert 1 <= (foreign > 0.5).sum() <= 2


# Everything that a fit does --------------------------------------------------------------------


@pytest.fixture(scope="module")
def joined() -> AspectModel:
    return AspectModel("auto", random_state=0).fit(mixed_topics(3, 60))


def test_the_trace_has_what_was_chosen(joined: AspectModel) -> None:
    phases = [record.phase for record in joined.trace_]
    assert {"cooling", "joining", "joined"} <= set(phases)
    assert phases.count("joined") == 1
    order = ["cooling", "cooling on", "joining"]
    ranks = [order.index("joining" if one == "joined" else one) for one in phases]
    assert ranks == sorted(ranks)
    chosen = joined.trace_[phases.index("joined")]
    assert (chosen.temperature, chosen.n_components) == (joined.temperature_, joined.n_components_)
    assert joined.n_iter_ > sum(record.sweeps for record in joined.trace_)


def test_the_way_has_a_record_for_each_temperature(joined: AspectModel) -> None:
    path = way(joined.trace_)
    temperatures = [record.temperature for record in path]
    assert temperatures == sorted(set(temperatures), reverse=True)
    at = {record.temperature: record for record in path}[joined.temperature_]
    assert at.n_components == joined.n_components_
    assert annealing.path_of(joined).trace == path
    cooling = Cooling(joined.trace_, joined.first_critical_, joined.temperature_, "components")
    shown = cooling_meta("topics", cooling)["trace"]
    assert {one["temperature"]: one["n_effective"] for one in shown}[joined.temperature_] == (
        joined.n_components_
    )
    assert f"{len({r.temperature for r in joined.trace_})} temperatures" in joined.describe()


class Ticking(Callback):
    """A clock that goes on by one at every sweep of a run that tells its callbacks."""

    def __init__(self) -> None:
        self.now, self.runs = 0.0, 0

    def on_begin(self) -> None:
        self.runs += 1

    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        self.now += 1.0

    def clock(self) -> float:
        return self.now


def test_a_time_limit_is_that_of_the_whole_fit() -> None:
    watch = Ticking()
    limit = TimeLimit(60.0, watch.clock)
    model = OneSidedClustering("auto", engine=Engine(callbacks=[watch, limit]), random_state=0)
    for _ in range(2):
        begin, watch.runs = watch.now, 0
        model.fit(PLANTED.counts)
        # Of two priors the second is not tried, nothing is joined, and settling is brief.
        assert watch.runs == 1
        assert 60 < watch.now - begin < 60 + model.max_iter
        assert {record.phase for record in model.trace_} == {"cooling"}
        assert model.n_iter_ == watch.now - begin + 1
        assert limit.fits == 0


def test_a_time_limit_ends_the_joining() -> None:
    watch = Ticking()
    model = AspectModel(
        "auto", engine=Engine(callbacks=[TimeLimit(0.5, watch.clock)]), random_state=0
    )
    with mock.patch.object(prune, "_cooled_on", side_effect=lambda *given: late(watch)):
        model.fit(PLANTED.counts)
    assert {record.phase for record in model.trace_} == {"cooling"}
    assert model.row_weights_.argmax(axis=1).max() > 0


def late(watch: Ticking) -> Any:
    """Nothing colder, but time has passed."""
    watch.now += 1.0
    return iter(())


@pytest.mark.parametrize("fraction", [0.0, 0.1])
def test_an_interrupt_leaves_no_copies(fraction: float) -> None:
    class AtCrowd(Callback):
        def on_temperature(self, fit: Any) -> bool:
            if fit.trace[-1].n_components >= 10:
                raise KeyboardInterrupt
            return False

    model = AspectModel(
        "auto", engine=Engine(callbacks=[AtCrowd()]), validation_fraction=fraction, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="fit was interrupted"):
        model.fit(mixed_topics(3, 60))
    # The run had come to 13.
    assert 1 < model.n_components_ == model.tree_.n_leaves == model.n_distinct_ < 13
    apart = np.abs(model.components_[:, None] - model.components_).sum(axis=2) / 2
    assert apart[~np.eye(len(apart), dtype=bool)].min() > 0.15
    assert "interrupted" in model.describe()


def test_an_interrupt_keeps_what_was_joined_so_far() -> None:
    before = prune._joined

    def broken(*given: Any) -> Any:
        yield next(before(*given))
        raise KeyboardInterrupt

    with (
        mock.patch.object(prune, "_joined", side_effect=broken),
        pytest.warns(ConvergenceWarning, match="fit was interrupted"),
    ):
        model = AspectModel("auto", random_state=0).fit(mixed_topics(3, 60))
    assert [record.phase for record in model.trace_].count("joining") <= 1
    assert model.trace_[-1].phase in ("joining", "joined")
    assert model.n_components_ == model.tree_.n_leaves
