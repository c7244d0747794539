"""Places of rows: the posterior over the whole sheet, whatever nodes it was fitted by."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from isotherm import GTM, Engine, Exponential, Fixed
from isotherm.data.base import Array
from isotherm.estimators import gtm as module
from isotherm.estimators import places
from isotherm.models.grid import LatentGrid, basis_at, finer, margin

QUICK = Exponential(0.7)


def curve(n_rows: int, noise: float = 0.01, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1.0, 1.0, n_rows)
    rows = np.stack([3 * t, 2 * t**2, np.sin(2 * t), np.cos(3 * t)], axis=1)
    return np.asarray(rows + noise * rng.standard_normal(rows.shape))


def surface(n_rows: int, noise: float = 0.02, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(-1.0, 1.0, (2, n_rows))
    rows = np.stack([3 * u, 2 * v, u * v, u**2 - 0.5 * v**2, np.sin(2 * v)], axis=1)
    return np.asarray(rows + noise * rng.standard_normal(rows.shape))


def cube(n_rows: int) -> Array:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1.0, 1.0, (n_rows, 3)) * (3.0, 2.0, 1.5)
    return np.hstack([rows, 0.1 * rows**2]) + 0.02 * rng.standard_normal((n_rows, 6))


MADE = {1: curve(200), 2: surface(300), 3: cube(200)}
NODES = {1: 8, 2: 6, 3: 5}
NOISE = {1: 0.01, 2: 0.01, 3: 0.04}


@pytest.fixture(scope="module", params=[1, 2, 3], ids="{}-D".format)
def fitted(request: pytest.FixtureRequest) -> tuple[GTM, Array]:
    """Few nodes and little noise: neighboring nodes lie many standard deviations apart."""
    axes: int = request.param
    settings: dict[str, Any] = {"n_nodes": NODES[axes], "noise": NOISE[axes]}
    # From the principal components: three dimensions fold less.
    model = GTM(axes, **settings, n_basis=3, schedule=Fixed(1.0), random_state=0)
    return model.fit(MADE[axes]), MADE[axes]


@pytest.fixture(scope="module")
def flat() -> GTM:
    return GTM(n_nodes=6, n_basis=3, schedule=QUICK, n_init=1, random_state=0).fit(MADE[2])


def spacing(model: GTM) -> float:
    return 2.0 / (model.grid_.shape[0] - 1)


def dense(model: GTM, rows: Array, steps: int) -> tuple[Array, Array]:
    """Mean (I, L) and likeliest point (I, L) of the posterior over a very fine lattice."""
    ours = places.sheet(model.model_, model.params_).points
    points = finer(model.grid_.shape, (steps,) * len(model.grid_.shape))
    # Ours ends with its last whole step beyond the square.
    cell = 2.0 / ((np.array(model.grid_.shape) - 1) * places.parts(model.model_, model.params_))
    points = points[(np.abs(points) < ours.max(axis=0) + cell / 2).all(axis=1)]
    sheet = model.inverse_transform(points)
    known = ~np.isnan(rows)
    filled = np.where(known, rows, 0.0)
    gaps = (filled**2).sum(axis=1)[:, None] + known @ (sheet**2).T - 2.0 * filled @ sheet.T
    logs = -gaps / (2.0 * model.noise_variance_)
    weight = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weight @ points / weight.sum(axis=1)[:, None], points[logs.argmax(axis=1)]


def modes(model: GTM, rows: Array) -> Array:
    model.projection = "mode"
    try:
        return model.transform(rows)
    finally:
        model.projection = "mean"


# What a place is


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_places_are_those_of_a_much_finer_lattice(
    fitted: tuple[GTM, Array], missing: float
) -> None:
    model, rows = fitted
    rng = np.random.default_rng(1)
    rows = np.where(rng.random(rows.shape) < missing, np.nan, rows)[:40]
    axes = model.nodes_.shape[1]
    mean, best = dense(model, rows, {1: 200, 2: 40, 3: 10}[axes])
    gaps = np.linalg.norm(model.transform(rows) - mean, axis=1) / spacing(model)
    assert np.quantile(gaps, 0.9) < 0.06
    assert np.median(gaps) < 0.03
    away = cdist(modes(model, rows), best).diagonal()
    single = ~np.isnan(rows).any(axis=1)
    assert np.quantile(away[single], 0.9) < 0.15 * spacing(model)
    # A node is nowhere near.
    to_nodes = cdist(mean[single], model.nodes_).min(axis=1)
    assert np.median(to_nodes) > 0.15 * spacing(model)


def test_points_of_the_sheet_between_nodes_are_found_again(fitted: tuple[GTM, Array]) -> None:
    model, _ = fitted
    axes = model.nodes_.shape[1]
    given = np.random.default_rng(3).uniform(-1.0, 1.0, (80, axes))
    rows = model.inverse_transform(given)
    away = np.linalg.norm(model.transform(rows) - given, axis=1)
    assert np.median(away) < 0.1 * spacing(model)
    assert np.quantile(away, 0.9) < 0.3 * spacing(model)
    np.testing.assert_allclose(modes(model, rows), given, atol=1e-4)


def test_hardly_any_rows_share_a_place_or_lie_on_nodes(fitted: tuple[GTM, Array]) -> None:
    model, rows = fitted
    found = model.transform(rows)
    assert len(np.unique(found.round(3), axis=0)) > 0.97 * len(rows)
    steps = (found + 1.0) / spacing(model)
    on_nodes = (np.abs(steps - steps.round()) < 0.01).all(axis=1).mean()
    assert on_nodes < 0.05
    assert (np.abs(np.abs(found) - 1.0) < 0.002).any(axis=1).mean() < 0.06


def test_a_small_step_of_a_row_is_a_small_step_of_its_place(fitted: tuple[GTM, Array]) -> None:
    model, _ = fitted
    axes = model.nodes_.shape[1]
    way = np.linspace(-0.95, 0.95, 400)[:, None] * np.linspace(1.0, 0.6, axes)
    found = model.transform(model.inverse_transform(way))
    step = np.linalg.norm(np.diff(way, axis=0), axis=1).max()
    assert np.linalg.norm(np.diff(found, axis=0), axis=1).max() < 3.0 * step
    rows = model.inverse_transform(way[::20])
    near = model.transform(rows + 1e-6) - model.transform(rows)
    assert np.abs(near).max() < 1e-4


def test_the_rim_is_no_wall(fitted: tuple[GTM, Array]) -> None:
    model, _ = fitted
    beyond = 1.0 + 0.6 * margin(model.grid_.shape)
    given = np.stack([beyond, -beyond])
    rows = model.inverse_transform(given)
    np.testing.assert_allclose(modes(model, rows), given, atol=1e-4)
    found = model.transform(rows)
    assert (np.abs(found).max(axis=1) > 1.02).all()
    limit = 1.0 + margin(model.grid_.shape)
    far = model.transform(np.concatenate([100.0 * rows, -100.0 * rows]))
    assert (np.abs(far) <= limit + 1e-9).all()
    away = model.inverse_transform(model.transform(rows)) - rows
    assert np.sqrt((away**2).mean()) < 2.0 * np.sqrt(model.noise_variance_)


def test_there_and_back_is_where_it_was(fitted: tuple[GTM, Array]) -> None:
    model, rows = fitted
    once = modes(model, rows[:50])
    assert (np.abs(once) <= 1.0 + margin(model.grid_.shape)).all()
    np.testing.assert_allclose(modes(model, model.inverse_transform(once)), once, atol=1e-4)


def test_modes_are_where_no_direction_is_better(fitted: tuple[GTM, Array]) -> None:
    model, rows = fitted
    rows = np.where(np.random.default_rng(2).random(rows.shape) < 0.1, np.nan, rows)[:50]
    found = modes(model, rows)
    limit = 1.0 + margin(model.grid_.shape)

    def gap(at: Array) -> Array:
        return np.asarray(np.nansum((rows - model.inverse_transform(at)) ** 2, axis=1))

    least = gap(found)
    for axis in range(found.shape[1]):
        for step in (-1e-3, 1e-3):
            moved = found.copy()
            moved[:, axis] = np.clip(moved[:, axis] + step, -limit[axis], limit[axis])
            assert (gap(moved) >= least - 1e-9).all()


def test_two_modes_far_apart(flat: GTM) -> None:
    # A row halfway between two corners of the sheet that knows of one column only.
    rows = curve(200)
    model = GTM(1, n_nodes=8, n_basis=4, schedule=QUICK, n_init=1, random_state=0).fit(rows)
    torn = np.full((1, 4), np.nan)
    torn[0, 1] = 1.0  # 2 t^2: t is near .7 or -.7
    shares = model.responsibilities(torn)[0]
    assert min(shares[:4].sum(), shares[4:].sum()) > 0.05
    mean, mode = model.transform(torn)[0, 0], modes(model, torn)[0, 0]
    assert abs(mode) > 0.5
    assert abs(mean) < abs(mode) - 0.1
    at_mode = model.inverse_transform([[mode]])[0, 1]
    assert at_mode == pytest.approx(1.0, abs=0.02)


# Limits


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_so_much_noise_that_rows_say_nothing_puts_them_in_the_middle(precision: str) -> None:
    rows = MADE[2]
    model = GTM(
        n_nodes=6,
        n_basis=3,
        schedule=QUICK,
        n_init=1,
        engine=Engine(precision=precision),
        noise=1e9,
    )
    with pytest.warns(UserWarning, match="nothing to anneal"):
        model.fit(rows)
    np.testing.assert_allclose(model.transform(rows), 0.0, atol=1e-5)


def test_a_row_without_any_value_is_put_in_the_middle(fitted: tuple[GTM, Array]) -> None:
    model, rows = fitted
    nothing = np.full((2, rows.shape[1]), np.nan)
    np.testing.assert_allclose(model.transform(nothing), 0.0, atol=1e-9)
    np.testing.assert_allclose(modes(model, nothing), 0.0, atol=1e-9)


def test_equal_rows_have_equal_places(fitted: tuple[GTM, Array]) -> None:
    model, rows = fitted
    several = np.repeat(rows[:40], 7, axis=0)
    found = model.transform(several).reshape(40, 7, -1)
    np.testing.assert_allclose(found, found[:, :1].repeat(7, axis=1), rtol=0, atol=1e-9)


def test_how_rows_are_cut_does_not_matter(flat: GTM, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = MADE[2]
    whole, likeliest = flat.transform(rows), modes(flat, rows)
    n_points = len(places.sheet(flat.model_, flat.params_).points)
    held: list[int] = []
    kernel = module.vector_blocks

    def watched(values: Array, weight: Any, *, rows_per_block: int) -> Any:
        held.append(rows_per_block * n_points)
        return kernel(values, weight, rows_per_block=rows_per_block)

    monkeypatch.setattr(module, "vector_blocks", watched)
    monkeypatch.setattr(module, "HELD", 10 * n_points)
    monkeypatch.setattr(places, "ROWS", 7)
    monkeypatch.setattr(places, "AT_ONCE", 50)
    np.testing.assert_allclose(flat.transform(rows), whole, rtol=0, atol=1e-9)
    np.testing.assert_allclose(modes(flat, rows), likeliest, rtol=0, atol=1e-6)
    assert set(held) == {10 * n_points}


def test_weights_of_rows_do_not_move_places_by_more_than_the_map(flat: GTM) -> None:
    rows = MADE[2]
    twice = GTM(**flat.get_params()).fit(rows, sample_weight=np.full(len(rows), 2.0))
    again = GTM(**flat.get_params()).fit(np.repeat(rows, 2, axis=0))
    np.testing.assert_allclose(twice.transform(rows), again.transform(rows), atol=1e-4)


# The lattice


def test_the_lattice_holds_the_nodes_and_goes_on_beyond() -> None:
    for shape, parts in (((5,), (4,)), ((20, 6), (3, 2)), ((8, 8, 4), (2, 3, 1))):
        points = finer(shape, parts)
        nodes = LatentGrid(shape, (3,) * len(shape)).nodes
        assert cdist(nodes, points).min(axis=1).max() < 1e-12
        np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)
        high = points.max(axis=0)
        assert (high <= 1.0 + margin(shape) + 1e-9).all()
        steps = 2.0 / ((np.array(shape) - 1) * parts)
        assert (high > 1.0 + margin(shape) - steps).all()
    np.testing.assert_allclose(margin((20, 3)), [2 / 19, 0.2])


def test_the_lattice_is_as_fine_as_the_noise_asks_for(fitted: tuple[GTM, Array]) -> None:
    model, _ = fitted
    parts = places.parts(model.model_, model.params_)
    shape = model.grid_.shape
    centres = model.centres_.reshape(*shape, -1)
    for axis, steps in enumerate(parts):
        gaps = np.linalg.norm(np.diff(centres, axis=axis), axis=-1) / steps
        assert np.median(gaps) <= places.APART * np.sqrt(model.noise_variance_)
    assert max(parts) > 1
    some = finer(shape, parts)[::7]
    np.testing.assert_allclose(
        places.centres_at(model.grid_, model.weight_, some),
        basis_at(model.grid_, some) @ model.weight_,
    )


def test_the_lattice_has_an_end(fitted: tuple[GTM, Array], monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = fitted
    silent = model.params_._replace(noise=np.asarray(1e-10))
    points = places.sheet(model.model_, silent).points
    assert 0.2 * places.MOST_POINTS < len(points) <= places.MOST_POINTS
    # So has what its points stand for, of rows with many columns.
    monkeypatch.setattr(places, "MOST_NUMBERS", 12_000)
    centres = places.sheet(model.model_, silent).centres
    assert 2_000 < centres.size <= 12_000
    monkeypatch.setattr(places, "MOST_NUMBERS", 1)
    assert places.parts(model.model_, silent) == (1,) * len(model.grid_.shape)
