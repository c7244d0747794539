"""Checkpoints that an earlier version wrote: what they hold, runs go on from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm.anneal import journal
from isotherm.anneal.engine import Annealer
from isotherm.anneal.growth.grow import Growth
from isotherm.anneal.heldout import HeldoutTokens
from isotherm.anneal.run_state import RunState
from isotherm.anneal.schedule import Exponential, Grid
from isotherm.anneal.stepwise import Stepwise
from isotherm.anneal.trace import Fit
from isotherm.data.counts import Counts
from isotherm.data.split import hold_out_tokens
from isotherm.errors import IsothermError
from isotherm.format import archive
from isotherm.io import checkpoint
from isotherm.kernels.cpu.backend import Cpu
from isotherm.models.aspect import Aspect
from isotherm.models.cluster import Cluster
from isotherm.placement.local import Local
from support.anneal import Memory
from support.corpora import one_topic_each
from support.estimators import assert_same, timeless

HERE = Path(__file__).parent / "written" / "2026-11"

# What each file is a checkpoint of, rows to a batch, and where it is.
RUNS: dict[str, tuple[Annealer, Any, int | None, Callable[[RunState], bool]]] = {
    "relaxed": (
        Annealer(Exponential(0.6), tol=1e-7, max_sweeps=25),
        *(Aspect(3), None, lambda run: run.relaxation.proven is not None and run.energy < 1e6),
    ),
    "restarts": (
        Annealer(Grid((1.6, 1.0, 1.3)), tol=1e-4, max_sweeps=15),
        *(Aspect(3), None, lambda run: run.begin is not None and run.temperature == 1.3),
    ),
    "merged": (
        Annealer(Exponential(0.9), tol=1e-3, max_sweeps=12, growth=Growth(6, merged=0.1)),
        *(Cluster(1), None, lambda run: run.before > 0 and run.best.solution is not None),
    ),
    "batches": (
        Annealer(Exponential(0.7, end=1.0), tol=1e-4, stepwise=Stepwise(15, passes=2)),
        *(Aspect(3), 15, lambda run: run.step == 2 and len(run.stats) > 0),
    ),
}


def run(name: str, pages: Memory) -> Fit:
    annealer, model, batch, _ = RUNS[name]
    kept, held = hold_out_tokens(Counts(one_topic_each(40, 15)[0]), 0.2, 0)
    data = Local.place(kept, Cpu("float64"), batch=batch)
    with journal.writing_to(pages):
        heldout = HeldoutTokens(data.beside(held))
        return annealer.run(model, data, np.random.default_rng(0), heldout=heldout)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_on_from_an_earlier_version(name: str) -> None:
    entry = checkpoint.File(HERE / f"run-{name}.ckpt", 1.0).entries[0]
    assert entry.fit is None
    assert entry.state is not None
    assert RUNS[name][3](entry.state)
    pages, whole = Memory(state=entry.state, numbers=entry.rng), Memory()
    again, fit = run(name, pages), run(name, whole)
    assert 0 < len(pages.notes) < len(whole.notes)
    assert len(again.trace) == len(fit.trace) > 1
    last = timeless(again).trace[-1], timeless(fit).trace[-1]
    # Other machines round in other ways, and these numbers are of one.
    assert last[0].n_components == last[1].n_components
    assert last[0].free_energy == pytest.approx(last[1].free_energy, rel=1e-6)
    assert last[0].heldout == pytest.approx(last[1].heldout, rel=1e-6)
    assert again.first_critical == pytest.approx(fit.first_critical, nan_ok=True)


@pytest.mark.parametrize("name", RUNS)
def test_what_was_read_is_written_as_the_present_version_does(name: str, tmp_path: Path) -> None:
    file = checkpoint.File(HERE / f"run-{name}.ckpt", 1.0)
    entries, file.path = file.entries, tmp_path / "run.ckpt"
    file.write()
    content = archive.read(file.path).content
    assert content["items"]["version"] == checkpoint.VERSION == 2
    assert_same(checkpoint.File(file.path, 1.0).entries[0].state, entries[0].state)


@pytest.mark.parametrize("version", [3, 0, "2", None, True])
def test_other_versions_are_refused(version: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    runs = {"$": "dict", "items": {}}
    content = {"$": "dict", "items": {"version": version, "runs": runs}}
    archive.write(path, archive.Archive("checkpoint", content, {}))
    with pytest.raises(IsothermError, match=r"run\.ckpt has version .* reads 1 to 2; go on with"):
        checkpoint.File(path, 1.0)
