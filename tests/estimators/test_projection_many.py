"""More clusters than topics: clusters that mix several, copies, and clusters that nothing needs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isotherm import PCP, TTMM, Callback, Engine, Exponential, Fixed, Noisy, TimeLimit
from isotherm.errors import IsothermWarning
from isotherm.evaluate import nmi
from support.corpora import one_topic_each, topics

CENTRES = np.array(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0], [0, 0.5, 0.5], [0.5, 0, 0.5]], np.float64
)
KINDS: dict[str, Any] = {
    "ttmm": (TTMM, {}),
    "structured": (PCP, {}),
    "factorized": (PCP, {"inference": "factorized"}),
}
EACH = pytest.mark.parametrize("name", KINDS)


def mixed(n_rows: int = 120, length: int = 120, seed: int = 0) -> tuple[Any, Any]:
    """Counts (I, 30) of rows of six clusters over three topics, and their clusters (I,)."""
    rng = np.random.default_rng(seed)
    table = CENTRES @ topics(3, 30, rng)
    labels = np.arange(n_rows) % 6
    return np.stack([rng.multinomial(length, table[m]) for m in labels]), labels


def rich(n_topics: int, n_rows: int, length: int, n_words: int, peak: float, seed: int) -> Any:
    """Counts (I, J) of rows of many more topics than are fitted, as those of text have."""
    rng = np.random.default_rng(seed)
    table = topics(n_topics, n_words, rng, peak)
    sparse = np.full(n_topics, 0.05)
    rows = [rng.multinomial(length, rng.dirichlet(sparse) @ table) for _ in range(n_rows)]
    return np.stack(rows)


X, LABELS = mixed()


def made(name: str, *sizes: int, **settings: Any) -> Any:
    kind, own = KINDS[name]
    return kind(*sizes, random_state=0, tol=1e-4, **own, **settings)


def n_mixed(model: Any) -> int:
    return int((model.cluster_centers_.max(axis=1) < 0.9).sum())


class Ear(Callback):
    """Hears of every temperature."""

    def __init__(self) -> None:
        self.temperatures: list[float] = []

    def on_temperature(self, fit: Any) -> bool:
        self.temperatures.append(fit.trace[-1].temperature)
        return False


@EACH
@pytest.mark.parametrize("seed", [0, 1])
def test_mixed_clusters_are_recovered_and_the_objective_is_no_worse(name: str, seed: int) -> None:
    counts, labels = mixed(seed=seed)
    cooled = made(name, 6, 3).set_params(random_state=seed).fit(counts)
    plain = made(name, 6, 3, schedule=Fixed(1.0)).set_params(random_state=seed).fit(counts)
    assert cooled.free_energy_ <= plain.free_energy_
    assert nmi(labels, cooled.labels_) > 0.9
    assert n_mixed(cooled) == 3
    assert cooled.n_live_ == 6


@pytest.mark.parametrize("name", ["ttmm", "structured"])
def test_cooling_alone_keeps_clusters_mixed(name: str) -> None:
    """A schedule of the user's has no second run beside it."""
    counts = rich(12, 120, 80, 48, 30.0, 0)
    cooled = made(name, 9, 3, schedule=Exponential(0.7, margin=0.3)).fit(counts)
    plain = made(name, 9, 3, schedule=Fixed(1.0)).fit(counts)
    assert len(cooled.trace_) > 5
    assert cooled.free_energy_ <= plain.free_energy_ + 1e-3 * counts.sum()
    assert cooled.n_live_ == 9
    assert n_mixed(cooled) >= 5


@pytest.mark.parametrize("name", ["ttmm", "structured"])
def test_the_default_fit_is_never_worse_than_a_plain_one(name: str) -> None:
    counts = rich(20, 200, 100, 80, 20.0, 1)
    settings = {"random_state": 1, "engine__callbacks": [heard := Ear()]}
    best = made(name, 16, 4).set_params(**settings).fit(counts)
    assert heard.temperatures[0] > heard.temperatures[-2] == heard.temperatures[-1] == 1.0
    plain = made(name, 16, 4, schedule=Fixed(1.0)).set_params(random_state=1).fit(counts)
    assert best.free_energy_ <= plain.free_energy_
    assert best.first_critical_ > 1.0


@pytest.mark.parametrize("name", ["ttmm", "structured"])
def test_topics_of_the_default_start_wait_where_they_are_fewer(name: str) -> None:
    def hold(*sizes: int, **settings: Any) -> float | None:
        found: float | None = made(name, *sizes, max_iter=1, **settings).fit(X).model_.hold
        return found

    assert hold(6, 3) == 2.0
    assert hold(6, 3, schedule=Exponential(0.5)) == 2.0
    assert hold(3, 3) is None
    assert hold(3, 6) is None
    # Where cooling ends above it they would never be fitted; noise is not worth keeping.
    assert hold(6, 3, schedule=Fixed(4.0)) is None
    assert hold(6, 3, start=Noisy(0.1)) is None


@EACH
def test_copies_are_not_live(name: str) -> None:
    same = np.tile(X[:1], (20, 1))
    model = made(name, 6, 3).fit(same)
    assert model.n_live_ == 1
    assert "clusters: 1\n" in model.describe()
    assert len(model.describe().split("clusters: 1\n")[1].splitlines()) == 1
    assert "100.0 %" in model.describe().split("clusters: 1\n")[1]
    if name != "ttmm":
        assert model.row_weights_ == pytest.approx(np.ones((20, 1)))


@pytest.mark.parametrize("name", ["structured", "factorized"])
@pytest.mark.parametrize("M", [5, 12])
def test_superfluous_clusters_leave(name: str, M: int) -> None:
    counts, labels = one_topic_each(90, 40, 3)
    model = made(name, M, 3).fit(counts)
    assert model.n_live_ == model.row_weights_.shape[1] == 3
    assert nmi(labels, model.labels_) == pytest.approx(1.0)
    assert model.cluster_weights_.sum() == pytest.approx(1.0)


def test_what_is_joined_does_not_lose() -> None:
    """The bound of as many clusters as there are is no better than with twice as many."""
    fits = [made("structured", M, 3).fit(X) for M in (6, 12)]
    assert [model.n_live_ for model in fits] == [6, 6]
    fewer, more = (replace(model.model_, n_clusters=6) for model in fits)
    assert fewer == replace(more, n_clusters=6)
    assert fits[1].elbo_ == pytest.approx(fits[0].elbo_, abs=20.0)


CORNERS: dict[str, Any] = {
    "a foreign row": np.vstack([X[:60], np.eye(1, 30, 7, dtype=int) * 90]),
    "rows twice": np.repeat(X[:40], 2, axis=0),
    "one huge count": np.vstack([X[:60], np.eye(1, 30, 3, dtype=int) * 10**6]),
    "fewer rows than clusters": X[:4],
}


@EACH
@pytest.mark.parametrize("corner", CORNERS)
def test_odd_tables(name: str, corner: str) -> None:
    counts = CORNERS[corner]
    cooled = made(name, 6, 3).fit(counts)
    plain = made(name, 6, 3, schedule=Fixed(1.0)).fit(counts)
    assert cooled.free_energy_ <= plain.free_energy_ + 1e-4 * counts.sum()
    assert 1 <= cooled.n_live_ <= min(6, len(cooled.cluster_weights_))
    assert cooled.transform(counts).sum(axis=1) == pytest.approx(np.ones(len(counts)))
    assert cooled.project(counts).sum(axis=1) == pytest.approx(np.ones(len(counts)))


@EACH
@pytest.mark.parametrize(("M", "K"), [(2, 5), (4, 4), (5, 1), (1, 1), (1, 4)])
def test_any_numbers_of_clusters_and_topics(name: str, M: int, K: int) -> None:
    model = made(name, M, K)
    if K == 1 < M:
        with pytest.warns(IsothermWarning, match="do not differ"):
            model.fit(X[:40])
        assert model.n_live_ == 1
    else:
        model.fit(X[:40])
        assert model.n_live_ == M
    assert model.project(X[:5]).shape == (5, K)


def test_a_rule_that_stops_the_run_stops_all_of_it() -> None:
    heard = Ear()
    model = made("structured", 6, 3, engine=Engine(callbacks=[TimeLimit(1e-9), heard])).fit(X)
    assert model.outcome_ == "a rule stopped the run"
    assert heard.temperatures == [model.temperature_]
