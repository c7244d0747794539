"""LapPLSI, LTM and DTM as estimators: graphs, labels, new rows, warnings."""

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from isotherm import (
    DTM,
    LTM,
    AspectModel,
    Callback,
    Counts,
    Engine,
    Exponential,
    Fixed,
    IsothermError,
    IsothermWarning,
    LapPLSI,
    Neighbors,
    Noisy,
)
from isotherm.estimators import strengths
from isotherm.estimators.starts.linked import NearTopics, RandomRows
from isotherm.graph.neighbors import with_labels
from support.corpora import admixture, one_topic_each
from support.linked import APART, q2

# Three clear groups have no edges between them, and DTM says so.
pytestmark = pytest.mark.filterwarnings("ignore:the graph has:isotherm.IsothermWarning")

KINDS: dict[str, Any] = {
    "lap": lambda **s: LapPLSI(3, **s),
    "lap-100": lambda **s: LapPLSI(3, regularization=100, **s),
    "lap-jacobi": lambda **s: LapPLSI(3, regularization=100, method="jacobi", **s),
    "lap-cai": lambda **s: LapPLSI(3, regularization=100, method="cai", **s),
    "ltm": lambda **s: LTM(3, **s),
    "ltm-exact": lambda **s: LTM(3, method="exact", regularization=5.0, **s),
    "dtm": lambda **s: DTM(3, **s),
    "dtm-paper": lambda **s: DTM(3, **{"step": "paper", "start": RandomRows(), **s}),
}
CLASSES = [LapPLSI, LTM, DTM]
every = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())
each_class = pytest.mark.parametrize("kind", CLASSES)

X, GROUPS = one_topic_each(90)
SOME = np.where(np.arange(90) % 5 == 0, GROUPS, -1)
NEW = admixture(90, X.shape[1], seed=3)[0][60:]


def fitted(make: Any, **settings: Any) -> Any:
    return make(random_state=0, max_iter=30, **settings).fit(X, SOME)


@every
def test_attributes(make: Any) -> None:
    model = fitted(make)
    J = X.shape[1]
    assert model.components_.shape == (3, J)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(model.weights_.sum(), 1.0)
    assert model.row_weights_.shape == (90, 3)
    assert model.row_weights_.dtype == np.float64
    np.testing.assert_allclose(model.row_weights_.sum(axis=1), 1.0)
    assert model.graph_.shape == (90, 90)
    assert (model.temperature_ > 1.0) == (make is KINDS["dtm"])
    assert len(model.trace_) == 1
    sweeps = model.trace_[0].sweeps
    assert sweeps <= 30
    # Those along a path of strengths count as well.
    assert model.n_iter_ > sweeps if make is KINDS["lap"] else model.n_iter_ == sweeps
    assert np.isfinite(model.free_energy_)
    assert model.n_features_in_ == J
    assert model.describe().startswith(type(model).__name__ + ": 3 components")


@every
def test_groups_are_found(make: Any) -> None:
    found = fitted(make).row_weights_.argmax(axis=1)
    sizes = [np.bincount(found[group == GROUPS], minlength=3).max() for group in range(3)]
    assert sum(sizes) > 80


@every
def test_fit_transform_gives_the_weights_of_the_fit(make: Any) -> None:
    weights = make(random_state=0, max_iter=30).fit_transform(X, SOME)
    np.testing.assert_array_equal(weights, fitted(make).row_weights_)


@every
def test_threads_and_kind_of_matrix_do_not_matter(make: Any) -> None:
    expected = fitted(make, n_jobs=1).row_weights_
    np.testing.assert_array_equal(fitted(make, n_jobs=2).row_weights_, expected)
    model = make(random_state=0, max_iter=30).fit(sparse.csc_array(X), SOME)
    np.testing.assert_array_equal(model.row_weights_, expected)
    model = make(random_state=0, max_iter=30).fit(Counts(X), SOME)
    np.testing.assert_array_equal(model.row_weights_, expected)


@every
def test_seeds(make: Any) -> None:
    first = make(random_state=1, max_iter=3).fit(X).row_weights_
    np.testing.assert_array_equal(make(random_state=1, max_iter=3).fit(X).row_weights_, first)
    other = make(random_state=2, max_iter=3).fit(X)
    apart = np.abs(other.row_weights_ - first).max()
    # Annealed topics have all but the same answer for other noise; random rows do not.
    assert apart > 1e-3 if isinstance(other.start, RandomRows) else 0 < apart < 1e-3


@every
def test_float32_follows_float64(make: Any) -> None:
    short = {"random_state": 0, "max_iter": 4}
    one, other = (
        make(engine=Engine(precision=p), **short).fit(X).row_weights_
        for p in ("float32", "float64")
    )
    np.testing.assert_allclose(one, other, atol=2e-3)


def test_graph_is_that_of_neighbours_and_labels() -> None:
    own = Neighbors.of(Counts(X), 4).graph()
    model = LapPLSI(3, n_neighbors=4, random_state=0, max_iter=2)
    np.testing.assert_array_equal(model.fit(X).graph_.toarray(), own.toarray())
    labelled = model.fit(X, SOME).graph_.toarray()
    np.testing.assert_array_equal(labelled, with_labels(own, SOME).toarray())
    same, known = np.equal.outer(SOME, SOME), SOME >= 0
    assert labelled[np.ix_(known, known)][same[np.ix_(known, known)]].sum() == 3 * 6 * 5
    assert (labelled != own.toarray()).any()
    few = model.set_params(max_label_edges=2).fit(X, SOME).graph_
    assert few.nnz < (labelled > 0).sum()


@every
def test_a_given_graph_is_used(make: Any) -> None:
    graph = Neighbors.of(Counts(X)).graph()
    settings = {"random_state": 0, "max_iter": 5}
    expected = make(**settings).fit(X).row_weights_
    for given in (graph, graph.toarray(), sparse.coo_matrix(graph)):
        np.testing.assert_array_equal(make(**settings).fit(X, graph=given).row_weights_, expected)
    other = make(**settings).fit(X, graph=np.roll(np.roll(graph.toarray(), 7, 0), 7, 1))
    assert np.abs(other.row_weights_ - expected).max() > 1e-3 or other.model_.method == "cai"
    # Labels come on top, and new rows still have neighbours by content.
    both = make(**settings).fit(X, SOME, graph=graph)
    np.testing.assert_array_equal(both.row_weights_, make(**settings).fit(X, SOME).row_weights_)
    np.testing.assert_allclose(other.transform(NEW).sum(axis=1), 1.0)


def test_a_graph_is_mended() -> None:
    W = np.zeros((90, 90))
    W[0, 1], W[5, 5] = 2.0, 3.0
    model = LapPLSI(3, random_state=0, max_iter=2)
    with pytest.warns(IsothermWarning, match="not symmetric"):
        model.fit(X, graph=W)
    assert model.graph_.nnz == 2
    assert model.graph_[1, 0] == 2.0


def test_the_graph_can_be_routed_through_a_pipeline() -> None:
    graph = Neighbors.of(Counts(X), 3).graph()
    with config_context(enable_metadata_routing=True):
        last = LapPLSI(3, random_state=0, max_iter=3).set_fit_request(graph=True)
        pipe = make_pipeline(FunctionTransformer(), last).fit(X, graph=graph)
    expected = LapPLSI(3, random_state=0, max_iter=3).fit(X, graph=graph)
    np.testing.assert_array_equal(pipe[-1].row_weights_, expected.row_weights_)


@pytest.mark.filterwarnings("ignore::isotherm.IsothermWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        LTM(method="exact", random_state=0),
        DTM(step="paper", random_state=0),
    ],
    expected_failed_checks=lambda _: APART,
)
def test_scikit_learn_checks_of_variants(estimator: Any, check: Callable[[Any], None]) -> None:
    assert check(estimator) is None


# New rows -------------------------------------------------------------------------------------


@every
def test_transform_treats_every_row_by_itself(make: Any) -> None:
    model = fitted(make)
    whole = model.transform(NEW)
    assert whole.shape == (30, 3)
    np.testing.assert_allclose(whole.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.transform(NEW[::-1]), whole[::-1])
    single = np.concatenate([model.transform(NEW[[i]]) for i in range(len(NEW))])
    np.testing.assert_array_equal(single, whole)
    np.testing.assert_array_equal(model.transform(sparse.csr_matrix(NEW)), whole)


@every
def test_new_rows_solve_the_formula(make: Any) -> None:
    model = make(random_state=0, max_iter=30, start=RandomRows()).fit(X, SOME)
    t = model.transform(NEW)
    links = model.neighbors_.of_new(Counts(NEW)).toarray()
    s, d = links @ model.row_weights_, links.sum(axis=1, keepdims=True)
    assert d.min() > 0
    joint = t[:, None] * model.components_.T
    b = np.einsum("ij,ijk->ik", NEW / joint.sum(axis=2), joint)
    n = NEW.sum(axis=1, keepdims=True)
    if isinstance(model, LapPLSI):
        slope = b / t - 2 * model.regularization_ * (d * t - s)
        gap = slope - (t * slope).sum(axis=1, keepdims=True)
        assert np.abs(gap * t).max() < 0.05 * n.max()
    else:
        strength = model.kappa if isinstance(model, DTM) else model.regularization
        np.testing.assert_allclose(t, (b + strength * s) / (n + strength * d), atol=1e-3)


def test_kappa_ties_new_rows_to_their_neighbours() -> None:
    model = fitted(KINDS["dtm"])
    links = model.neighbors_.of_new(Counts(NEW)).toarray()
    mean = links @ model.row_weights_ / links.sum(axis=1, keepdims=True)

    def away(kappa: float) -> float:
        model.model_ = type(model.model_)(3, kappa=kappa)
        return float(np.abs(model.transform(NEW) - mean).mean())

    assert away(1e6) < 1e-3 < away(10.0) < away(1.0) < away(0.0)


@every
def test_new_rows_without_known_words(make: Any) -> None:
    wide = np.hstack([X, np.zeros((90, 2), int)])
    wide[1:, -1] = 1  # a word of all but one row: it is known, but says nothing of neighbours
    model = make(random_state=0, max_iter=5).fit(wide)
    mean = model.row_weights_.mean(axis=0)
    rows = np.zeros((4, wide.shape[1]), int)
    rows[1, -2] = 3  # never seen
    rows[2] = wide[5]
    rows[3] = wide[5]
    rows[3, -2] = 7
    found = model.transform(rows)
    np.testing.assert_allclose(found[:2], [mean, mean], atol=1e-12)
    np.testing.assert_array_equal(found[3], found[2])


def test_new_rows_without_neighbours_are_folded_in() -> None:
    """A word that is in all training rows links nobody."""
    both = np.ones((6, 3), int)
    both[:3, 1], both[3:, 2] = 0, 0
    model = DTM(2, n_neighbors=2, random_state=0, max_iter=10).fit(both)
    row = np.array([[4, 0, 0]])
    assert model.neighbors_.of_new(Counts(row)).nnz == 0
    found = model.transform(row)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(), 1.0)
    # PLSA: one word, so the topic in which it is most probable takes all.
    assert found[0, model.components_[:, 0].argmax()] > 0.5


@every
def test_perplexity_and_score(make: Any) -> None:
    model = fitted(make)
    X_new = one_topic_each(60)[0]
    unigram = np.exp(-(X_new @ np.log(X.sum(axis=0) / X.sum() + 1e-12)).sum() / X_new.sum())
    assert 1 < model.perplexity(X_new) < unigram
    assert model.perplexity(X_new) == pytest.approx(np.exp(-model.score(X_new)), rel=1e-12)


# Settings -------------------------------------------------------------------------------------


@each_class
def test_regularization_of_zero_is_plsa(kind: Any) -> None:
    if kind is DTM:
        return
    settings = {"random_state": 0, "max_iter": 10, "schedule": Fixed(1.0)}
    zero = kind(3, regularization=0.0, **settings).fit(X)
    with pytest.warns(IsothermWarning, match="no two rows are linked"):
        bare = DTM(3, **settings).fit(X, graph=np.zeros((90, 90)))
    np.testing.assert_allclose(zero.row_weights_, bare.row_weights_, atol=1e-10)


def test_dtm_says_what_it_reached() -> None:
    model = fitted(KINDS["dtm"])
    ratio = q2(model.graph_.toarray(), model.row_weights_)
    assert model.separation_ == pytest.approx(ratio, rel=1e-10)
    assert ratio > 5
    assert 0 <= model.n_rejected_ < model.n_iter_
    tokens = X.sum()
    fit = model.trace_[-1].log_likelihood
    assert model.free_energy_ / tokens == pytest.approx(-fit / tokens - np.log(ratio), abs=0.1)


def test_dtm_says_when_nothing_goes_any_more() -> None:
    with pytest.warns(IsothermWarning, match="20 steps in a row would have lowered"):
        model = DTM(3, gamma=1.0, random_state=0, max_iter=300, tol=0.0).fit(X)
    assert model.n_rejected_ >= 20
    assert model.n_iter_ < 300
    assert model.trace_[-1].converged


def test_a_uniform_start_is_no_trap() -> None:
    model = DTM(3, start=Noisy(0.5), random_state=0).fit(X)
    assert model.separation_ > 1
    assert model.n_distinct_ == 3


# A strength that is chosen -----------------------------------------------------------------------


def test_auto_is_a_path_that_ends_at_the_strength_it_says() -> None:
    model = LapPLSI(3, random_state=0).fit(X, SOME)
    tried, scores, errors = model.path_scores_.T
    assert tuple(tried) == strengths.PATH
    assert ((scores >= 0) & (scores <= 1)).all()
    np.testing.assert_allclose(errors, np.sqrt(scores * (1 - scores) / (SOME >= 0).sum()))
    found = [strengths.Score(*row) for row in model.path_scores_]
    assert model.regularization_ == tried[strengths.preferred(found)] == model.model_.strength


def test_a_path_of_one_strength_is_the_plain_fit() -> None:
    fixed = LapPLSI(3, regularization=300.0, random_state=0, max_iter=10).fit(X, SOME)
    assert fixed.regularization_ == 300.0
    assert fixed.path_scores_.shape == (0, 3)
    assert fixed.n_iter_ == fixed.trace_[0].sweeps


def test_one_label_of_a_class_is_not_hidden() -> None:
    one = np.full(90, -1)
    one[[int(np.flatnonzero(group == GROUPS)[0]) for group in range(3)]] = [0, 1, 2]
    model = LapPLSI(3, random_state=0, max_iter=20).fit(X, one)
    assert model.regularization_ == strengths.USUAL
    assert model.path_scores_.shape == (0, 3)
    # A second label of one class is enough to try.
    two = one.copy()
    two[np.flatnonzero(GROUPS == 0)[1]] = 0
    assert len(LapPLSI(3, random_state=0, max_iter=20).fit(X, two).path_scores_) == 4


def test_no_fold_hides_all_labels_of_a_class() -> None:
    codes = np.array([0, 0, -1, 1, 2, 2, 2, 2, -1, 3])
    folds = strengths._folds(codes)
    assert 1 < len(folds) <= strengths.FOLDS
    for held in folds:
        assert set(codes[(codes >= 0) & ~held]) == {0, 1, 2, 3}
    hidden = np.sum(folds, axis=0)
    np.testing.assert_array_equal(hidden, [1, 1, 0, 0, 1, 1, 1, 1, 0, 0])


@pytest.mark.parametrize("y", [None, np.full(90, -1), np.where(np.arange(90) < 5, 0, -1)])
def test_without_two_classes_tokens_are_held_out(y: Any) -> None:
    model = LapPLSI(3, random_state=0, max_iter=20).fit(X, y)
    tried, scores, errors = model.path_scores_.T
    assert (scores < 0).all()
    assert (errors == 0).all()
    assert model.regularization_ == tried[scores.argmax()]


def test_all_labels_missing_are_no_labels() -> None:
    plain = LapPLSI(3, random_state=0, max_iter=20).fit(X)
    for y in ([None] * 90, np.full(90, np.nan)):
        model = LapPLSI(3, random_state=0, max_iter=20).fit(X, y)
        np.testing.assert_array_equal(model.row_weights_, plain.row_weights_)


@pytest.mark.parametrize(
    ("scores", "errors", "taken"),
    [
        ((0.5, 0.5, 0.5, 0.5), 0.0, 300.0),
        ((0.7, 0.6, 0.5, 0.4), 0.05, 30.0),
        ((0.7, 0.66, 0.5, 0.4), 0.05, 100.0),
        ((0.4, 0.5, 0.6, 0.7), 0.05, 1000.0),
        ((0.4, 0.5, 0.66, 0.7), 0.05, 300.0),
        ((-7.0, -7.1, -7.2, -7.3), 0.0, 30.0),
    ],
)
def test_the_usual_strength_unless_another_is_clearly_better(
    scores: tuple[float, ...], errors: float, taken: float
) -> None:
    found = [
        strengths.Score(strength, score, errors)
        for strength, score in zip(strengths.PATH, scores, strict=True)
    ]
    assert strengths.PATH[strengths.preferred(found)] == taken
    assert strengths.PATH[strengths.preferred([])] == strengths.USUAL


def test_few_tokens_leave_nothing_to_try() -> None:
    tiny = np.eye(4, 6, dtype=int) + np.eye(4, 6, 1, dtype=int)
    model = LapPLSI(2, n_neighbors=1, random_state=0, max_iter=5).fit(tiny)
    assert model.regularization_ in strengths.PATH
    np.testing.assert_allclose(model.row_weights_.sum(axis=1), 1.0)


def test_rows_that_are_the_same_get_the_same_weights() -> None:
    twice, labels = np.concatenate([X, X]), np.concatenate([SOME, SOME])
    weights = LapPLSI(3, random_state=0).fit(twice, labels).row_weights_
    assert np.abs(weights[:90] - weights[90:]).max() < 0.05


def test_a_row_like_no_other_stands_alone() -> None:
    """A row in words that no other has is tied to nobody, and moves nobody."""
    foreign = np.zeros((91, X.shape[1] + 2), int)
    foreign[:90, :-2], foreign[90, -2:] = X, 9
    model = LapPLSI(3, random_state=0).fit(foreign, np.append(SOME, -1))
    assert model.graph_[[90]].nnz == 0
    assert np.isfinite(model.row_weights_).all()
    found = model.row_weights_[:90].argmax(axis=1)
    assert sum(np.bincount(found[group == GROUPS], minlength=3).max() for group in range(3)) > 80


def test_a_class_without_labels_is_no_class() -> None:
    two = np.where(GROUPS == 2, -1, SOME)
    model = LapPLSI(3, random_state=0).fit(X, two)
    assert len(model.path_scores_) == len(strengths.PATH)
    named = np.where(two == -1, "-1", np.char.add("g", two.astype(str)))
    again = LapPLSI(3, random_state=0).fit(X, named)
    np.testing.assert_array_equal(again.row_weights_, model.row_weights_)


def test_callbacks_hear_of_the_path_but_not_of_what_is_tried() -> None:
    class Count(Callback):
        n = 0

        def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
            self.n += 1

    count = Count()
    model = LapPLSI(3, engine=Engine(callbacks=[count]), random_state=0).fit(X, SOME)
    assert count.n == model.n_iter_


@pytest.mark.parametrize("value", ["many", None, -1.0, np.inf])
def test_other_strengths_are_refused(value: Any) -> None:
    with pytest.raises(IsothermError, match="it must be a number of at least 0"):
        LapPLSI(3, regularization=value).fit(X)


# Where they begin -----------------------------------------------------------------------------


def test_rows_begin_between_their_topics_and_equal_weights() -> None:
    topics = AspectModel(3, random_state=0).fit(X)
    start, model = NearTopics.of(topics), LapPLSI(3, random_state=0).fit(X)
    data = model._new_rows(Counts(X))
    state = start.state(model.model_, data, np.random.default_rng(0))
    wanted = 0.2 * topics.row_weights_ + 0.8 / 3
    np.testing.assert_allclose(data.gather(state.rows).theta, wanted, atol=1e-6)
    np.testing.assert_allclose(state.params.word_topic.T, topics.components_, atol=1e-6)


@each_class
def test_every_seed_ends_in_the_same_place(kind: Any) -> None:
    seeds = [kind(3, random_state=seed).fit(X, SOME).row_weights_ for seed in range(3)]
    for other in seeds[1:]:
        alike = np.corrcoef(seeds[0].T, other.T)[:3, 3:].max(axis=1)
        assert alike.min() > 0.99


def test_dtm_stays_at_the_temperature_that_its_start_stopped_at() -> None:
    model = DTM(3, random_state=0, max_iter=5).fit(X)
    seed = int(np.random.default_rng(0).integers(2**31))
    assert model.temperature_ == AspectModel(3, random_state=seed).fit(X).temperature_ > 1
    assert DTM(3, random_state=0, max_iter=5, start=RandomRows()).fit(X).temperature_ == 1


def test_an_interrupt_of_the_start_is_one_of_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Any, counts: Any) -> Any:
        self.outcome_ = "interrupted; the model of the last finished temperature was kept"
        return self

    model = LTM(3, random_state=0, max_iter=3).fit(X)
    before = dict(vars(model))
    monkeypatch.setattr(AspectModel, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert vars(model) == before


@every
def test_other_temperatures(make: Any) -> None:
    warm = make(random_state=0, max_iter=20, schedule=Fixed(1.5)).fit(X)
    assert warm.temperature_ == 1.5
    cold = make(random_state=0, max_iter=20).fit(X)
    assert np.abs(warm.row_weights_ - cold.row_weights_).max() > 1e-3


class Interrupt(Callback):
    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        if sweep == 3:
            raise RuntimeError("enough")


@each_class
def test_a_fit_that_fails_leaves_the_last_one(kind: Any) -> None:
    model = kind(3, random_state=0, max_iter=5).fit(X)
    before = model.row_weights_
    with pytest.raises(RuntimeError, match="enough"):
        model.set_params(engine__callbacks=[Interrupt()]).fit(X)
    assert model.row_weights_ is before


@each_class
def test_clone_repr_and_round_trip(kind: Any) -> None:
    assert repr(kind()) == f"{kind.__name__}()"
    assert repr(kind(4, tol=0.5)) == f"{kind.__name__}(n_components=4, tol=0.5)"
    model = kind(3, n_neighbors=5, random_state=0, max_iter=5).fit(X, SOME)
    copy = clone(model)
    assert repr(copy) == repr(model)
    assert not hasattr(copy, "components_")
    np.testing.assert_array_equal(copy.fit(X, SOME).components_, model.components_)
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    for again in (joblib.load(buffer), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.transform(NEW), model.transform(NEW))


@each_class
def test_feature_names(kind: Any) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(X.shape[1])])
    model = kind(3, random_state=0, max_iter=5).set_output(transform="pandas")
    weights = model.fit_transform(frame)
    out = [f"{kind.__name__.lower()}{k}" for k in range(3)]
    assert list(weights.columns) == out == list(model.get_feature_names_out())
    np.testing.assert_array_equal(weights.to_numpy(), model.row_weights_)
    assert list(model.transform(frame[:3]).columns) == out
    assert model.top_words(2)[0][0].startswith("word")


@each_class
@pytest.mark.filterwarnings("ignore:n_components=1:isotherm.IsothermWarning")
def test_grid_search_by_score(kind: Any) -> None:
    search = GridSearchCV(kind(random_state=0, max_iter=30), {"n_components": [1, 3]}, cv=3)
    search.fit(X)
    assert search.best_params_ == {"n_components": 3}


# Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LapPLSI(0), r"n_components=0; it must be an integer of at least 1"),
        (LapPLSI(regularization=-1.0), r"regularization=-1.0; it must be a number of at least 0"),
        (LTM(regularization=np.nan), r"regularization=nan; it must be a number"),
        (LapPLSI(method="exact"), r"method='exact'; it must be one of 'gauss-seidel', 'jacobi'"),
        (LTM(method="jacobi"), r"method='jacobi'; it must be one of 'linear', 'exact'"),
        (DTM(step="newton"), r"step='newton'; it must be one of 'mm', 'paper'"),
        (DTM(gamma=0.0), r"gamma=0.0; it must be above 0 and at most 1"),
        (DTM(gamma=1.5), r"gamma=1.5; it must be a number of at least 0 and at most 1"),
        (DTM(kappa=-1), r"kappa=-1; it must be a number of at least 0"),
        (DTM(n_neighbors=0), r"n_neighbors=0; it must be an integer of at least 1"),
        (DTM(max_label_edges=0), r"max_label_edges=0; it must be an integer of at least 1"),
        (DTM(max_iter=0), r"max_iter=0; it must be an integer of at least 1"),
        (DTM(start="random"), r"start='random'; it must be None or an object"),
    ],
)
def test_settings_are_checked(model: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        model.fit(X)


@each_class
def test_data_are_checked(kind: Any) -> None:
    model = kind(3, random_state=0)
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(-X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X.max() == X, np.nan, X))
    with pytest.raises(IsothermError, match=r"y has shape \(89,\).*90 labels, one per row"):
        model.fit(X, SOME[1:])
    with pytest.raises(IsothermError, match=r"y has shape \(90, 1\).*90 labels, one per row"):
        model.fit(X, SOME[:, None])
    with pytest.raises(IsothermError, match=r"goes down to T = 0.*end above 0"):
        kind(3, schedule=Exponential(start=2.0, end=0.0)).fit(X)
    with pytest.raises(IsothermError, match=r"shape \(89, 90\); it must be square"):
        model.fit(X, graph=np.zeros((89, 90)))
    with pytest.raises(IsothermError, match=r"holds -1 at row 0, column 1"):
        model.fit(X, graph=-np.eye(90, k=1))
    with pytest.raises(IsothermError, match=r"holds nan at row 0, column 1"):
        model.fit(X, graph=np.where(np.eye(90, k=1), np.nan, 0.0))
    with pytest.raises(TypeError, match="sample_weight"):
        model.fit(X, sample_weight=np.ones(90))
    assert not hasattr(model, "graph_")


def test_schedules_that_ask_for_critical_temperatures_are_refused() -> None:
    from isotherm import Exponential

    with pytest.raises(IsothermError, match="critical temperatures are not known for linked rows"):
        LapPLSI(3, schedule=Exponential()).fit(X)


@every
def test_rows_without_counts(make: Any) -> None:
    counts = X.copy()
    counts[[3, 60]] = 0
    labels = SOME.copy()
    labels[[3, 60]] = 0
    with pytest.warns(IsothermWarning, match="2 of 90 rows have no counts"):
        model = make(random_state=0, max_iter=10).fit(counts, labels)
    np.testing.assert_array_equal(model.row_weights_[[3, 60]], 1 / 3)
    assert model.graph_[[3, 60]].nnz == model.graph_[:, [3, 60]].nnz == 0


@pytest.mark.filterwarnings("ignore:n_components=1:isotherm.IsothermWarning")
@each_class
def test_one_topic(kind: Any) -> None:
    model = kind(1, random_state=0).fit(X)
    np.testing.assert_array_equal(model.row_weights_, 1.0)
    np.testing.assert_allclose(model.components_[0], X.sum(axis=0) / X.sum(), atol=1e-7)
    if kind is DTM:
        assert np.isnan(model.separation_)


def test_warnings_name_the_line_of_the_user() -> None:
    with pytest.warns(IsothermWarning, match="n_components=1: rows with one topic") as one:
        DTM(1, random_state=0).fit(X)
    graph = np.kron(np.eye(2), 1 - np.eye(45))
    with pytest.warns(IsothermWarning, match="the graph has 2 components") as apart:
        DTM(3, random_state=0, max_iter=2).fit(X, graph=graph)
    with pytest.warns(IsothermWarning, match="no two rows are linked") as bare:
        LTM(3, random_state=0, max_iter=2).fit(X, graph=0 * graph)
    crooked = np.triu(np.ones((90, 90)), 1)
    with pytest.warns(IsothermWarning, match="not symmetric") as mended:
        LapPLSI(3, random_state=0, max_iter=2).fit(X, graph=crooked)
    with pytest.warns(IsothermWarning, match="the graph has 2 components") as wrapped:
        DTM(3, random_state=0, max_iter=2).fit_transform(X, graph=graph)
    with pytest.warns(IsothermWarning, match="20 steps in a row") as stuck:
        DTM(3, gamma=1.0, n_neighbors=40, random_state=0, max_iter=300, tol=0.0).fit(X)
    for caught in (one, apart, bare, mended, wrapped, stuck):
        assert [warning.filename for warning in caught] == [__file__]


def test_a_pipeline_hands_unknown_labels_on() -> None:
    """What follows gets -1 as well, so it must know what that means."""
    shown = SOME >= 0
    topics = DTM(3, random_state=0, max_iter=20)
    plain = make_pipeline(topics, LinearSVC()).fit(X, SOME)
    assert plain.classes_.tolist() == [-1, 0, 1, 2]
    learner = SelfTrainingClassifier(LogisticRegression(C=10.0))
    model = make_pipeline(clone(topics), learner).fit(X, SOME)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X[~shown], GROUPS[~shown]) > 0.9


@each_class
def test_neighbours_may_be_more_than_rows(kind: Any) -> None:
    model = kind(3, n_neighbors=500, random_state=0, max_iter=3).fit(X[:12])
    assert model.graph_.nnz == 12 * 11


# Real data ------------------------------------------------------------------------------------


def test_few_labels_of_newsgroups(shared_data: Path) -> None:
    """100 postings of each of 20 newsgroups, 5 of them labelled: 0.12 above PLSA, at least."""
    folder = shared_data / "20news"
    counts = sparse.csr_array(sparse.load_npz(folder / "counts.npz").astype(float))
    train = np.array((folder / "split.txt").read_text().split()) == "train"
    groups = np.loadtxt(folder / "labels.txt", dtype=int)
    words = np.flatnonzero(np.bincount(counts.indices) >= 20)
    assert len(words) == 8237
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [rng.permutation(np.flatnonzero(train & (groups == g)))[:100] for g in range(20)]
    )
    postings, truth = counts[rows][:, words], groups[rows]
    labels = np.where(np.arange(len(rows)) % 100 < 5, truth, -1)

    def accuracy(model: Any) -> float:
        weights = model.fit(postings, labels).row_weights_
        known = labels >= 0
        svm = LinearSVC(C=10.0).fit(weights[known], truth[known])
        return float(svm.score(weights[~known], truth[~known]))

    settings = {"random_state": 0, "max_iter": 40}
    plain = AspectModel(
        20, schedule=Fixed(1.0), start=Noisy(1.0), validation_fraction=0.0, **settings
    )
    base = accuracy(plain)
    assert accuracy(LapPLSI(20, **settings)) >= base + 0.12
    assert accuracy(DTM(20, **settings)) >= base + 0.12
