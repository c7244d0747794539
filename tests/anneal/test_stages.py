"""Stages: solutions that are kept where components came apart."""

from pathlib import Path

import numpy as np
import pytest

from isotherm import (
    AspectModel,
    Engine,
    Exponential,
    IsothermError,
    Noisy,
    OneSidedClustering,
    Stages,
    load,
    save,
)
from isotherm.anneal.fold import fold_in
from isotherm.anneal.stages import Stage, size_of, telling
from isotherm.data.counts import as_counts
from isotherm.kernels.cpu.backend import Cpu
from isotherm.placement.local import Local


def blocks(n: int = 4, tokens: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(3)
    rate = np.kron(np.eye(n), np.full((12, 6), 4.0)) + 0.5
    rate += 1.5 * np.kron(np.kron(np.eye(n // 2), np.ones((2, 2))), np.ones((12, 6)))
    return rng.poisson(tokens * rate)


def annealed(stages: Stages, precision: str = "auto", tokens: float = 1.0) -> OneSidedClustering:
    """Clusters cooled from above their first transition."""
    schedule = Exponential(0.9, margin=1.1)
    engine = Engine(callbacks=[stages], precision=precision)
    model = OneSidedClustering(
        4,
        weighting="tokens",
        schedule=schedule,
        start=Noisy(),
        engine=engine,
        random_state=1,
    )
    return model.fit(blocks(tokens=tokens))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_solutions_up_to_the_one_that_was_chosen_are_kept(precision: str) -> None:
    stages = Stages()
    model = annealed(stages, precision=precision, tokens=0.3)
    numbers = [stage.n_distinct for stage in stages.kept]
    assert numbers[0] == 1
    assert numbers[1] == 2  # pairs of blocks, then the blocks
    assert numbers[-1] == 4
    effective = {record.temperature: record.n_effective for record in model.trace_}
    for stage in stages.kept:
        assert effective[stage.temperature] == stage.n_distinct
        _, table = stage.model.components(stage.params)
        assert table.dtype == np.float32
        np.testing.assert_allclose(table.sum(axis=0), 1.0, rtol=1e-4)
    temperatures = [stage.temperature for stage in stages.kept]
    assert temperatures == sorted(temperatures, reverse=True)
    assert temperatures[-1] == model.temperature_ > model.trace_[-1].temperature


def test_watching_changes_nothing() -> None:
    X = blocks()
    one = AspectModel(4, random_state=0).fit(X)
    other = AspectModel(4, engine=Engine(callbacks=[Stages()]), random_state=0).fit(X)
    np.testing.assert_array_equal(one.components_, other.components_)


def test_documents_can_be_folded_in_at_a_stage() -> None:
    stages = Stages()
    X = blocks()
    annealed(stages)
    stage = [kept for kept in stages.kept if kept.n_distinct == 2][-1]
    data = Local.place(as_counts(X), Cpu("float32", 1))
    rows = data.gather(fold_in(stage.model, stage.params, data, stage.temperature))
    pair = np.arange(len(X)) // 24
    _, table = stage.model.components(stage.params)
    share = rows.posterior[:, table[:12].sum(axis=0) > table[12:].sum(axis=0)].sum(axis=1)
    assert ((share > 0.5) == (pair == 0)).mean() > 0.9


def test_every_run_begins_anew() -> None:
    stages = Stages()
    annealed(stages)
    first = [stage.temperature for stage in stages.kept]
    annealed(stages)
    assert [stage.temperature for stage in stages.kept] == first


def test_limits() -> None:
    few = Stages(limit=3)
    model = annealed(few)
    assert [stage.n_distinct for stage in few.kept] == [1, 2, 4]
    assert few.kept[-1].temperature == model.temperature_
    each = size_of(few.kept[0].params)
    assert each > 4 * 24 * 4
    small = Stages(megabytes=3.5 * each / 1e6)
    annealed(small)
    assert [s.temperature for s in small.kept] == [s.temperature for s in few.kept]


@pytest.mark.parametrize(("limit", "megabytes"), [(1, 64.0), (12, 0.0)])
def test_limits_that_show_nothing_are_refused(limit: int, megabytes: float) -> None:
    with pytest.raises(IsothermError, match="at least 2 stages and more than 0 MB"):
        Stages(limit, megabytes)


def test_saved_and_loaded(tmp_path: Path) -> None:
    stages = Stages(limit=5)
    annealed(stages)
    found = load(save(stages, tmp_path / "stages.iso"))
    assert isinstance(found, Stages)
    assert found.limit == 5
    assert len(found.kept) == len(stages.kept) > 1
    for one, other in zip(found.kept, stages.kept, strict=True):
        assert isinstance(one, Stage)
        assert one.model == other.model
        assert (one.temperature, one.n_distinct) == (other.temperature, other.n_distinct)
        for a, b in zip(one.params, other.params, strict=True):
            np.testing.assert_array_equal(a, b)


def test_telling_stages_are_far_from_their_neighbours() -> None:
    numbers = [1, 2, 3, 4, 6, 8, 11, 12, 13, 20, 30, 31, 40]
    same = [1.0] * len(numbers)
    assert telling(numbers, same, 20) == list(range(13))
    found = [numbers[i] for i in telling(numbers, same, 8)]
    assert found[:2] == [1, 2]
    assert found[-1] == 40
    assert np.diff(np.log(found)).max() < 0.75
    assert telling(numbers, same, 2) == [0, 12]
    assert telling([5], [1.0], 2) == [0]
    # From 3 to 6 is not as far as from 2 to 5: the stage between goes.
    assert telling([2, 3, 5, 6], [1.0] * 4, 3) == [0, 1, 3]
    # Of equal numbers, those whose temperatures differ.
    assert telling([3, 3, 3, 3], [8.0, 7.9, 2.0, 1.9], 3) == [0, 2, 3]
