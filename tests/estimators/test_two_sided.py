"""Two-sided clustering as an estimator."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import SpectralBiclustering
from sklearn.metrics import adjusted_rand_score

from isotherm import (
    Adaptive,
    Callback,
    Counts,
    Engine,
    Exponential,
    Fixed,
    Grid,
    IsothermError,
    Noisy,
    Tempered,
    TwoSidedClustering,
)
from isotherm.anneal.trace import Record
from isotherm.estimators.starts.two_sided import Heating, OneSidedFits
from isotherm.models.two_sided import association, mutual_information
from support.corpora import one_topic_each

# How often clusters meet: every row and every column has a pattern of its own.
STRONG = np.array([[4, 1, 1, 4], [1, 4, 1, 4], [1, 1, 4, 1], [4, 4, 1, 1]])


def blocks(seed: int, K: int = 3, L: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts (60, 48) of K x L blocks, and the labels of both sides."""
    rng = np.random.default_rng(seed)
    x, y = rng.permutation(np.arange(60) % K), rng.permutation(np.arange(48) % L)
    return rng.poisson(STRONG[x][:, y]), x, y


X, ROWS, COLUMNS = blocks(0)


@pytest.fixture(scope="module")
def model() -> TwoSidedClustering:
    return TwoSidedClustering(3, 4, random_state=0).fit(X)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(3, 4), (3, 3), (4, 3), (4, 4)], ids=str)
def test_planted_blocks_are_found_from_every_seed(seed: int, shape: tuple[int, int]) -> None:
    counts, x, y = blocks(seed, *shape)
    # Three clusters of columns leave a row of four clusters where its noise puts it, now and then.
    least = 0.95 if shape == (4, 3) else 1.0
    model = TwoSidedClustering(*shape, random_state=seed).fit(counts)
    assert adjusted_rand_score(x, model.row_labels_) >= least
    assert adjusted_rand_score(y, model.column_labels_) == 1.0
    hard = TwoSidedClustering(
        *shape, schedule=Fixed(0.0), validation_fraction=0.0, random_state=seed
    ).fit(counts)
    truth = mutual_information(np.eye(shape[0])[x].T @ counts @ np.eye(shape[1])[y])
    assert hard.mutual_information_ >= truth - 1e-12


def test_fitted_attributes_belong_together(model: TwoSidedClustering) -> None:
    assert model.row_weights_.shape == (60, 3)
    assert model.column_weights_.shape == (48, 4)
    joint = model.row_weights_.T @ X @ model.column_weights_ / X.sum()
    # The last half sweep moved the columns, not the rows: the joint is of both as they are.
    assert_allclose(model.joint_, joint, rtol=1e-9)
    assert_allclose(model.association_, association(model.joint_), rtol=1e-12)
    assert model.mutual_information_ == pytest.approx(mutual_information(joint))
    assert_allclose(model.weights_, model.row_weights_.mean(axis=0), rtol=1e-9)
    assert_array_equal(model.row_labels_, model.row_weights_.argmax(axis=1))
    assert_array_equal(model.column_labels_, model.column_weights_.argmax(axis=1))
    p = X.sum(axis=0) / X.sum()
    expected = p * (model.association_ @ model.column_weights_.T)
    assert_allclose(model.components_, expected, rtol=1e-9)
    assert model.temperature_ >= 1.0


def test_biclusters_are_those_of_scikit_learn(model: TwoSidedClustering) -> None:
    assert model.rows_.shape == (12, 60)
    assert model.columns_.shape == (12, 48)
    assert_array_equal(model.biclusters_[0], model.rows_)
    # The same order of pairs as the checkerboard of scikit-learn.
    other = SpectralBiclustering((3, 4), random_state=0).fit(X + 1)
    for one in (model, other):
        c, d = (labels for labels in (one.row_labels_, one.column_labels_))
        for i in range(12):
            assert_array_equal(one.rows_[i], c == i // 4)
            assert_array_equal(one.columns_[i], d == i % 4)
    rows, columns = model.get_indices(7)
    assert_array_equal(rows, np.flatnonzero(model.row_labels_ == 1))
    assert_array_equal(columns, np.flatnonzero(model.column_labels_ == 3))
    assert model.get_shape(7) == (len(rows), len(columns))
    assert_array_equal(model.get_submatrix(7, X), X[np.ix_(rows, columns)])
    with pytest.raises(IsothermError, match="i=12; there are 12 biclusters, 0 to 11"):
        model.get_indices(12)
    with pytest.raises(IsothermError, match="i=-1; it must be an integer of at least 0"):
        model.get_indices(-1)


@pytest.mark.parametrize(
    ("index", "first"),
    [
        ([f"row {i}" for i in range(len(X))], "row 0"),
        (pd.MultiIndex.from_tuples([("row", i) for i in range(len(X))]), "('row', 0)"),
        (pd.RangeIndex(len(X)), "0"),
    ],
    ids=["names", "tuples", "numbers"],
)
def test_rows_are_called_by_the_index_of_a_frame(index: Any, first: str) -> None:
    model = TwoSidedClustering(3, 4, random_state=0).fit(pd.DataFrame(X, index=index))
    assert first in model.top_rows(len(X))[model.row_labels_[0]]
    assert sum(map(len, model.top_rows(len(X)))) == len(X)


def test_default_is_as_many_clusters_of_columns() -> None:
    assert TwoSidedClustering(3, random_state=0).fit(X).association_.shape == (3, 3)


def test_predict_is_the_largest_posterior(model: TwoSidedClustering) -> None:
    assert_array_equal(model.predict(X), model.row_labels_)
    assert_array_equal(model.predict(X), model.transform(X).argmax(axis=1))
    # Q(c|x) by hand, with the tempered prior.
    scores = X @ (model.column_weights_ @ np.log(model.association_).T) + np.log(model.weights_)
    scores /= model.temperature_
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert_allclose(model.transform(X), expected / expected.sum(axis=1, keepdims=True), atol=1e-9)


def test_heating_goes_on_while_held_out_tokens_improve(model: TwoSidedClustering) -> None:
    temperatures = [record.temperature for record in model.trace_]
    assert temperatures[0] == 1.0
    assert_allclose(np.diff(np.log(temperatures[:-1])), -np.log(0.7), rtol=1e-9)
    best = min(model.trace_, key=lambda record: record.heldout)
    assert model.temperature_ == best.temperature


def test_sparse_text_is_heated() -> None:
    table, labels = one_topic_each(150, 60, 4, length=15)
    model = TwoSidedClustering(8, random_state=0).fit(table)
    assert model.temperature_ > 1.0
    cold = TwoSidedClustering(8, schedule=Fixed(1.0), random_state=0).fit(table)
    assert min(r.heldout for r in model.trace_) < cold.trace_[0].heldout
    assert len(labels) == 150


def test_nothing_held_out_stays_at_one() -> None:
    model = TwoSidedClustering(3, validation_fraction=0.0, random_state=0).fit(X)
    assert [record.temperature for record in model.trace_] == [1.0]
    assert model.temperature_ == 1.0


def test_hard_limit_has_hard_posteriors() -> None:
    hard = TwoSidedClustering(3, 4, schedule=Fixed(0.0), validation_fraction=0, random_state=0)
    hard.fit(X)
    for posterior in (hard.row_weights_, hard.column_weights_, hard.transform(X)):
        assert set(np.unique(posterior)) == {0.0, 1.0}
    labels = np.eye(3)[hard.row_labels_].T @ X @ np.eye(4)[hard.column_labels_]
    assert hard.mutual_information_ == pytest.approx(mutual_information(labels))
    soft = TwoSidedClustering(3, 4, random_state=0).fit(X)
    assert hard.mutual_information_ >= soft.mutual_information_ - 1e-9


@pytest.mark.parametrize(
    "schedule", [Grid((0.7, 1.0, 2.0)), Tempered(0.8), Exponential(0.7, end=0.7, start=1.4)]
)
def test_other_schedules(schedule: Any) -> None:
    model = TwoSidedClustering(3, 4, schedule=schedule, random_state=0).fit(X)
    assert adjusted_rand_score(ROWS, model.row_labels_) == 1.0
    assert model.temperature_ in [record.temperature for record in model.trace_]


def test_there_is_nothing_to_cool_from() -> None:
    for schedule in (Exponential(), Adaptive()):
        with pytest.raises(IsothermError, match="first critical temperature, which this model has"):
            TwoSidedClustering(3, schedule=schedule).fit(X)


def test_cooling_from_noise_finds_nothing() -> None:
    model = TwoSidedClustering(3, 4, start=Noisy(0.01), random_state=0).fit(X)
    assert model.mutual_information_ < 1e-6
    assert model.n_distinct_ == 1
    assert len(model.trace_) == 1  # heating ends where clusters coincide


def test_heating_stops_at_its_end_and_without_scores() -> None:
    def record(temperature: float, n_effective: int = 3, heldout: float = 5.0) -> Record:
        return Record(temperature, 0.0, 0.0, heldout, n_effective, 3, (), 1, 0.0, True)

    heating = Heating(0.5, start=1.0, end=3.0)
    steps = [heating.next(trace, lambda: np.zeros(1), 0.0) for trace in ([], [record(1.0)])]
    assert steps == [1.0, 2.0]
    assert heating.next([record(2.0)], lambda: np.zeros(1), 0.0) == 3.0
    for last in (record(3.0), record(1.0, 1), record(1.0, heldout=float("nan"))):
        assert heating.next([last], lambda: np.zeros(1), 0.0) is None


@pytest.mark.parametrize("settings", [{"rate": 1.0}, {"rate": 0.0}, {"start": 0.0}, {"end": 0.5}])
def test_heating_that_does_not_heat_is_refused(settings: dict[str, float]) -> None:
    with pytest.raises(IsothermError, match="heating needs 0 < rate < 1 and 0 < start <= end"):
        Heating(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components=0; it must be an integer of at least 1"),
        ({"n_column_components": 0}, "n_column_components=0; it must be an integer"),
        ({"n_column_components": 2.5}, "n_column_components=2.5; it must be an integer"),
        ({"temper_prior": "yes"}, "temper_prior='yes'; it must be True or False"),
        ({"schedule": 1.0}, "schedule=1.0; it must be None or an object"),
        ({"start": "spectral"}, "start='spectral'; it must be None or an object"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0; it must be"),
        ({"engine__patience": 0}, "patience=0; it must be"),
        ({"tol": -1.0}, "tol=-1.0; it must be"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    model = TwoSidedClustering()
    with pytest.raises(IsothermError, match=message):
        model.set_params(**settings).fit(X)
    assert not hasattr(model, "association_")


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="Negative values"):
        TwoSidedClustering(2).fit(X - 1)


def test_there_is_no_leave_one_out_and_no_relaxation() -> None:
    names = TwoSidedClustering().get_params()
    assert not {"leave_one_out", "over_relax"} & set(names)


def test_empty_rows_and_columns() -> None:
    table = X.copy()
    table[7], table[:, 3] = 0, 0
    model = TwoSidedClustering(3, 4, random_state=0).fit(table)
    kept = np.arange(60) != 7
    assert adjusted_rand_score(ROWS[kept], model.row_labels_[kept]) == 1.0
    assert (model.components_[:, 3] == 0).all()
    assert np.isfinite(model.association_).all()
    assert_allclose(model.column_weights_.sum(axis=1), 1.0)


def test_more_clusters_than_rows_or_columns() -> None:
    model = TwoSidedClustering(9, 12, random_state=0).fit(X[:5, :6])
    assert model.association_.shape == (9, 12)
    assert np.isfinite(model.association_).all()
    assert_allclose(model.transform(X[:5, :6]).sum(axis=1), 1.0)


def test_weights_are_copies() -> None:
    weight = np.where(np.arange(60) % 4 == 0, 2.0, 1.0)
    heavy = TwoSidedClustering(3, 4, random_state=0).fit(X, sample_weight=weight)
    copies = np.repeat(np.arange(60), weight.astype(int))
    twice = TwoSidedClustering(3, 4, random_state=0).fit(X[copies])
    assert_allclose(twice.association_, heavy.association_, rtol=1e-6)
    assert_array_equal(twice.column_labels_, heavy.column_labels_)


def test_single_and_double_precision_agree() -> None:
    one, other = (
        TwoSidedClustering(3, 4, engine=Engine(precision=p), random_state=0).fit(
            sparse.csr_array(X)
        )
        for p in ("float32", "float64")
    )
    assert_array_equal(one.row_labels_, other.row_labels_)
    assert_allclose(one.association_, other.association_, rtol=2e-3)


def test_members_are_ordered_by_tokens(model: TwoSidedClustering) -> None:
    for c, names in enumerate(model.top_rows(5)):
        own = np.flatnonzero(model.row_labels_ == c)
        size = X.sum(axis=1)[own] * model.row_weights_[own, c]
        assert names == [str(i) for i in own[np.argsort(-size, kind="stable")][:5]]
    assert sorted(itertools.chain(*model.top_columns(48)), key=int) == [str(j) for j in range(48)]


def test_names_come_from_counts() -> None:
    rows, columns = [f"row{i}" for i in range(60)], [f"column{j}" for j in range(48)]
    model = TwoSidedClustering(3, 4, random_state=0).fit(Counts(X, rows, columns))
    assert {len(set(c)) for c in model.top_rows(2)} == {2}
    assert all(name.startswith("row") for c in model.top_rows(3) for name in c)
    assert all(name.startswith("column") for c in model.top_columns(3) for name in c)
    lines = model.describe(2).splitlines()
    assert lines[0].startswith("TwoSidedClustering: 3 clusters of rows, 4 of columns at T = ")
    assert lines[1] == "rows:"
    assert lines[5] == "columns:"
    assert len(lines) == 10
    largest = model.joint_.sum(axis=1).argmax()
    partner = (model.joint_ * np.log(model.association_))[largest].argmax()
    assert lines[2].split()[:5] == [
        str(largest), f"{100 * model.joint_.sum(axis=1).max():.1f}", "%", "->", str(partner)
    ]  # fmt: skip
    assert lines[2].split()[5:] == model.top_rows(2)[largest]


def test_an_interrupt_in_the_start_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from isotherm.models.cluster import Cluster

    calls, honest = [], Cluster.expect

    def interrupted(self: Any, *args: Any) -> Any:
        calls.append(1)
        if len(calls) > 20:
            raise KeyboardInterrupt
        return honest(self, *args)

    monkeypatch.setattr(Cluster, "expect", interrupted)
    model = TwoSidedClustering(3, start=OneSidedFits(tol=0.0), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "association_")


def test_callbacks_hear_of_the_heating_alone() -> None:
    class Ear(Callback):
        def __init__(self) -> None:
            self.heard: list[float] = []

        def on_temperature(self, fit: Any) -> bool:
            self.heard.append(fit.trace[-1].temperature)
            return False

    ear = Ear()
    model = TwoSidedClustering(3, 4, engine=Engine(callbacks=[ear]), random_state=0).fit(X)
    assert ear.heard == [record.temperature for record in model.trace_]


def test_every_sharding_gives_the_same_start() -> None:
    from isotherm.anneal.engine import NO_RELAXATION, Annealer
    from isotherm.kernels.cpu.backend import Cpu
    from isotherm.models.two_sided import TwoSided
    from isotherm.placement.local import Local

    annealer = Annealer(Fixed(1.0), NO_RELAXATION, start=OneSidedFits())
    fits = [
        annealer.run(
            TwoSided(3, 4, True),
            Local.place(Counts(X), Cpu("float64"), n_blocks=n),
            np.random.default_rng(0),
        )
        for n in (1, 3, 7)
    ]
    for fit in fits[1:]:
        assert_allclose(fit.state.params.association, fits[0].state.params.association, rtol=1e-8)


def test_the_start_does_not_tell_weights_from_copies() -> None:
    from isotherm.kernels.cpu.backend import Cpu
    from isotherm.models.two_sided import TwoSided
    from isotherm.placement.local import Local

    weight = np.where(ROWS == 0, 3.0, 1.0)
    copies = np.repeat(np.arange(60), weight.astype(int))
    model = TwoSided(3, 4, True)
    # Before any two-sided sweep, which would hide how the start was put together.
    heavy, twice = (
        OneSidedFits()._begun(model, data, 0.3, np.random.default_rng(0)).params
        for data in (
            Local.place(Counts(X), Cpu("float64"), weight=weight),
            Local.place(Counts(X[copies]), Cpu("float64")),
        )
    )
    assert_allclose(heavy.association, twice.association, rtol=1e-9)
    assert_allclose(heavy.weight, twice.weight, rtol=1e-9)
