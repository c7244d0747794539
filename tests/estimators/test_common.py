"""What all count estimators share: scores, words, threads, progress, interruption."""

import logging
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from isotherm import (
    AspectModel,
    Callback,
    Counts,
    DocumentMixture,
    Engine,
    Exponential,
    Fixed,
    IsothermWarning,
    OneSidedClustering,
    Recorder,
    TimeLimit,
    TwoSidedClustering,
)
from isotherm.anneal.engine import Annealer
from isotherm.anneal.trace import Fit
from isotherm.data.split import hold_out_tokens
from support.corpora import admixture
from support.estimators import of_counts

ALL = [AspectModel, OneSidedClustering, DocumentMixture]
X = admixture(90, 40)[0]
NEW = admixture(90, 40, seed=0)[0][60:] + np.eye(30, 40, dtype=int)


@pytest.fixture(scope="module", params=ALL)
def fitted(request: pytest.FixtureRequest) -> Any:
    return of_counts(request.param)(3, random_state=0).fit(X)


def test_attributes(fitted: Any) -> None:
    assert fitted.components_.shape == (3, 40)
    np.testing.assert_allclose(fitted.components_.sum(axis=1), 1.0)
    np.testing.assert_allclose(fitted.weights_.sum(), 1.0)
    assert fitted.row_weights_.shape == (90, 3)
    np.testing.assert_allclose(fitted.row_weights_.sum(axis=1), 1.0)
    temperatures = [record.temperature for record in fitted.trace_]
    assert fitted.temperature_ in temperatures
    assert temperatures[0] < fitted.first_critical_
    best = min(fitted.trace_, key=lambda record: record.heldout)
    assert fitted.temperature_ == best.temperature
    # The chosen state is settled once more on all counts.
    assert fitted.n_iter_ > sum(record.sweeps for record in fitted.trace_)
    assert fitted.n_distinct_ == 3
    assert np.isfinite(fitted.free_energy_)


def test_transform_agrees_with_the_weights_of_the_fit(fitted: Any) -> None:
    away = np.abs(fitted.transform(X) - fitted.row_weights_)
    assert np.median(away.max(axis=1)) < 0.02


def test_transform_treats_every_row_by_itself(fitted: Any) -> None:
    whole = fitted.transform(NEW)
    np.testing.assert_array_equal(fitted.transform(NEW[::-1]), whole[::-1])
    single = np.concatenate([fitted.transform(NEW[[i]]) for i in range(len(NEW))])
    np.testing.assert_array_equal(single, whole)
    assert whole.dtype == np.float64


def test_perplexity_is_the_exponential_of_the_score(fitted: Any) -> None:
    assert fitted.perplexity(NEW) == pytest.approx(np.exp(-fitted.score(NEW)), rel=1e-12)


def test_perplexity_of_given_parts(fitted: Any) -> None:
    given, held = (part.matrix for part in hold_out_tokens(Counts(NEW), 0.5, 0))
    assert fitted.perplexity(given, held) == fitted.perplexity(NEW)
    smoothing = 0.05
    N = X.sum()
    background = (X.sum(axis=0) + 0.5) / (N + 0.5 * 40)
    p = fitted.transform(given) @ fitted.components_
    p = (1 - smoothing) * p + smoothing * background
    m = held.toarray().astype(float)
    expected = np.exp(-(m * np.log(p)).sum() / m.sum())
    got = fitted.perplexity(given, held, smoothing=smoothing)
    assert got == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ALL)
def test_one_component_is_the_unigram_model(kind: Any) -> None:
    model = of_counts(kind)(1, random_state=0).fit(X)
    p = X.sum(axis=0) / X.sum()
    np.testing.assert_allclose(model.components_[0], p, rtol=1e-9)
    np.testing.assert_allclose(model.transform(NEW), 1.0)
    expected = np.exp(-(NEW * np.log(p)).sum() / NEW.sum())
    assert model.perplexity(NEW, NEW, smoothing=0.0) == pytest.approx(expected, rel=1e-9)


def test_structure_beats_the_unigram_model(fitted: Any) -> None:
    unigram = type(fitted)(1, random_state=0).fit(X)
    assert fitted.perplexity(NEW) < 0.8 * unigram.perplexity(NEW)
    assert fitted.score(NEW) > unigram.score(NEW)


def test_top_words_by_probability(fitted: Any) -> None:
    words = fitted.top_words(5, by="probability")
    assert [len(row) for row in words] == [5, 5, 5]
    for k, row in enumerate(words):
        p = fitted.components_[k, [int(word) for word in row]]
        assert (np.diff(p) <= 0).all()
        assert p[-1] >= np.sort(fitted.components_[k])[-5]
    assert fitted.top_words(100)[0] == fitted.top_words(40)[0]
    assert fitted.top_words(5) == fitted.top_words(5, by="telling")


def test_top_words_by_lift(fitted: Any) -> None:
    p = X.sum(axis=0) / X.sum()
    lift = fitted.components_ / (p + 1 / 40)
    words = fitted.top_words(4, by="lift")
    np.testing.assert_array_equal(
        np.array(words).astype(int), np.argsort(-lift, axis=1, kind="stable")[:, :4]
    )


def test_words_of_all_components_come_last_but_by_probability() -> None:
    common = np.c_[X, np.full(len(X), 30)]
    model = AspectModel(3, random_state=0).fit(common)
    assert all(row[0] == "40" for row in model.top_words(1, by="probability"))
    assert all("40" not in row for row in model.top_words(5, by="lift"))
    assert all("40" not in row for row in model.top_words(5))


def test_describe(fitted: Any) -> None:
    lines = fitted.describe(4).splitlines()
    assert lines[0].startswith(f"{type(fitted).__name__}: 3 components (3 distinct) at T = ")
    assert f"{fitted.n_iter_} sweeps, {len(fitted.trace_)} temperatures" in lines[0]
    assert len(lines) == 4
    order = np.argsort(-fitted.weights_)
    words = fitted.top_words(4)
    for line, k in zip(lines[1:], order, strict=True):
        number, share, percent, *shown = line.split()
        assert (int(number), percent, shown[-4:]) == (k, "%", words[k])
        assert " ".join(shown[:-4]) == fitted.names_[k]
        assert float(share) == pytest.approx(100 * fitted.weights_[k], abs=0.06)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_threads_do_not_change_a_bit(kind: Any, precision: str) -> None:
    table = admixture(300, 60, 4)[0]
    fits = [
        kind(4, random_state=0, n_jobs=n_jobs, engine=Engine(precision=precision), tol=1e-3).fit(
            table
        )
        for n_jobs in (1, 2, None, -1)
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.components_, fits[0].components_)
        np.testing.assert_array_equal(fit.row_weights_, fits[0].row_weights_)
        np.testing.assert_array_equal(fit.transform(table[:9]), fits[0].transform(table[:9]))
        assert fit.free_energy_ == fits[0].free_energy_


@pytest.mark.parametrize("kind", ALL)
def test_same_seed_same_fit(kind: Any) -> None:
    first, second = (of_counts(kind)(3, random_state=3, tol=1e-3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)
    assert first.temperature_ == second.temperature_


@pytest.mark.parametrize("kind", ALL)
def test_every_seed_holds_out_the_same(kind: Any) -> None:
    # One component knows no noise: only what is held out can make a difference.
    scores = [kind(1, random_state=seed).fit(X).trace_[0].heldout for seed in (1, 2)]
    assert np.isfinite(scores).all()
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)


@pytest.mark.parametrize("kind", ALL)
def test_verbose_prints_and_silence_is_silent(
    kind: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    of_counts(kind)(3, random_state=0, verbose=True).fit(X)
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) > 2
    assert all(" % done" in line for line in shown)
    assert shown[0].startswith("cooling: ")
    assert shown[-1].startswith("settling: ")
    for verbose in (None, False):
        of_counts(kind)(3, random_state=0, verbose=verbose).fit(X)
        assert capsys.readouterr() == ("", "")


def test_every_temperature_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="isotherm"):
        model = AspectModel(3, random_state=0).fit(X)
    lines = [message for message in caplog.messages if message.startswith("T ")]
    assert len(lines) == len(model.trace_)


@pytest.mark.parametrize("kind", ALL)
def test_callbacks_watch_and_stop(kind: Any) -> None:
    seen = Recorder(lambda fit: fit.trace[-1].temperature)
    model = of_counts(kind)(
        3, random_state=0, engine=Engine(callbacks=[seen, TimeLimit(-1.0)])
    ).fit(X)
    assert len(model.trace_) == 1
    assert seen.values == [model.trace_[0].temperature]
    assert model.outcome_ == "a rule stopped the run"


class Interrupt(Callback):
    def on_temperature(self, fit: Fit) -> bool:
        if len(fit.trace) == 3:
            raise KeyboardInterrupt
        return False


@pytest.mark.parametrize("kind", [*ALL, TwoSidedClustering])
def test_warning_of_nothing_held_out_names_the_line_of_the_user(kind: Any) -> None:
    with pytest.warns(IsothermWarning, match="holds nothing out") as caught:
        kind(2, random_state=0).fit(5 * np.eye(3, 4))
    assert [one.filename for one in caught] == [__file__]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("fraction", [0.0, 0.1])
def test_interrupted_fit_is_a_fit_with_a_warning(kind: Any, fraction: float) -> None:
    schedule = Exponential(0.95)
    model = kind(
        3,
        random_state=0,
        schedule=schedule,
        validation_fraction=fraction,
        engine=Engine(callbacks=[Interrupt()], patience=9),
    )
    with pytest.warns(ConvergenceWarning, match="fit was interrupted") as caught:
        model.fit(X)
    assert caught[0].filename == __file__
    assert len(model.trace_) == 3
    assert model.temperature_ in [record.temperature for record in model.trace_]
    assert model.transform(X).shape == (90, 3)


def test_interrupt_while_settling_on_all_counts_keeps_the_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settle = Annealer._settle

    def interrupted(self: Annealer, *given: Any) -> Any:
        if isinstance(self.schedule, Fixed) and self.max_sweeps > 1:
            raise KeyboardInterrupt
        return settle(self, *given)

    monkeypatch.setattr(Annealer, "_settle", interrupted)
    model = AspectModel(3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="fit was interrupted"):
        model.fit(X)
    assert model.temperature_ in [record.temperature for record in model.trace_]
    np.testing.assert_allclose(model.row_weights_.sum(axis=1), 1.0)
    assert model.outcome_.startswith("interrupted")


class InterruptAtOnce(Callback):
    def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize("kind", ALL)
def test_interrupt_before_anything_is_fitted_leaves_nothing(kind: Any) -> None:
    model = of_counts(kind)(3, random_state=0, engine=Engine(callbacks=[InterruptAtOnce()]))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("kind", ALL)
def test_nothing_held_out_cools_to_the_end(kind: Any) -> None:
    model = of_counts(kind)(3, random_state=0, validation_fraction=0).fit(X)
    assert model.temperature_ == model.trace_[-1].temperature == 1.0
    assert model.outcome_ == "the schedule reached its end"
    assert all(np.isnan(record.heldout) for record in model.trace_)
    assert model.n_iter_ == sum(record.sweeps for record in model.trace_)


@pytest.mark.parametrize("kind", ALL)
def test_patience_is_waited_for(kind: Any) -> None:
    # Few tokens and many components: cooling overfits long before its end.
    sparse = admixture(80, 80, 4, length=25)[0]
    hasty, patient = (
        of_counts(kind)(8, random_state=0, engine=Engine(patience=p)).fit(sparse) for p in (1, 4)
    )
    assert len(hasty.trace_) < len(patient.trace_)
    for model, p in ((hasty, 1), (patient, 4)):
        scores = np.array([record.heldout for record in model.trace_])
        assert len(scores) - 1 - scores.argmin() >= p
