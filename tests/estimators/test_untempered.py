"""Clusters with an untempered prior are led by the path of a tempered one."""

import numpy as np

from isotherm import DocumentMixture, Engine, Exponential, Fixed, OneSidedClustering, TimeLimit
from isotherm.anneal.start import Noisy
from isotherm.anneal.trace import Outcome, way
from isotherm.data.base import Array
from isotherm.plots.annealing import path_of


def sparse_text(seed: int = 0, n_rows: int = 400) -> Array:
    """Short rows of twelve topics over many rare columns, a few of them far longer, (I, 600)."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(600, 0.05), 12)
    share = 0.6 * topics + 0.4 * rng.dirichlet(np.full(600, 0.5))
    length = np.where(np.arange(n_rows) % 40 == 0, 300, 25)
    counts = np.stack([rng.multinomial(length[i], share[i % 12]) for i in range(n_rows)])
    return counts[:, counts.sum(axis=0) > 0]


def energy(X: Array, **settings: object) -> float:
    """Free energy per token at T = 1, where the model is that of plain EM."""
    given = {"temper_prior": False, "validation_fraction": 0, "pseudo_count": 2.0, **settings}
    given["weighting"] = "tokens"
    model = OneSidedClustering(12, random_state=0, **given).fit(X)
    assert model.temperature_ == 1.0
    return model.free_energy_ / float(X.sum())


def naive_cooling(X: Array, K: int, pseudo_count: float, first: float, seed: int) -> float:
    """Free energy per token at T = 1 of the same equations, cooled by 7 % a step."""
    rng = np.random.default_rng(seed)
    p, total, last = X.sum(axis=0) / X.sum(), float(X.sum()), np.inf
    table = p[:, None] * np.exp(0.05 * rng.standard_normal((len(p), K)))
    weight, T = np.full(K, 1 / K), first
    table /= table.sum(axis=0)
    while True:
        for _ in range(30):
            with np.errstate(divide="ignore"):
                logs = np.log(np.maximum(table, 1e-300))
                score = np.log(weight) + X @ logs / T
            top = score.max(axis=1, keepdims=True)
            z = np.exp(score - top).sum(axis=1, keepdims=True)
            posterior = np.exp(score - top) / z
            now = -T * float((top + np.log(z)).sum()) - pseudo_count * float((p @ logs).sum())
            weight = posterior.mean(axis=0)
            sums = X.T @ posterior
            table = (sums + pseudo_count * p[:, None]) / (sums.sum(axis=0) + pseudo_count)
            if last - now < 1e-6 * total:
                break
            last = now
        if T == 1.0:
            return now / total
        T, last = max(1.0, 0.93 * T), np.inf
        table = table * np.exp(0.01 * rng.standard_normal(table.shape))
        table /= table.sum(axis=0)


def test_cooling_ends_no_worse_than_a_naive_one_and_plain_em() -> None:
    X = sparse_text(n_rows=200)
    annealed = energy(X)
    assert annealed < naive_cooling(X, 12, 2.0, 70.0, 0) + 1e-6
    assert annealed < energy(X, schedule=Fixed(1.0)) + 1e-6
    # The path of the untempered prior itself ends far above.
    assert annealed < energy(X, schedule=Exponential(0.93, margin=0.6)) - 0.02


def test_held_out_tokens_are_predicted_about_as_well_as_with_a_tempered_prior() -> None:
    X = sparse_text()
    plain, tempered = (
        OneSidedClustering(12, temper_prior=temper, random_state=0).fit(X)
        for temper in (False, True)
    )
    best = [min(record.heldout for record in way(model.trace_)) for model in (plain, tempered)]
    assert best[0] < 1.02 * best[1]
    assert not plain.model_.temper_prior
    # Heated from the end of the cooling; the model is that of the best temperature.
    temperatures = [record.temperature for record in way(plain.trace_)]
    assert temperatures[0] == 1.0
    assert temperatures == sorted(temperatures)
    assert plain.temperature_ in temperatures
    assert plain.first_critical_ > plain.temperature_
    assert len(path_of(plain).trace) == len(temperatures)


def test_the_trace_is_that_of_the_cooling_and_of_the_heating() -> None:
    model = OneSidedClustering(4, temper_prior=False, random_state=0).fit(sparse_text(n_rows=100))
    phases = [record.phase for record in model.trace_]
    n_cooled = phases.count("cooling")
    assert 0 < n_cooled < len(phases)
    assert phases == ["cooling"] * n_cooled + ["heating"] * (len(phases) - n_cooled)
    cooled = [record.temperature for record in model.trace_[:n_cooled]]
    assert cooled == sorted(cooled, reverse=True)
    assert cooled[-1] == model.trace_[n_cooled].temperature == 1.0
    scored = [np.isfinite(record.heldout) for record in model.trace_]
    assert scored == [phase == "heating" for phase in phases]
    # What it took is the sweeps of both runs, and those on all tokens at the end.
    assert model.n_iter_ > sum(record.sweeps for record in model.trace_)


def test_where_nothing_is_held_out_the_trace_is_one_cooling() -> None:
    settings = {"temper_prior": False, "validation_fraction": 0, "random_state": 0}
    model = OneSidedClustering(4, **settings).fit(sparse_text(n_rows=100))
    assert {record.phase for record in model.trace_} == {"cooling"}
    assert [record.temperature for record in model.trace_[-2:]] == [1.0, 1.0]
    assert way(model.trace_) == model.trace_
    assert model.n_iter_ == sum(record.sweeps for record in model.trace_)


def test_a_schedule_of_ones_own_cools_the_model_itself() -> None:
    X = sparse_text()
    schedule = Exponential(0.7, start=40.0, end=1.0)
    model = OneSidedClustering(6, temper_prior=False, schedule=schedule, random_state=0).fit(X)
    assert model.trace_[0].temperature == 40.0
    assert np.isfinite(model.trace_[0].heldout)


def test_a_time_limit_ends_the_cooling_where_it_is() -> None:
    model = OneSidedClustering(
        6,
        weighting="tokens",
        temper_prior=False,
        engine=Engine(callbacks=[TimeLimit(0.0)]),
        start=Noisy(),
        random_state=0,
    ).fit(sparse_text())
    assert model.outcome_ == Outcome.STOPPED.value
    assert model.temperature_ > 10.0


def test_shared_weights_of_a_document_mixture_are_led_too() -> None:
    X = sparse_text(n_rows=200)
    model = DocumentMixture(12, weights="shared", random_state=0).fit(X)
    assert model.n_distinct_ > 6
    assert model.row_weights_.max(axis=1).mean() > 0.5
