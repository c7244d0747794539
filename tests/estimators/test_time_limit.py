"""What a fit leaves whose time was up before it was done."""

import warnings
from typing import Any

import numpy as np
import pytest

from isotherm import (
    GTM,
    PCP,
    TTMM,
    AspectModel,
    Callback,
    DocumentMixture,
    Engine,
    HierarchicalClustering,
    IsothermWarning,
    OneSidedClustering,
    TimeLimit,
)
from isotherm.anneal.trace import Fit, Outcome

RNG = np.random.default_rng(1)
TOPICS = RNG.dirichlet(np.full(200, 0.1), 10)
SHARES = RNG.dirichlet(np.full(10, 0.3), 300)
X = np.array([RNG.multinomial(60, p) for p in SHARES @ TOPICS])
SHEET = RNG.uniform(-1, 1, (300, 2))
V = np.column_stack([SHEET, SHEET[:, 0] ** 2, np.sin(3 * SHEET[:, 1])])
JOINED = "time was up while the model grew: .* had not come apart and were joined"


class Ticking(Callback):
    """A clock that goes on by one at every temperature of a run that tells its callbacks."""

    def __init__(self) -> None:
        self.now, self.runs = 0.0, 0

    def on_begin(self) -> None:
        self.runs += 1

    def on_temperature(self, fit: Fit) -> bool:
        self.now += 1.0
        return False

    def clock(self) -> float:
        return self.now


def limited(n_temperatures: float) -> tuple[Ticking, Engine]:
    """A clock, and an engine whose fits end after so many temperatures."""
    watch = Ticking()
    return watch, Engine(callbacks=[watch, TimeLimit(n_temperatures - 0.5, watch.clock)])


def nearest(components: Any) -> float:
    """Least total variation between two of some distributions (K, J); 1 where there is one."""
    apart = np.abs(components[:, None] - components[None]).sum(axis=2) / 2
    return float((apart + np.eye(len(components))).min())


@pytest.mark.parametrize("n_temperatures", [2, 8, 10])
def test_topics_that_had_no_time_to_part_are_one(n_temperatures: int) -> None:
    _, engine = limited(n_temperatures)
    model = AspectModel("auto", engine=engine, random_state=0)
    with pytest.warns(IsothermWarning, match=JOINED):
        model.fit(X)
    assert len(model.trace_) == n_temperatures
    assert model.outcome_ == Outcome.STOPPED.value
    K = model.n_components_
    # There were about twice as many, some of them all but equal (0.01).
    most = max(record.n_components for record in model.trace_)
    assert model.n_components_ < 0.6 * most
    assert nearest(model.components_) > 0.1
    assert K == model.n_distinct_ == model.tree_.n_leaves == model.topic_tree_.n_leaves
    assert K in {step.n_components for step in model.path_}
    assert model.row_weights_.shape == (300, K)


@pytest.mark.parametrize(
    "kind", [AspectModel, OneSidedClustering, DocumentMixture, HierarchicalClustering]
)
@pytest.mark.parametrize("fraction", [0.1, 0.0])
def test_the_first_two_halves_are_one_where_they_had_no_time(kind: Any, fraction: float) -> None:
    _, engine = limited(2)
    model = kind("auto", validation_fraction=fraction, engine=engine, random_state=0)
    with pytest.warns(IsothermWarning, match="1 of 2 components had not"):
        model.fit(X)
    assert len(model.components_) == 1
    assert model.tree_.n_leaves == 1


@pytest.mark.parametrize("n_components", ["auto", 7])
@pytest.mark.parametrize("n_temperatures", [1, 2, 6, 9])
def test_a_hierarchy_whose_time_is_up_has_leaves_that_differ(
    n_components: Any, n_temperatures: int
) -> None:
    watch, engine = limited(n_temperatures)
    model = HierarchicalClustering(n_components, engine=engine, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IsothermWarning)
        model.fit(X)
    # Clusters, and one temperature of the hierarchy.
    assert watch.now == n_temperatures + 1
    assert nearest(model.components_) > 0.1
    assert model.tree_.n_leaves == len(model.components_) == model.n_distinct_


@pytest.mark.parametrize("kind", [AspectModel, OneSidedClustering, DocumentMixture])
def test_a_limit_that_does_not_pass_changes_nothing(kind: Any) -> None:
    _, engine = limited(1e9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kind("auto", engine=engine, random_state=0).fit(X)
    other = kind("auto", random_state=0).fit(X)
    assert np.array_equal(model.components_, other.components_)


@pytest.mark.parametrize("kind", [PCP, TTMM])
@pytest.mark.parametrize("n_temperatures", [1, 1e9])
def test_later_starts_of_clusters_are_not_begun(kind: Any, n_temperatures: float) -> None:
    watch, engine = limited(n_temperatures)
    model = kind(4, 5, n_init=3, engine=engine, random_state=0).fit(X[:80])
    assert (watch.runs == 1) == (n_temperatures == 1)
    if n_temperatures == 1:
        assert model.outcome_ == Outcome.STOPPED.value
    else:
        assert watch.runs >= 3


@pytest.mark.parametrize("n_temperatures", [1, 5])
def test_a_map_settles_though_its_time_is_up(n_temperatures: int) -> None:
    watch, engine = limited(n_temperatures)
    model = GTM(n_init=3, engine=engine, random_state=0).fit(V)
    assert watch.runs == 1
    assert model.temperature_ == 1.0
    whole = GTM(n_init=3, random_state=0).fit(V)
    # A sheet that has not unfolded has the density of a single Gaussian.
    plain = -0.5 * np.log(2 * np.pi * np.e * V.var(axis=0)).sum()
    assert model.score(V) > plain + 0.5 * (whole.score(V) - plain)


@pytest.mark.parametrize("kind", [AspectModel, OneSidedClustering, DocumentMixture])
def test_a_cut_whose_time_is_up_takes_what_was_put_together(kind: Any) -> None:
    model = kind("predict", random_state=0).fit(X)
    if kind is OneSidedClustering:  # of a given number it would be heated as well
        model.set_params(temper_prior=True)
    K = model.n_components_ - 1
    for n_temperatures in (1, 3):
        watch, engine = limited(n_temperatures)
        other = model.set_params(engine=engine).cut(K, X)
        assert (watch.runs, watch.now) == (1, n_temperatures)
        assert other.n_components_ == K == other.n_distinct_
        assert nearest(other.components_) > 0.1
        assert other.temperature_ == model.temperature_
        assert len(other.trace_) == n_temperatures + 1
        assert other.temperature_ in {record.temperature for record in other.trace_}
        # Topics at the first temperatures would predict as the mean of all does.
        assert other.perplexity(X) < 0.85 * kind(1, random_state=0).fit(X).perplexity(X)
    engine = limited(1e9)[1]
    whole = model.set_params(engine=engine).cut(K, X)
    expected = model.set_params(engine=Engine()).cut(K, X)
    assert np.array_equal(whole.components_, expected.components_)
