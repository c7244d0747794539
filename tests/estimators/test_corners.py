"""Corners where a fit could go wrong without a word."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score, train_test_split

from isotherm import (
    AspectModel,
    Callback,
    Counts,
    DocumentMixture,
    Engine,
    Exponential,
    Fixed,
    Folds,
    Grid,
    IsothermError,
    IsothermWarning,
    OneSidedClustering,
    Progress,
    Recorder,
    Rows,
    TimeLimit,
)
from isotherm.anneal.heldout import HeldoutRows
from isotherm.anneal.start import state_of
from isotherm.anneal.trace import Fit, State
from isotherm.kernels.reference import Reference
from isotherm.models.base import DEAD, distinct_components, held_back
from isotherm.models.document import Document
from isotherm.placement.local import Local
from support.corpora import admixture, one_topic_each

ALL = [AspectModel, OneSidedClustering, DocumentMixture]
X = admixture(90, 40)[0]
TOPIC_EACH = one_topic_each(60, 30, 3, length=40)[0]


@pytest.mark.parametrize("kind", ALL)
def test_duplicate_cells_of_a_small_type_do_not_overflow(kind: Any) -> None:
    base = sparse.coo_array(X.astype(np.uint8))
    twice = [np.concatenate([part, part[:1], part[:1]]) for part in (base.row, base.col)]
    data = np.concatenate([base.data, [200, 100]]).astype(np.uint8)
    given = sparse.coo_array((data, tuple(twice)), shape=X.shape)
    table = X.copy()
    table[base.row[0], base.col[0]] += 300
    found = kind(2, random_state=0).fit(given).components_
    assert np.array_equal(found, kind(2, random_state=0).fit(table).components_)


@pytest.mark.parametrize("kind", ALL)
def test_grid_tries_all_its_temperatures(kind: Any) -> None:
    temperatures = (3.0, 2.9, 2.8, 2.7, 1.5, 1.2)
    model = kind(3, schedule=Grid(temperatures), engine=Engine(patience=1), random_state=0).fit(X)
    assert [record.temperature for record in model.trace_] == list(temperatures)
    best = min(model.trace_, key=lambda record: record.heldout)
    assert model.temperature_ == best.temperature


def test_a_relaxed_step_kills_no_component() -> None:
    reached = np.array([0.006, 0.994])
    relaxed = np.array([0.010, 0.990]) + 3.0 * (reached - np.array([0.010, 0.990]))
    kept = held_back(relaxed, reached)
    assert relaxed[0] < 0
    assert kept[0] == pytest.approx(0.0006, rel=0.01)
    assert kept.min() > DEAD
    assert kept.sum() == pytest.approx(1.0)


def test_equal_rows_with_weights_are_repeated_rows() -> None:
    weight = np.arange(60) % 4
    settings: dict[str, Any] = {"weighting": "rows", "random_state": 0}
    weighted = OneSidedClustering(3, **settings).fit(TOPIC_EACH, sample_weight=weight)
    repeated = OneSidedClustering(3, **settings).fit(np.repeat(TOPIC_EACH, weight, axis=0))
    assert weighted.row_scale_ == pytest.approx(repeated.row_scale_)
    assert weighted.first_critical_ == pytest.approx(repeated.first_critical_)
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-7)


def test_equal_rows_hold_out_tokens_not_cells() -> None:
    # A row of one cell has tokens to hold out only while its counts are whole.
    table = np.kron(np.eye(2, dtype=int), np.full((6, 1), 50))
    table[0] *= 3
    model = OneSidedClustering(2, weighting="rows", temper_prior=True, random_state=0).fit(table)
    assert np.isfinite([record.heldout for record in model.trace_]).all()


def fitted_document(stepwise: bool = False) -> tuple[Document, Local, State]:
    data = Local.place(Counts(TOPIC_EACH), Reference())
    model = Document(2, 1.0, stepwise)
    table = np.stack([TOPIC_EACH[:30].sum(axis=0), TOPIC_EACH[30:].sum(axis=0)], axis=1) + 0.5
    return model, data, state_of(model, data, model.init(data.summary, table / table.sum(axis=0)))


def test_total_perplexity_with_a_weight_of_zero() -> None:
    model, data, state = fitted_document()
    state.params.word_topic[4] = 0.0  # makes many held-out rows impossible
    only_train = HeldoutRows(data, train_weight=1.0, test_weight=0.0)
    only_test = HeldoutRows(data, train_weight=0.0, test_weight=1.0)
    assert only_test.score(model, state, data, 2.0) == np.inf
    model, data, state = fitted_document()
    assert np.isfinite(only_train.score(model, state, data, 2.0))
    with pytest.raises(IsothermError, match="both 0"):
        DocumentMixture(2, engine=Engine(holdout=Rows(train_weight=0.0, test_weight=0.0))).fit(X)


def test_raw_sums_lean_to_the_larger_part() -> None:
    model, data, state = fitted_document()
    held = Local.place(Counts(TOPIC_EACH[:6]), Reference())
    raw = HeldoutRows(held, 0.5, 0.5, per_token=False).score(model, state, data, 2.0)
    train = -np.log(HeldoutRows(held, 1.0, 0.0).score(model, state, data, 2.0))
    test = -np.log(HeldoutRows(held, 0.0, 1.0).score(model, state, data, 2.0))
    n_train, n_test = data.summary.total, held.summary.total
    expected = (n_train * train + n_test * test) / (n_train + n_test)
    assert -np.log(raw) == pytest.approx(expected)


def test_folded_in_density_is_the_same_for_stepwise_updates() -> None:
    scores = []
    for stepwise in (False, True):
        model, data, state = fitted_document(stepwise)
        scores.append(HeldoutRows(data, density="fold-in").score(model, state, data, 3.0))
    assert scores[1] == pytest.approx(scores[0], rel=1e-3)


@pytest.mark.parametrize("name", ["tol", "train_weight", "pseudo_count"])
def test_infinite_settings_are_refused(name: str) -> None:
    with pytest.raises(IsothermError, match=f"{name}=inf"):
        DocumentMixture(2, **{name: float("inf")}).fit(X)


@pytest.mark.parametrize("callback", [Progress(), TimeLimit(60.0)])
def test_estimators_with_callbacks_can_be_cloned(callback: Callback) -> None:
    copy = clone(AspectModel(2, engine=Engine(callbacks=[callback]), random_state=0))
    assert type(copy.engine.callbacks[0]) is type(callback)
    assert copy.fit(X).weights_.shape == (2,)


def test_time_limit_counts_from_the_beginning_of_each_fit() -> None:
    now = [0.0]
    limit = TimeLimit(50.0, lambda: now[0])
    model = AspectModel(2, engine=Engine(callbacks=[limit], patience=9), random_state=0)
    lengths = []
    for _ in range(2):
        lengths.append(len(model.fit(X).trace_))
        now[0] += 100.0
    assert lengths[0] == lengths[1] > 1


def test_interrupt_ends_cross_validation() -> None:
    seen = Recorder(lambda fit: len(fit.trace))

    class Interrupt(Exponential):
        def next(self, trace: Any, critical: Any, zero: float) -> float | None:
            if len(trace) == 2:
                raise KeyboardInterrupt
            return super().next(trace, critical, zero)

    model = DocumentMixture(
        2,
        engine=Engine(holdout=Folds(3), callbacks=[seen]),
        schedule=Interrupt(0.9),
        random_state=0,
    )
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "components_")
    assert seen.values == []


def test_folds_are_not_shown_to_callbacks() -> None:
    seen = Recorder(lambda fit: len(fit.trace))
    model = DocumentMixture(
        2, engine=Engine(holdout=Folds(3), callbacks=[seen]), random_state=0
    ).fit(X)
    assert seen.values == list(range(1, len(model.trace_) + 1))


def test_counts_work_with_model_selection() -> None:
    counts = Counts(X, row_names=[f"r{i}" for i in range(90)])
    train, test = train_test_split(counts, random_state=0)
    assert (len(train), len(test)) == (67, 23)
    assert train.row_names[0] in counts.row_names
    assert counts[3:5].shape == (2, 40)
    assert np.array_equal(counts[np.arange(90) == 7].matrix.toarray()[0], X[7])
    scores = cross_val_score(AspectModel(2, random_state=0), counts, cv=3)
    assert np.isfinite(scores).all()


def test_nothing_held_out_is_said() -> None:
    with pytest.warns(IsothermWarning, match="holds nothing out"):
        model = AspectModel(2, validation_fraction=0.01, random_state=0).fit(np.eye(3, dtype=int))
    assert model.temperature_ == 1.0


def test_critical_temperatures_in_the_trace() -> None:
    model = OneSidedClustering(3, engine=Engine(record_critical=True), random_state=0).fit(
        TOPIC_EACH
    )
    assert model.trace_
    for record in model.trace_:
        assert len(record.critical) == record.n_effective
        assert min(record.critical) >= 0
    assert (model.n_alive_, model.n_distinct_) == (3, 3)


def test_distinct_components_are_told_apart_by_l1() -> None:
    base = np.full(1000, 1e-3)
    spread = base.copy()
    spread[::2] *= 1.05
    spread[1::2] *= 0.95  # small everywhere: Hellinger 0.018, L1 0.05
    rare = np.append(base * (1 - 3e-4), 3e-4)  # a new column: Hellinger 0.012, L1 6e-4
    table = np.stack([np.append(base, 0.0), np.append(spread, 0.0), rare], axis=1)
    assert distinct_components(np.full(3, 1 / 3), table).tolist() == [0, 1]
    assert distinct_components(np.array([0.5, 0.0, 0.5]), table).tolist() == [0]


def test_plain_em_at_one_temperature_has_no_first_transition() -> None:
    found: list[Fit] = []
    keep = Recorder(lambda fit: found.append(fit))
    model = AspectModel(
        2, schedule=Fixed(1.0), engine=Engine(callbacks=[keep]), random_state=0
    ).fit(X)
    assert np.isnan(model.first_critical_)
    assert len(found) == 1
