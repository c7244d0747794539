"""Peers behind one function, the runner, and what is made of their figures; no peer is needed."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from isotherm import Counts

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
COUNTS = sparse.csr_matrix(np.array([[3, 1, 0], [0, 2, 4]]))

ADAPTER = """
import time
import numpy as np
from _adapter import job
given = job()
time.sleep(0.6)  # before the clock
with given.timed():
    for step in range(1, 5):
        time.sleep(0.01)
        if given.due(step, 4):
            given.snapshot(lambda: (time.sleep(0.5), np.full((2, 3), step))[1:] + ([1, 1],))
topics = np.array([[2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
scale = given.settings["scale"] * given.k * given.threads
given.finish(topics * scale, [3.0, 1.0], given.counts @ topics.T)
"""


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The modules of the benchmarks, which import their neighbours by name."""
    before = set(sys.modules)
    for folder in (BENCHMARKS, BENCHMARKS / "peers"):
        monkeypatch.syspath_prepend(str(folder))
    import install

    import _completion
    import _no_topics
    import _peers
    import quality
    import run
    import time_to_quality

    yield SimpleNamespace(
        peers=_peers,
        install=install,
        quality=quality,
        run=run,
        time=time_to_quality,
        completion=_completion,
        bare=_no_topics,
    )
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def peers(scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A peer that does as it is told, and a report of what was installed."""
    shutil.copy(BENCHMARKS / "peers" / "_adapter.py", tmp_path)
    (tmp_path / "fake.py").write_text(ADAPTER)
    (tmp_path / "broken.py").write_text("raise SystemExit('first line\\nno such luck')")
    report = [
        {"environment": "gone", "version": None, "error": "no wheel"},
        {"environment": "there", "version": "there 1.2", "error": None},
    ]
    (tmp_path / "peers.json").write_text(json.dumps({"environments": report}))
    kind = scripts.peers.Peer
    known = {
        "fake": kind(scripts.peers.HERE, "fake.py", "m", {"scale": 2.0}, "a fake"),
        "broken": kind(scripts.peers.HERE, "broken.py", "m", {}, "broken"),
        "reader": kind(scripts.peers.HERE, "fake.py", "m", {}, "a reader", True),
        "gone": kind("gone", "fake.py", "m", {}, "gone"),
        "unmade": kind("unmade", "fake.py", "m", {}, "unmade"),
        "there": kind("there", "fake.py", "m", {}, "there"),
    }
    monkeypatch.setattr(scripts.peers, "ADAPTERS", tmp_path)
    monkeypatch.setattr(scripts.peers, "PEERS", known)
    monkeypatch.setattr(scripts.peers, "REPORT", tmp_path / "peers.json")
    monkeypatch.setattr(scripts.peers, "ENVIRONMENTS", tmp_path / "environments")
    return scripts.peers


def test_a_fit_comes_back_as_distributions(peers: Any) -> None:
    found = peers.fit("fake", COUNTS, 2, 0, threads=2)
    assert found.error is None
    # A topic without words is uniform.
    np.testing.assert_allclose(found.topics, [[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(found.weights, [0.75, 0.25])
    np.testing.assert_array_equal(found.documents, [[8, 0], [4, 0]])
    assert found.n_topics == 2
    assert found.curve is None
    assert found.peak_rss > 1 << 20


def test_the_clock_runs_during_the_fit_alone(peers: Any) -> None:
    found = peers.fit("fake", COUNTS, 2, 0, snapshots=2)
    assert 0.04 <= found.wall < 0.5
    assert 0 <= found.cpu < 0.5
    assert [float(step[2][0, 0]) for step in found.curve] == [2, 4]
    walls = [step[0] for step in found.curve]
    assert walls[0] < walls[1] <= found.wall


def test_what_cannot_run_says_why(peers: Any) -> None:
    assert peers.fit("broken", COUNTS, 2, 0).error == "first line / no such luck"
    assert peers.available("fake") is None
    assert peers.available("gone") == "cannot be installed: no wheel"
    assert peers.fit("gone", COUNTS, 2, 0).error == "cannot be installed: no wheel"
    assert peers.available("unmade") == "no environment unmade; make bench-peers"
    assert "needs the texts" in peers.fit("reader", COUNTS, 2, 0).error
    assert peers.version("there") == "there 1.2"


def test_every_peer_has_an_adapter_and_an_environment(scripts: SimpleNamespace) -> None:
    for peer in scripts.peers.PEERS.values():
        assert (scripts.peers.ADAPTERS / peer.adapter).exists()
        assert peer.environment in [scripts.peers.HERE, *scripts.install.environments()]
    assert set(scripts.install.MODULES) == set(scripts.install.environments())


def test_what_cannot_be_installed_is_told(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scripts.install, "ENVIRONMENTS", tmp_path)
    row = scripts.install.made("sklearn", "no-such-python")
    assert row["version"] is None
    assert "no-such-python" in row["error"]


def test_the_runner_lists_every_script_but_itself(scripts: SimpleNamespace) -> None:
    known = scripts.run.questions()
    there = {path.stem for path in BENCHMARKS.glob("[a-z]*.py")} - {"run"}
    assert set(known) == there
    assert known["kernels"].takes == "4 minutes"
    listed = scripts.run.shown(known)
    assert all(f"{name}  (" in listed for name in there)


def test_the_runner_goes_on_after_a_failure(
    scripts: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "bad.py").write_text("raise SystemExit(3)")
    (tmp_path / "good.py").write_text("import sys; print('well', *sys.argv[1:])")
    (tmp_path / "poor.py").write_text("import os; raise SystemExit(os.EX_UNAVAILABLE)")
    names = ("bad", "poor", "good")
    known = {name: scripts.run.Question(name, "?", "none", "a second") for name in names}
    monkeypatch.setattr(scripts.run, "AGAIN", {"good": ("--once", "more")})
    run = scripts.run.run
    monkeypatch.setattr(scripts.run, "questions", lambda: known)
    monkeypatch.setattr(scripts.run, "run", lambda *job: run(*job, folder=tmp_path))
    monkeypatch.setattr(sys, "argv", ["run.py", "all"])
    assert scripts.run.main() == 1
    said = capfd.readouterr().out
    assert "bad: FAILED with code 3" in said
    assert "poor: not run" in said
    assert "well\n" in said
    assert "well --once more\n" in said
    assert said.strip().endswith("NOT RUN, see why above: poor\nFAILED: bad")
    monkeypatch.setattr(sys, "argv", ["run.py", "good"])
    assert scripts.run.main() == 0


def test_ours_counts_from_where_it_reaches_a_peers_last_level(scripts: SimpleNamespace) -> None:
    point = scripts.time.Point
    curves = {
        "isotherm": [point(1, 2, 50.0), point(2, 4, 40.0), point(3, 6, 30.0)],
        "sklearn-lda": [point(5, 5, 30.0), point(20, 20, 40.0)],
        "tomotopy-lda": [point(9, 9, 29.0)],
    }
    near = scripts.time.compared("ap", 1, "sklearn-lda", curves)
    assert (near["our CPU s"], near["CPU ratio"], near["wall ratio"]) == (4, 0.2, 0.1)
    far = scripts.time.compared("ap", 1, "tomotopy-lda", curves)
    assert far["CPU ratio"] is None
    judged = scripts.time.judge([near, far])
    assert [(target.value, target.met) for target in judged] == [(0.2, True), (np.inf, False)]


def row(model: str, seed: int, perplexity: float | None, error: str | None = None) -> dict:
    figures = {"topics": 5, "NPMI": 0.1, "diversity": 1.0, "NMI": None, "cpu s": 2.0}
    there = {} if error else figures | {"perplexity": perplexity}
    return {"corpus": "ap", "model": model, "seed": seed, "error": error} | there


def test_ours_is_judged_by_the_best_peer(scripts: SimpleNamespace) -> None:
    rows = [row("isotherm", 0, 90.0), row("isotherm", 1, 94.0), row("sklearn-lda", 0, 100.0)]
    rows += [row("gensim-lda", 0, 91.0), row("sklearn-lsi", 0, None), row("bertopic", 0, 0, "why")]
    steady = {("ap", "isotherm"): 0.9, ("ap", "sklearn-lsi"): 0.95}
    table = scripts.quality.summary(rows, steady)
    assert [line["perplexity"] for line in table] == [92.0, 100.0, 91.0, None, None]
    assert table[0]["± s.e."] == 2.0
    assert [line["note"] for line in table] == ["", "", "", "", "why"]
    perplexity, stability = scripts.quality.judge(table)
    assert perplexity.value == pytest.approx(92 / 91)
    assert not perplexity.met
    assert "gensim" in perplexity.name
    assert stability.value == pytest.approx(-0.05)
    assert not stability.met


def test_the_best_peer_is_not_known_before_all_are_measured(scripts: SimpleNamespace) -> None:
    rows = [row("isotherm", 0, 90.0), row("sklearn-lda", 0, 100.0), row("gensim-lda", 0, 99.0)]
    rows += [row("isotherm", 0, 90.0) | {"corpus": "b"}]
    rows += [row("sklearn-lda", 0, 95.0) | {"corpus": "b"}]
    first, open_ = scripts.quality.judge(scripts.quality.summary(rows, {}))
    assert first.met
    assert (open_.value, open_.row()["met"]) == (None, "not measured")
    rows[-1]["perplexity"] = 80.0  # worse than one of them is worse than the best
    _, missed = scripts.quality.judge(scripts.quality.summary(rows, {}))
    assert missed.value == pytest.approx(90 / 80)


def test_other_corpora_stay_with_the_run_that_they_are_of(scripts: SimpleNamespace) -> None:
    before = {
        "machine": {"date": "2026-01-02T03:04:05", "commit": "abc with changes"},
        "summary": [{"corpus": "20news", "seeds": 3}, {"corpus": "ap", "seeds": 9}],
    }
    parts = {
        "summary": [{"corpus": "20news", "seeds": 10}],
        "runs": [{"corpus": "20news", "date": "2026-02-03", "commit": "def"}],
        "samples": [],
    }
    whole = scripts.quality.together(parts, before, ["20news"])
    assert whole["summary"] == [{"corpus": "ap", "seeds": 9}, {"corpus": "20news", "seeds": 10}]
    older = {"corpus": "ap", "date": "2026-01-02", "commit": "abc"}
    assert whole["runs"] == [older, *parts["runs"]]
    # Once more: what was put together before keeps its own date.
    new = {"corpus": "cranfield", "date": "2026-03-04", "commit": "fff"}
    again = scripts.quality.together({"runs": [new]}, before | whole, ["cranfield"])
    assert again["runs"] == [new, older, *parts["runs"]]
    assert scripts.quality.together({"runs": [new]}, {}, ["cranfield"])["runs"] == [new]


def test_ours_is_judged_by_what_needs_no_topics(scripts: SimpleNamespace) -> None:
    table = scripts.quality.summary([row("isotherm", 0, 90.0)], {})
    bare = [{"corpus": "ap", "model": "no topics: unigram", "perplexity": 99.0}]
    bare += [{"corpus": c, "model": scripts.bare.REPEATS, "perplexity": 80.0} for c in ("ap", "b")]
    (target,) = scripts.quality.judge(table, bare)
    assert target.name == "ap: perplexity, ours / " + scripts.bare.REPEATS
    assert target.value == pytest.approx(90 / 80)
    assert not target.met


def test_repeats_are_predicted_without_topics(scripts: SimpleNamespace) -> None:
    rng = np.random.default_rng(0)
    own = rng.integers(0, 200, (300, 5))  # every document has five words of its own
    rows = np.array([rng.multinomial(60, np.bincount(w, minlength=200) / 5) for w in own])
    given = scripts.completion.parts(Counts(rows), 0)
    unigram, repeats = scripts.bare.score(given).values()
    assert unigram["chosen"] == "g = 0"
    assert unigram["perplexity"] == pytest.approx(200, rel=0.1)
    assert repeats["perplexity"] < 6
    # By hand: the first document's second half, at the share that was chosen.
    halves = scripts.bare.Halves(given.test, np.full(200, 0.005))
    first, second = (half.matrix.toarray() for half in given.test)
    p = 0.5 * 0.005 + 0.5 * first / first.sum(axis=1, keepdims=True)
    expected = np.exp(-(second * np.log(p)).sum() / second.sum())
    assert halves.perplexity("g", 0.5) == pytest.approx(expected)
    assert halves.perplexity("mu", 1e-9) != pytest.approx(expected)
    empty = scripts.bare.Halves((Counts([[1, 0]]), Counts([[1, 1]])), 0.5 * np.ones(2))
    assert empty.perplexity("g", 0.0) == pytest.approx(2.0)


def test_settings_of_models_that_are_left_out_stay(scripts: SimpleNamespace) -> None:
    before = {"settings": [{"model": "BERTopic", "version": "1", "settings": "defaults"}]}
    found = scripts.quality.all_settings(["isotherm"], before)
    assert [one["model"] for one in found] == ["isotherm AspectModel", "BERTopic"]
