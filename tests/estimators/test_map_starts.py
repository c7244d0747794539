"""Where maps begin, and that two ways to begin find what neither finds alone."""

from typing import Any

import numpy as np
import pytest

from isotherm import GTM, Adaptive, Engine, Exponential, Fixed, Recorder
from isotherm.data.vectors import vector_blocks
from isotherm.estimators.starts.map import MARGIN, SHEET, kind_of, latent_grid, spectrum, started
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.grid import LatentGrid
from isotherm.models.gtm import Gtm
from isotherm.placement.local import Local

Array = np.ndarray[Any, Any]
VARIANCES = np.array([4.0, 2.0, 0.8, 0.5, 0.3, 0.2, 0.1, 0.1])


def with_spectrum(variances: Array, rows: int = 400, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    rows_ = rng.standard_normal((rows, len(variances)))
    basis = np.linalg.qr(rows_ - rows_.mean(axis=0))[0]
    turn = np.linalg.qr(rng.standard_normal((len(variances), len(variances))))[0]
    return np.asarray(basis * np.sqrt(rows * variances) @ turn)


def folded(seed: int) -> Array:
    """A curved sheet in twelve dimensions on which a map opened along one axis folds."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-1, 1, (500, 2)).T
    bent = np.stack([u, v, u**2, np.sin(3 * v), u * v, np.cos(2 * u + v)], axis=1)
    return np.asarray(bent @ rng.normal(size=(6, 12)) + 0.05 * rng.normal(size=(500, 12)))


@pytest.mark.parametrize(
    ("start", "schedule", "runs"),
    [
        ("auto", Exponential(), ["sheet", "plane", "sheet"]),
        ("auto", Adaptive(), ["sheet", "plane", "sheet"]),
        ("auto", Exponential(start=3.0), ["sheet", "sheet", "sheet"]),
        ("auto", Fixed(1.0), ["pca", "pca", "pca"]),
        ("plane", Exponential(), ["plane", "plane", "plane"]),
        ("white", Fixed(1.0), ["white", "white", "white"]),
    ],
)
def test_what_auto_stands_for(start: str, schedule: Any, runs: list[str]) -> None:
    assert [kind_of(start, schedule, n) for n in range(3)] == runs


def test_spectrum_is_that_of_numpy_and_has_a_fixed_sign() -> None:
    rows = with_spectrum(VARIANCES)
    found = spectrum(Local(vector_blocks(rows, rows_per_block=150), Cpu("float64")), 3)
    np.testing.assert_allclose(found.variances, VARIANCES[:3])
    assert found.rest == pytest.approx(VARIANCES[3:].sum())
    assert found.following == pytest.approx(VARIANCES[3])
    np.testing.assert_allclose(np.abs(found.directions @ rows.T).std(axis=1) > 0, True)
    assert np.all((found.directions**3).sum(axis=1) > 0)
    turned = spectrum(Local(vector_blocks(rows[::-1].copy()), Cpu("float64")), 3)
    np.testing.assert_allclose(turned.directions, found.directions, atol=1e-9)


def test_spectrum_of_fewer_directions_than_axes() -> None:
    found = spectrum(Local(vector_blocks(np.array([[1.0], [-1.0]])), Cpu("float64")), 2)
    np.testing.assert_array_equal(found.variances, [1.0, 0.0])
    np.testing.assert_array_equal(found.directions, [[1.0], [0.0]])
    assert (found.rest, found.following) == (0.0, 0.0)


@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_a_plane_begins_where_its_last_direction_condenses(n_axes: int) -> None:
    rows = with_spectrum(VARIANCES)
    data = Local(vector_blocks(rows), Cpu("float64"))
    model = Gtm(LatentGrid((5,) * n_axes, (3,) * n_axes), 1e-6)
    rng = np.random.default_rng(0)
    params, schedule = started("plane", model, data, rng, Exponential(rate=0.8))
    last = VARIANCES[n_axes - 1]
    opens = 8 * last / (VARIANCES[n_axes - 1 :].sum() + (n_axes - 1) * last)
    assert isinstance(schedule, Exponential)
    assert schedule.start == pytest.approx(MARGIN * opens)
    assert schedule.rate == 0.8
    s = VARIANCES[n_axes:].sum() / (8 - n_axes * MARGIN * opens)
    assert float(params.noise) == pytest.approx(s)
    # Along the principal directions it has the spread of a condensed map, elsewhere the noise.
    directions = np.linalg.svd(rows, full_matrices=False)[2]
    spread = (model.centres(params) @ directions.T).std(axis=0)
    wanted = np.sqrt(np.maximum(VARIANCES - s * MARGIN * opens, 0.01 * VARIANCES))[:n_axes]
    np.testing.assert_allclose(spread[:n_axes], wanted, atol=4 * SHEET)
    assert np.all(spread[n_axes:] < 4 * SHEET)
    assert spread[n_axes:].max() > 0.01


def test_a_plane_of_held_noise_and_of_a_given_temperature() -> None:
    data = Local(vector_blocks(with_spectrum(VARIANCES)), Cpu("float64"))
    model = Gtm(LatentGrid((5, 5), (3, 3)), 0.01, noise=0.5)
    rng = np.random.default_rng(0)
    params, schedule = started("plane", model, data, rng, Exponential())
    assert float(params.noise) == 0.5
    assert isinstance(schedule, Exponential)
    assert schedule.start == pytest.approx(MARGIN * 2.0 / 0.5)
    given = Exponential(start=1.5)
    assert started("plane", model, data, rng, given)[1] == given


def test_two_ways_to_begin_find_what_one_does_not() -> None:
    settings: dict[str, Any] = {"n_nodes": 10, "n_basis": 4, "basis_width": 2.0, "tol": 1e-4}
    rows = folded(0)
    both = [GTM(random_state=seed, **settings).fit(rows) for seed in range(2)]
    sheet = [GTM(random_state=s, start="sheet", n_init=1, **settings).fit(rows) for s in range(2)]
    # Two sheets would do no better: what helps is the other way to begin.
    assert min(model.log_likelihood_ for model in both) > 500 + max(
        model.log_likelihood_ for model in sheet
    )
    # The run that was kept began at the second transition, and says where the first one is.
    for model in both:
        assert model.trace_[0].temperature < 0.9 * model.first_critical_
        assert model.first_critical_ == pytest.approx(sheet[0].first_critical_)


def test_the_default_is_the_same_for_every_seed_and_turns_with_the_data() -> None:
    rows = folded(3)[:150]
    turn = np.linalg.qr(np.random.default_rng(8).standard_normal((12, 12)))[0]
    settings: dict[str, Any] = {"n_nodes": 6, "n_basis": 3, "tol": 1e-3}
    one, other = (GTM(random_state=seed, **settings).fit(rows) for seed in (0, 1))
    np.testing.assert_array_equal(one.centres_, other.centres_)
    turned = GTM(random_state=0, **settings).fit(rows @ turn)
    assert turned.log_likelihood_ == pytest.approx(one.log_likelihood_, abs=0.1)
    third = [GTM(random_state=seed, n_init=3, **settings).fit(rows) for seed in (0, 1)]
    assert all(model.objective_ <= one.objective_ + 1e-4 * 150 for model in third)


@pytest.mark.parametrize(
    ("rows", "n_axes", "basis"),
    [(30, 2, 5), (1000, 2, 5), (1797, 2, 6), (10**6, 2, 8), (100, 1, 8), (20, 1, 4), (64, 3, 3)],
)
def test_larger_data_get_more_basis_functions(rows: int, n_axes: int, basis: int) -> None:
    grid = latent_grid(n_axes, None, None, 1.5, float(rows))
    assert grid.basis == (basis,) * n_axes
    assert latent_grid(n_axes, None, 7, 1.5, float(rows)).basis == (7,) * n_axes


def test_a_plane_is_cooled_from_its_own_temperature() -> None:
    seen = Recorder(lambda fit: fit.trace[-1].temperature)
    rows = with_spectrum(VARIANCES)
    model = GTM(
        n_nodes=5,
        n_basis=3,
        start="plane",
        n_init=1,
        random_state=0,
        engine=Engine(callbacks=[seen]),
    )
    model.fit(rows)
    assert seen.values[0] == pytest.approx(MARGIN * 8 * 2.0 / (4.0 + 2.0), rel=1e-6)
    assert model.first_critical_ == pytest.approx(4.0, rel=1e-2)


def test_equally_good_runs_do_not_compete() -> None:
    rows = with_spectrum(np.array([3.0, 0.1]), rows=60)
    settings: dict[str, Any] = {"n_components": 1, "n_nodes": 8, "n_basis": 4, "random_state": 1}
    first = GTM(n_init=1, **settings).fit(rows)
    both = GTM(n_init=2, **settings).fit(rows)
    np.testing.assert_array_equal(both.centres_, first.centres_)


def test_data_of_fewer_dimensions_than_the_map() -> None:
    """Two clusters centred over topics lie on a line, exactly: nothing is left for the others."""
    line = np.outer(np.linspace(-1.0, 1.0, 40), [1.0, -1.0])
    model = GTM(3, n_nodes=5, n_basis=3, random_state=0).fit(line)
    assert np.isfinite(model.transform(line)).all()
    assert np.abs(model.centres_).max() < 2
