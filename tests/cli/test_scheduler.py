"""`isotherm fit --scheduler`: the same run, from the workers of a live scheduler."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import Counts, load

pytest.importorskip("distributed")
from isotherm.placement.cluster import remote

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::RuntimeWarning")
FIT = ("--model", "clusters", "--topics", "2", "--checkpoint-every", "0")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    topics, weights = rng.dirichlet(np.full(20, 0.1), 2), rng.dirichlet(np.full(2, 0.1), 40)
    counts = rng.poisson(30 * weights @ topics) + (np.arange(20) == 0)
    return Counts(counts, column_names=[f"w{j}" for j in range(20)]).save(tmp_path / "a.counts")


def test_a_scheduler_gives_the_same_run(path: Path, client: Any, say: Any) -> None:
    address = client.scheduler.address
    inside, outside = path.with_name("inside.run"), path.with_name("outside.run")
    say("fit", path, "-o", inside, *FIT)
    said = say("fit", path, "-o", outside, *FIT, "--scheduler", address, "--json")
    assert said["interrupted"] is False
    here, there = load(inside / "model.iso"), load(outside / "model.iso")
    assert there.free_energy_ == pytest.approx(here.free_energy_, rel=1e-9)
    np.testing.assert_allclose(there.row_weights_, here.row_weights_, atol=1e-8)
    assert sorted(one.name for one in outside.iterdir()) == sorted(
        one.name for one in inside.iterdir()
    )
    # The workers are those of other people again.
    assert client.nthreads()


def test_a_run_on_a_scheduler_goes_on(
    path: Path, client: Any, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("fit", path, *FIT, "--scheduler", client.scheduler.address)
    say(*words, "-o", path.with_name("whole.run"))
    sweep, done = remote.Remote.sweep, []

    def dies(self: Any, *given: Any) -> Any:
        done.append(1)
        if len(done) == 25:
            raise KeyError("as if the process had been killed")
        return sweep(self, *given)

    monkeypatch.setattr(remote.Remote, "sweep", dies)
    with pytest.raises(KeyError):
        say(*words, "-o", path.with_name("again.run"))
    first, done[:] = len(done), [0] * 100
    say(*words, "-o", path.with_name("again.run"), "--resume")
    whole, again = (load(path.with_name(f"{one}.run") / "model.iso") for one in ("whole", "again"))
    assert first == 25
    assert again.free_energy_ == whole.free_energy_
    assert np.array_equal(again.row_weights_, whole.row_weights_)
