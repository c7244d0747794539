"""Leave-one-out E-steps: figures, a naive implementation, and what the engine makes of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm.anneal.critical import first_critical
from isotherm.anneal.engine import ADAPTIVE_RELAXATION, NO_RELAXATION, Annealer
from isotherm.anneal.fold import fold_in
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.schedule import Exponential, Fixed, Grid, Schedule
from isotherm.anneal.start import Noisy
from isotherm.anneal.trace import Fit, State
from isotherm.data.counts import Counts
from isotherm.data.split import split_tokens
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu
from isotherm.kernels.reference import Reference
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.models.leave_one_out import (
    AspectLeaveOneOut,
    ClusterLeaveOneOut,
    CountedAspects,
    PairRows,
)
from isotherm.models.row_mixture import ClusterRows, ClusterStats
from isotherm.placement.local import Local
from support.corpora import TOY, mixture_of_unigrams
from support.models import (
    LEANING,
    Array,
    aspect_start,
    begin,
    dense_counts,
    fitted,
    place,
    poisson_counts,
    random_table,
    same,
    sweep,
    sweeps,
)

TEN = 0.6e-10
MODELS = {
    "aspect": AspectLeaveOneOut(3),
    "aspect-tempered-prior": AspectLeaveOneOut(3, temper_prior=True),
    "cluster": ClusterLeaveOneOut(3, 2.0),
    "cluster-tempered-prior": ClusterLeaveOneOut(3, 2.0, temper_prior=True),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model(request: pytest.FixtureRequest) -> Any:
    """Every leave-one-out model in turn, in place of the models of the other files."""
    return request.param


def awkward() -> Array:
    """Counts with an empty row, an empty column, fractions, a row and a column of one token."""
    counts = poisson_counts(shape=(12, 9))
    counts[1] = np.arange(9) == 2
    counts[:, 7] = np.arange(12) == 3
    counts[6, :3], counts[8, 8] = 0.25, 0.5
    return counts


# ---------------------------------------------------------------- figures


@pytest.fixture(params=[Reference(), Cpu("float64")], ids=["reference", "cpu"])
def data(request: pytest.FixtureRequest) -> Local:
    return place(TOY, request.param)


def test_toy_aspects_after_one_plain_step(data: Local) -> None:
    params, (rows,), _ = aspect_start(2)
    counted = CountedAspects(*params, params.word_topic * params.row_mass)
    nothing = PairRows(rows.table, np.zeros((data.blocks[0].nnz, 2)))
    first, energy = sweep(AspectLeaveOneOut(2), data, State(counted, (nothing,), 0.0), 1.0)
    assert energy == pytest.approx(422.8830194342, abs=TEN)
    assert first.rows[0].posterior[0, 0] == pytest.approx(0.5806451613, abs=TEN)
    second, energy = sweep(AspectLeaveOneOut(2), data, first, 1.0)
    assert second.rows[0].posterior[[0, 3], 0] == pytest.approx(
        [0.5808290259, 0.2581636732], abs=TEN
    )
    assert energy == pytest.approx(sweep(Aspect(2), data, first, 1.0)[1], abs=TEN)


def test_toy_clusters(data: Local) -> None:
    model = ClusterLeaveOneOut(2)
    stats = ClusterStats(TOY.T @ LEANING, LEANING.sum(axis=0))
    nowhere = model.init(data.summary, np.full((5, 2), 0.2))
    params, _ = model.maximize(stats, nowhere, 5.0, data.kernels)
    plain, _ = sweep(Cluster(2), data, State(params, (ClusterRows(LEANING),), 0.0), 5.0)
    left, energy = sweep(model, data, State(params, (ClusterRows(LEANING),), 0.0), 5.0)
    assert plain.rows[0].posterior[0, 0] == pytest.approx(0.6440114393, abs=TEN)
    assert left.rows[0].posterior[0, 0] == pytest.approx(0.5453352579, abs=TEN)
    assert energy == pytest.approx(190.5509639125, abs=TEN)


# ---------------------------------------------------------------- the naive implementation


def naive_aspect(
    n: Array, table: Array, beta: float, temper_prior: bool, steps: int
) -> tuple[Array, Array]:
    """Q(a|x,y) and N_ya after some steps, dyad by dyad from dense counts (I, J)."""
    K = table.shape[1]
    weight = np.full(K, 1 / K)
    rows, columns = np.outer(n.sum(axis=1), weight), table * n.sum() / K
    q = np.zeros((*n.shape, K))
    for _ in range(steps):
        new, mass, seen = np.zeros_like(q), columns.sum(axis=0), columns.sum(axis=1)
        for x, y in zip(*np.nonzero(n), strict=True):
            token = min(1.0, n[x, y])
            left = mass - token * q[x, y]
            ratio = np.ones(K)
            if n[x].sum() > token + 1e-9:
                ratio *= np.maximum(rows[x] - token * q[x, y], 0) / left
            if seen[y] > token + 1e-9:
                ratio *= np.maximum(columns[y] - token * q[x, y], 0) / left
            value = left ** (beta if temper_prior else 1.0) * ratio**beta
            new[x, y] = value / value.sum() if value.sum() > 0 else mass / mass.sum()
        q = new
        rows, columns = (n[:, :, None] * q).sum(axis=1), (n[:, :, None] * q).sum(axis=0)
    return q, columns


def naive_cluster(
    n: Array, table: Array, beta: float, temper_prior: bool, pseudo_count: float, steps: int
) -> tuple[Array, Array]:
    """Q(c|x) and the counts of the clusters after some steps, row by row."""
    K, p = table.shape[1], n.sum(axis=0) / n.sum()
    columns, mass = table * n.sum() / K, np.full(K, len(n) / K)
    q = np.zeros((len(n), K))
    for _ in range(steps):
        new = np.zeros_like(q)
        for x in range(len(n)):
            rest = columns - np.outer(n[x], q[x]) + pseudo_count * p[:, None]
            rest /= rest.sum(axis=0)
            shared = (n[x] > 0) & (columns.sum(axis=1) > n[x] + 1e-9)
            prior = np.log((mass - q[x]) / (len(n) - 1))
            score = (beta if temper_prior else 1.0) * prior
            score = score + beta * (n[x, shared] @ np.log(rest[shared]))
            value = np.exp(score - score.max())
            new[x] = value / value.sum()
        q = new
        columns, mass = n.T @ q, q.sum(axis=0)
    return q, columns


@pytest.mark.parametrize("temperature", [0.8, 1.0, 1.3])
def test_sweeps_are_those_of_the_naive_implementation(model: Any, temperature: float) -> None:
    placed = place(awkward(), Cpu("float64"))
    n, table = dense_counts(placed), random_table(placed, 3)
    state, _ = sweeps(model, placed, begin(model, placed, table), temperature, 6)
    if isinstance(model, Aspect):
        q, columns = naive_aspect(n, table, 1 / temperature, model.temper_prior, 6)
        block = placed.blocks[0]
        found, want = state.rows[0].posterior, q[block.row_of, block.indices]
    else:
        found = state.rows[0].posterior
        want, columns = naive_cluster(n, table, 1 / temperature, model.temper_prior, 2.0, 6)
    assert found == pytest.approx(want, abs=1e-10)
    assert state.params.columns == pytest.approx(columns, abs=1e-9)
    smooth = 0.0 if isinstance(model, Aspect) else 2.0 * n.sum(axis=0)[:, None] / n.sum()
    sums = columns + smooth
    assert state.params.word_topic == pytest.approx(sums / sums.sum(axis=0), abs=1e-10)


def test_a_token_of_a_row_and_column_of_its_own_gets_the_weights() -> None:
    counts = np.zeros((5, 4))
    counts[:4, :3] = poisson_counts(shape=(6, 6))[:4, :3] + 1
    counts[4, 3] = 1.0
    placed = place(counts)
    model = AspectLeaveOneOut(2)
    before, _ = sweeps(model, placed, begin(model, placed), 1.0, 4)
    after, _ = sweep(model, placed, before, 1.0)
    others = before.params.columns.sum(axis=0) - before.rows[0].posterior[-1]
    assert after.rows[0].posterior[-1] == pytest.approx(others / others.sum(), abs=1e-12)


# ---------------------------------------------------------------- what follows


def test_how_rows_are_cut_does_not_matter(model: Any) -> None:
    counts = awkward()
    whole, cut = place(counts), place(counts, bounds=[0, 3, 4, 9, 12])
    one, energies = sweeps(model, whole, begin(model, whole), 1.2, 8)
    other, others = sweeps(model, cut, begin(model, cut), 1.2, 8)
    assert others == pytest.approx(energies, rel=1e-12)
    assert same(one.params, other.params)
    assert same(whole.gather(one.rows), cut.gather(other.rows))
    held = poisson_counts(5, (12, 9))
    scores = [
        HeldoutTokens(placed.beside(Counts(held))).score(model, state, placed, 1.2)
        for placed, state in ((whole, one), (cut, other))
    ]
    assert scores[0] == pytest.approx(scores[1], rel=1e-12)


def test_weights_mean_copies(model: Any) -> None:
    counts, times = awkward(), np.where(np.arange(12) % 3 == 0, 2, 1)
    heavy, many = place(counts, weight=times), place(np.repeat(counts, times, axis=0))
    one, _ = sweeps(model, heavy, begin(model, heavy), 1.2, 6)
    other, _ = sweeps(model, many, begin(model, many), 1.2, 6)
    assert same(one.params, other.params)


def test_single_precision_follows_double(model: Any) -> None:
    counts = poisson_counts()
    states = []
    for precision in ("float32", "float64"):
        placed = place(counts, Cpu(precision))
        states.append(sweeps(model, placed, begin(model, placed), 1.3, 5)[0])
    assert states[0].params.word_topic.dtype == np.float32
    assert states[0].params.columns.dtype == np.float64
    assert states[0].params.word_topic == pytest.approx(states[1].params.word_topic, abs=1e-5)


def test_an_empty_row_gets_the_weights_of_the_other_rows(model: Any) -> None:
    placed = place(awkward())
    before, _ = sweeps(model, placed, begin(model, placed), 1.3, 4)
    after, _ = sweep(model, placed, before, 1.3)
    found = model.mixture(after.params, after.rows[0]).weights[4]
    if isinstance(model, Aspect):
        want = after.params.weight
    else:
        want = (before.params.mass - before.rows[0].posterior[4]) ** (
            1 / 1.3 if model.temper_prior else 1.0
        )
    assert found == pytest.approx(want / want.sum(), abs=1e-12)


def test_noise_moves_the_counts_as_it_moves_the_distributions(model: Any) -> None:
    placed = place(poisson_counts())
    state, _ = sweeps(model, placed, begin(model, placed), 1.3, 5)
    noisy = model.perturb(state.params, np.random.default_rng(0), 0.1)
    filled = state.params.word_topic > 0
    change = noisy.word_topic[filled] / state.params.word_topic[filled]
    assert change.std() == pytest.approx(0.1, rel=0.4)
    assert noisy.columns[filled] / state.params.columns[filled] == pytest.approx(change)
    assert (noisy.columns[~filled] == 0).all()
    assert not same(
        sweep(model, placed, state, 1.3)[0].params,
        sweep(model, placed, state._replace(params=noisy), 1.3)[0].params,
        1e-4,
    )


def test_projection_keeps_counts_and_distributions_together(model: Any) -> None:
    placed = place(poisson_counts())
    old, _ = sweeps(model, placed, begin(model, placed), 1.3, 3)
    new, _ = sweep(model, placed, old, 1.3)
    valid = model.project(new.params, new.params)
    assert type(valid) is type(new.params)
    assert same(valid, new.params)


def test_new_rows_are_folded_in_by_the_plain_model(model: Any) -> None:
    placed, new = place(poisson_counts()), place(poisson_counts(7))
    state, _ = sweeps(model, placed, begin(model, placed), 1.3, 8)
    plain: Any = (
        Aspect(3, model.temper_prior)
        if isinstance(model, Aspect)
        else Cluster(3, 2.0, model.temper_prior)
    )
    found = new.gather(fold_in(model, state.params, new, 1.3))
    want = new.gather(fold_in(plain, state.params, new, 1.3))
    np.testing.assert_array_equal(found[0], want[0])
    assert len(found) == 1


def test_first_critical_temperature_is_that_of_the_plain_model() -> None:
    placed = place(TOY)
    assert AspectLeaveOneOut(2, temper_prior=True).hot() == Aspect(1, temper_prior=True)
    assert ClusterLeaveOneOut(2, 3.0).hot() == Cluster(1, 6.0)
    assert first_critical(AspectLeaveOneOut(2), placed) == first_critical(Aspect(2), placed)
    assert first_critical(ClusterLeaveOneOut(2, 3.0), placed) == first_critical(
        Cluster(2, 3.0), placed
    )


def test_components_that_split_are_refused(model: Any) -> None:
    annealer = Annealer(Exponential(0.5), growth=Growth(4))
    start = replace(model, n_components=1)
    with pytest.raises(IsothermError, match=r"2 components instead of 1 .* let the plain model"):
        annealer.run(start, place(TOY), np.random.default_rng(0))


def test_fixed_weights_are_refused() -> None:
    with pytest.raises(IsothermError, match=r"fixed_weights=True .* use fixed_weights=False"):
        ClusterLeaveOneOut(2, 1.0, fixed_weights=True)


# ---------------------------------------------------------------- on the engine


def run(model: Any, schedule: Schedule, **settings: Any) -> Fit:
    corpus = mixture_of_unigrams((60, 40), 3, (15, 25), 0.3)
    train, valid = split_tokens(Counts(corpus.counts), (0.8, 0.2), 0)
    placed = Local.place(train, Cpu("float64"))
    annealer = Annealer(schedule, start=Noisy(0.3), **settings)
    heldout = HeldoutTokens(placed.beside(valid))
    return annealer.run(
        replace(model, n_components=6), placed, np.random.default_rng(0), heldout=heldout
    )


def test_sweeps_are_never_over_relaxed(model: Any) -> None:
    placed = place(poisson_counts())
    one, energies = fitted(model, placed, begin(model, placed), 1.3, 12, ADAPTIVE_RELAXATION)
    other, plain = fitted(model, placed, begin(model, placed), 1.3, 12, NO_RELAXATION)
    assert not model.monotone
    assert energies == plain
    assert same(one.state.params, other.state.params, 0.0)


def test_every_temperature_of_a_grid_begins_anew(model: Any) -> None:
    both = run(model, Grid((1.6, 1.2)), noise=0.0)
    alone = run(model, Grid((1.2,)), noise=0.0)
    assert both.trace[1].free_energy == alone.trace[0].free_energy
    assert both.trace[1].heldout == alone.trace[0].heldout


def test_cooling_goes_on_from_the_last_state_with_noise(model: Any) -> None:
    schedule = Exponential(0.7, end=1.0, margin=0.9)
    fit = run(model, schedule, tol=1e-4)
    assert fit.trace[0].temperature == pytest.approx(0.9 * fit.first_critical)
    assert fit.trace[-1].temperature == 1.0
    assert all(np.isfinite(record.heldout) for record in fit.trace)
    assert fit.trace[-1].log_likelihood > fit.trace[0].log_likelihood
    still = run(model, schedule, tol=1e-4, noise=0.0)
    assert still.trace[0].free_energy == fit.trace[0].free_energy
    assert still.trace[1].free_energy != fit.trace[1].free_energy


def test_validation_stops_a_temperature_early(model: Any) -> None:
    full = run(model, Fixed(1.0), max_sweeps=60, tol=-1.0)
    early = run(model, Fixed(1.0), max_sweeps=60, tol=-1.0, check_every=1)
    assert early.n_sweeps < full.n_sweeps == 60
    assert not early.trace[0].converged
    assert early.trace[0].heldout < full.trace[0].heldout


def test_settles_when_the_energy_stops_moving(model: Any) -> None:
    # At T = 1 rows of clusters may go to and fro for ever.
    fit = run(model, Fixed(1.0 if isinstance(model, Aspect) else 4.0), max_sweeps=2000, tol=1e-7)
    assert fit.trace[0].converged
    assert 5 < fit.n_sweeps < 2000


# ---------------------------------------------------------------- what it is for


def early_stopped(placed: Local, valid: Counts, test: Counts, model: Any, T: float) -> float:
    """Test perplexity of the state with the best validation score at one temperature."""
    annealer = Annealer(Fixed(T), NO_RELAXATION, start=Noisy(0.5), check_every=1)
    heldout = HeldoutTokens(placed.beside(valid))
    fit = annealer.run(model, placed, np.random.default_rng(0), heldout=heldout)
    return HeldoutTokens(placed.beside(test)).score(model, fit.state, placed, T)


def test_leaving_out_predicts_documents_better(shared_data: Path) -> None:
    counts = Counts(sparse.load_npz(shared_data / "cranfield" / "counts.npz"))
    parts = split_tokens(counts.keep_columns(min_rows=5), (0.8, 0.1, 0.1), 0)
    placed = Local.place(parts[0], Cpu())
    for plain, left_out, temperature, gain in (
        (Aspect(64), AspectLeaveOneOut(64), 1.0, 0.97),
        (Cluster(16, 1.0), ClusterLeaveOneOut(16, 1.0), 1.0, 0.95),
        (Cluster(32, 50.0, True), ClusterLeaveOneOut(32, 50.0, True), 10.0, 0.95),
    ):
        before = early_stopped(placed, *parts[1:], plain, temperature)
        after = early_stopped(placed, *parts[1:], left_out, temperature)
        assert after < gain * before
