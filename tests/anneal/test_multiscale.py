from typing import Any

import numpy as np
import pytest

from isotherm.anneal.callbacks import Callback
from isotherm.anneal.engine import Annealer
from isotherm.anneal.multiscale import (
    check_levels,
    grid_levels,
    multiscale,
    parents,
    prolonged,
)
from isotherm.anneal.schedule import Exponential, Fixed
from isotherm.anneal.start import Noisy
from isotherm.anneal.trace import Fit
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.tied import Tied, pooled
from isotherm.placement.local import Local

N_ROWS, K = 96, 4
DOUBLE = Cpu("float64")


def planted(seed: int = 0) -> tuple[Counts, Any]:
    """Counts of runs of rows from four distributions, and the distribution of each row."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2, 3, 1, 0, 3, 2], [13, 11, 12, 14, 10, 13, 11, 12])
    p = rng.dirichlet(np.full(15, 0.8), 4)
    return Counts(np.array([rng.multinomial(40, p[c]) for c in truth])), truth


COUNTS, TRUTH = planted()
ROWS = np.arange(N_ROWS)
LADDER = check_levels([ROWS // 3, ROWS // 6], N_ROWS)
MODEL = Tied(K, pseudo_count=5.0, fixed_weights=True)
COOLING = Annealer(Exponential(0.8, end=6.0), tol=1e-6)
SETTLING = Annealer(Fixed(1.0), tol=1e-7)


def place(block_of: Any, n_blocks: int = 1) -> Local:
    return Local.place(pooled(COUNTS, block_of), DOUBLE, n_blocks=n_blocks)


def run(seed: int = 0, **options: Any) -> Any:
    rng = np.random.default_rng(seed)
    return multiscale(MODEL, place, LADDER, COOLING, SETTLING, rng, **options)


def test_levels_run_from_coarse_to_fine_and_find_what_was_planted() -> None:
    found = run()
    assert [level.n_blocks for level in found.levels] == [16, 32, 96]
    assert [len(level.fits) for level in found.levels] == [2, 1, 1]
    assert found.levels[0].fits[0].trace[-1].temperature == 6.0
    assert all(level.fits[-1].temperature == 1.0 for level in found.levels)
    assert found.fit is found.levels[-1].fits[-1]
    labels = found.fit.state.rows[0].posterior.argmax(axis=1)
    pairs = set(zip(labels.tolist(), TRUTH.tolist(), strict=True))
    assert len(pairs) == K


def test_energies_fall_from_level_to_level() -> None:
    ends = [level.fits[-1].trace[-1].free_energy for level in run().levels]
    assert ends[0] > ends[1] > ends[2]


def test_every_level_begins_where_the_coarser_one_ended() -> None:
    class First(Callback):
        def __init__(self) -> None:
            self.energies: list[float] = []

        def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
            if sweep == 1:
                self.energies.append(free_energy)

    heard = First()
    settling = Annealer(Fixed(1.0), tol=1e-7, callbacks=(heard,))
    rng = np.random.default_rng(0)
    found = multiscale(MODEL, place, LADDER, COOLING, settling, rng)
    ends = [level.fits[-1].trace[-1].free_energy for level in found.levels]
    # The first E-step of a level lowers the energy that the one before ended with.
    assert heard.energies[1] < ends[0]
    assert heard.energies[2] < ends[1]
    # Settling changes little after that: the parameters carried over.
    assert heard.energies[2] - ends[2] < 0.02 * abs(ends[2])


def test_site_updates_are_sweeps_times_blocks() -> None:
    found = run(n_starts=3)
    kept = [sum(fit.n_sweeps for fit in level.fits) for level in found.levels]
    assert [level.n_sweeps for level in found.levels[1:]] == kept[1:]
    assert found.levels[0].n_sweeps > 2 * kept[0]
    expected = 16 * found.levels[0].n_sweeps + 32 * kept[1] + 96 * kept[2]
    assert found.site_updates == expected


def test_without_coarser_levels_it_is_a_plain_run() -> None:
    rng = np.random.default_rng(3)
    found = multiscale(MODEL, place, check_levels([], N_ROWS), COOLING, SETTLING, rng)
    rng, data = np.random.default_rng(3), place(ROWS)
    cooled = COOLING.run(MODEL, data, rng)
    fit = SETTLING.run(MODEL, data, rng, state=cooled.state)
    assert len(found.levels) == 1
    assert found.fit.trace[-1].free_energy == fit.trace[-1].free_energy
    np.testing.assert_array_equal(found.fit.state.rows[0].posterior, fit.state.rows[0].posterior)
    assert found.site_updates == N_ROWS * (cooled.n_sweeps + fit.n_sweeps)


def test_the_best_of_several_starts_leads_on() -> None:
    # One sweep says little about where settling will end.
    rough = Annealer(Fixed(1.0), start=Noisy(1.0), max_sweeps=1)
    rng, data = np.random.default_rng(9), place(LADDER[-1])
    begins, ends = [], []
    for _ in range(5):
        cooled = rough.run(MODEL, data, rng)
        begins.append(cooled.trace[-1].free_energy)
        ends.append(SETTLING.run(MODEL, data, rng, state=cooled.state).trace[-1].free_energy)
    best = int(np.argmin(ends))
    assert best not in (0, 4, int(np.argmin(begins)))
    rng = np.random.default_rng(9)
    found = multiscale(MODEL, place, LADDER, rough, SETTLING, rng, n_starts=5)
    assert found.levels[0].fits[-1].trace[-1].free_energy == ends[best] < min(ends[0], ends[4])


def test_prolonged_rows_are_those_of_their_parents() -> None:
    data = place(LADDER[2])
    coarse = SETTLING.run(MODEL, data, np.random.default_rng(0)).state
    parent = parents(LADDER[1], LADDER[2])
    for n_blocks in (1, 3):
        fine = place(LADDER[1], n_blocks)
        state = prolonged(MODEL, fine, coarse, parent)
        assert [len(rows.posterior) for rows in state.rows] == [b.n_rows for b in fine.blocks]
        np.testing.assert_array_equal(
            fine.gather(state.rows).posterior, coarse.rows[0].posterior[np.arange(32) // 2]
        )
        assert state.params is coarse.params
        assert state.extra == pytest.approx(coarse.extra, rel=1e-12)


def test_an_interrupt_ends_all_levels() -> None:
    class Interrupt(Callback):
        def on_sweep(self, temperature: float, sweep: int, free_energy: float) -> None:
            if self.after and sweep == 2:
                raise KeyboardInterrupt

        def on_temperature(self, fit: Fit) -> bool:
            self.after = True
            return False

        after = False

    cooling = Annealer(Exponential(0.8, end=6.0), tol=1e-6, callbacks=(Interrupt(),))
    with pytest.raises(KeyboardInterrupt):
        multiscale(MODEL, place, LADDER, cooling, SETTLING, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([ROWS[:-1]], r"level 1 has shape \(95,\).*for 96 rows"),
        ([ROWS / 2], "type float64.*as an integer"),
        ([ROWS // 2 * 2], "with gaps; number the blocks from 0"),
        ([ROWS // 2 - 1], "blocks -1 to 46 with gaps"),
        ([ROWS // 2, ROWS // 3], "level 2 is not nested.*level 1 ties"),
        ([ROWS // 4, ROWS // 2], "level 2 is not nested"),
    ],
)
def test_levels_that_are_no_nested_coarsening_are_refused(levels: Any, message: str) -> None:
    with pytest.raises(IsothermError, match=message):
        check_levels(levels, N_ROWS)


def test_any_nested_coarsening_is_accepted() -> None:
    shuffled = np.random.default_rng(0).permutation(N_ROWS) // 4
    halves = np.random.default_rng(1).permutation(24)[shuffled] // 12
    ladder = check_levels([shuffled.tolist(), halves, np.zeros(N_ROWS, int)], N_ROWS)
    assert [int(level.max()) + 1 for level in ladder] == [96, 24, 2, 1]
    np.testing.assert_array_equal(parents(ladder[0], ladder[1]), shuffled)
    np.testing.assert_array_equal(parents(ladder[1], ladder[2])[shuffled], halves)


@pytest.mark.parametrize("shape", [(8, 8), (5, 7), (1, 9), (6, 3)])
def test_grid_levels_are_square_blocks(shape: tuple[int, int]) -> None:
    height, width = shape
    levels = grid_levels(shape, 4)
    ladder = check_levels(levels, height * width)
    assert len(ladder) == 4
    for number, block_of in enumerate(levels, 1):
        side = 2**number
        for block in range(int(block_of.max()) + 1):
            i, j = np.divmod(np.flatnonzero(block_of == block), width)
            assert len(set((i // side).tolist())) == len(set((j // side).tolist())) == 1
            # Whole, but where the grid ends.
            across = min(side, height - i.min() // side * side)
            assert len(i) == across * min(side, width - j.min() // side * side)
    assert grid_levels(shape, 1) == []
