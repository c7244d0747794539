"""`isotherm fit --memory` and `--scheduler`: the same run from counts elsewhere."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Counts, load
from isotherm.placement.disk import streamed

FILES = ["counts.iso", "documents.jsonl.gz", "model.iso", "run.json", "stages.iso"]


def test_memory_gives_the_same_run(
    tmp_path: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    topics, weights = rng.dirichlet(np.full(40, 0.05), 3), rng.dirichlet(np.full(3, 0.1), 200)
    counts = Counts(rng.poisson(30 * weights @ topics), column_names=[f"w{j}" for j in range(40)])
    path = counts.save(tmp_path / "big.counts")
    say("fit", path, "-o", tmp_path / "inside.run", "--topics", "3")
    whole = Counts.load
    monkeypatch.setattr(streamed, "LEAST", 100)
    monkeypatch.setattr(Counts, "load", None)  # never in memory as a whole
    said = say("fit", path, "-o", tmp_path / "outside.run", "--topics", "3", "--memory", "0.5MB")
    if sys.platform.startswith("linux"):
        assert re.search(r"^peak \d+ MB of 0 MB allowed$", str(said), re.MULTILINE)
    monkeypatch.setattr(Counts, "load", whole)
    assert sorted(one.name for one in (tmp_path / "outside.run").iterdir()) == FILES
    inside, outside = (
        load(tmp_path / f"{side}.run" / "model.iso") for side in ("inside", "outside")
    )
    assert outside.free_energy_ == pytest.approx(inside.free_energy_, rel=1e-9)
    np.testing.assert_allclose(outside.row_weights_, inside.row_weights_, atol=1e-8)
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "big.counts",
        "inside.run",
        "outside.run",
    ]


def test_memory_needs_counts(stories: Path, tmp_path: Path, fails: Any) -> None:
    said = fails("fit", stories, "-o", tmp_path / "a.run", "--memory", "500MB")
    assert "isotherm count" in said
    assert "500 m" in fails("fit", stories, "--memory", "500 miles", status=2)


def test_a_scheduler_that_does_not_answer_is_told(
    tmp_path: Path, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    from isotherm.placement.cluster import remote

    monkeypatch.setattr(remote, "TIMEOUT", 0.5)
    path = Counts(np.ones((4, 3))).save(tmp_path / "a.counts")
    said = fails("fit", path, "--topics", "2", "--scheduler", "tcp://127.0.0.1:1")
    assert "no Dask scheduler answers" in said
