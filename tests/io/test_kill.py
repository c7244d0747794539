"""Processes that are killed for good, in the middle of fits and in the middle of writing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import isotherm
from isotherm import Counts
from support.estimators import ESTIMATORS, assert_same_fit, fitted

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="no such signal on this system"
)

# Children are forked from a process that has imported all and computed nothing: starting Python
# takes longer than what is tested. Each child is killed after a time of its own.
BEGIN = """
import os, signal, sys, time, warnings
warnings.simplefilter("ignore")
sys.path[:0] = {paths!r}
import numpy as np
import isotherm
from isotherm.anneal.callbacks import Callback
from isotherm.io import checkpoint
from support.estimators import ESTIMATORS, data_of, FEW

def in_child(work, seconds):
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException as error:
            print("failed", repr(error), flush=True)
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    print("killed" if os.WIFSIGNALED(status) else "ended", flush=True)
"""

FIT = """
checkpoint.SHARE = float("inf")

class Slow(Callback):
    def on_sweep(self, *given):
        time.sleep(0.01)

def fit(name, callbacks):
    os.chdir(name)
    model = ESTIMATORS[name].set_params(random_state=0, engine__callbacks=callbacks, **FEW)
    with isotherm.checkpointing("run.ckpt", every=0):
        model.fit(data_of(model)).set_params(engine=None).save("model.iso")

for name in {names!r}:
    os.mkdir(name)
    print("fit", name)
    for seconds in np.random.default_rng(0).uniform(0.1, 0.6, 5):
        in_child(lambda: fit(name, [Slow()]), seconds)
        if os.path.exists(name + "/model.iso"):
            break
    in_child(lambda: fit(name, []), None)
"""

SAVE = """
def save():
    n = 2
    while True:
        n += 1
        isotherm.Counts(np.full((n, 300), n)).save("counts.iso")

isotherm.Counts(np.full((2, 300), 2)).save("counts.iso")
for seconds in np.random.default_rng(0).uniform(0.003, 0.08, 40):
    in_child(save, seconds)
    counts = isotherm.Counts.load("counts.iso")
    assert (counts.matrix.toarray() == counts.n_rows).all()
    parts = [name for name in os.listdir() if ".part" in name]
    print("whole", counts.n_rows, len(parts), flush=True)
"""


def run(code: str, folder: Path) -> list[str]:
    paths = [os.fspath(Path(one).parents[1]) for one in (__file__, isotherm.__file__)]
    program = BEGIN.format(paths=paths) + code
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_killed_fits_are_gone_on_with(tmp_path: Path) -> None:
    names = ["two-sided", "map", "pcp"]
    said = "\n".join(run(FIT.format(names=names), tmp_path)).split("fit ")[1:]
    assert "failed" not in "".join(said)
    for name, lines in zip(names, said, strict=True):
        assert lines.startswith(name)
        assert lines.count("killed") >= 2
        assert lines.split()[-1] == "ended"
        assert [one.name for one in (tmp_path / name).iterdir()] == ["model.iso"]
        again = isotherm.load(tmp_path / name / "model.iso")
        assert_same_fit(again, fitted(ESTIMATORS[name], None))


def test_a_file_is_whole_whenever_its_writer_is_killed(tmp_path: Path) -> None:
    said = run(SAVE, tmp_path)
    whole = [line.split() for line in said if line.startswith("whole")]
    assert len(whole) == 40
    assert said.count("killed") == 40
    sizes = [int(size) for _, size, _ in whole]
    assert len(set(sizes)) > 3  # some were killed before the first file, some later
    # What one left is gone when the next one writes: never more than the last one's.
    assert max(int(parts) for _, _, parts in whole) == 1
    Counts(np.eye(2)).save(tmp_path / "counts.iso")
    assert [one.name for one in tmp_path.iterdir()] == ["counts.iso"]
