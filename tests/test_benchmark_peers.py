"""Peers behind one function, the runner, and what is made of their figures; no peer is needed."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from benchmarks import harness
from benchmarks.harness import completion, no_topics, own_words
from benchmarks.peers import install
from benchmarks.quality import quality, time_to_quality
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
def peers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A peer that does as it is told, and a report of what was installed."""
    shutil.copy(BENCHMARKS / "peers" / "_adapter.py", tmp_path)
    (tmp_path / "fake.py").write_text(ADAPTER)
    (tmp_path / "broken.py").write_text("raise SystemExit('first line\\nno such luck')")
    report = [
        {"environment": "gone", "version": None, "error": "no wheel"},
        {"environment": "there", "version": "there 1.2", "error": None},
    ]
    (tmp_path / "peers.json").write_text(json.dumps({"environments": report}))
    kind = harness.peers.Peer
    known = {
        "fake": kind(harness.peers.HERE, "fake.py", "m", {"scale": 2.0}, "a fake"),
        "broken": kind(harness.peers.HERE, "broken.py", "m", {}, "broken"),
        "reader": kind(harness.peers.HERE, "fake.py", "m", {}, "a reader", True),
        "gone": kind("gone", "fake.py", "m", {}, "gone"),
        "unmade": kind("unmade", "fake.py", "m", {}, "unmade"),
        "there": kind("there", "fake.py", "m", {}, "there"),
    }
    monkeypatch.setattr(harness.peers, "ADAPTERS", tmp_path)
    monkeypatch.setattr(harness.peers, "PEERS", known)
    monkeypatch.setattr(harness.peers, "REPORT", tmp_path / "peers.json")
    monkeypatch.setattr(harness.peers, "ENVIRONMENTS", tmp_path / "environments")
    return harness.peers


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


def test_every_peer_has_an_adapter_and_an_environment() -> None:
    for peer in harness.peers.PEERS.values():
        assert (harness.peers.ADAPTERS / peer.adapter).exists()
        assert peer.environment in [harness.peers.HERE, *install.environments()]
    assert set(install.MODULES) == set(install.environments())


def test_what_cannot_be_installed_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(install, "ENVIRONMENTS", tmp_path)
    row = install.made("sklearn", "no-such-python")
    assert row["version"] is None
    assert "no-such-python" in row["error"]


def test_ours_counts_from_where_it_reaches_a_peers_last_level() -> None:
    point = time_to_quality.Point
    curves = {
        "isotherm": [point(1, 2, 50.0), point(2, 4, 40.0), point(3, 6, 30.0)],
        "sklearn-lda": [point(5, 5, 30.0), point(20, 20, 40.0)],
        "tomotopy-lda": [point(9, 9, 29.0)],
    }
    near = time_to_quality.compared("ap", 1, "sklearn-lda", curves)
    assert (near["our CPU s"], near["CPU ratio"], near["wall ratio"]) == (4, 0.2, 0.1)
    far = time_to_quality.compared("ap", 1, "tomotopy-lda", curves)
    assert far["CPU ratio"] is None
    judged = time_to_quality.judge([near, far])
    assert [(target.value, target.met) for target in judged] == [(0.2, True), (np.inf, False)]


def row(model: str, seed: int, perplexity: float | None, error: str | None = None) -> dict:
    figures = {"topics": 5, "NPMI": 0.1, "diversity": 1.0, "NMI": None, "cpu s": 2.0}
    there = {} if error else figures | {"perplexity": perplexity}
    return {"corpus": "ap", "model": model, "seed": seed, "error": error} | there


def test_ours_is_judged_by_the_best_peer() -> None:
    rows = [row("isotherm", 0, 90.0), row("isotherm", 1, 94.0), row("sklearn-lda", 0, 100.0)]
    rows += [row("gensim-lda", 0, 91.0), row("sklearn-lsi", 0, None), row("bertopic", 0, 0, "why")]
    steady = {("ap", "isotherm"): 0.9, ("ap", "sklearn-lsi"): 0.95}
    table = quality.summary(rows, steady)
    assert [line["perplexity"] for line in table] == [92.0, 100.0, 91.0, None, None]
    assert table[0]["± s.e."] == 2.0
    assert [line["note"] for line in table] == ["", "", "", "", "why"]
    perplexity, stability = quality.judge(table)
    assert perplexity.value == pytest.approx(92 / 91)
    assert not perplexity.met
    assert "gensim" in perplexity.name
    assert stability.value == pytest.approx(-0.05)
    assert not stability.met


def test_the_best_peer_is_not_known_before_all_are_measured() -> None:
    rows = [row("isotherm", 0, 90.0), row("sklearn-lda", 0, 100.0), row("gensim-lda", 0, 99.0)]
    rows += [row("isotherm", 0, 90.0) | {"corpus": "b"}]
    rows += [row("sklearn-lda", 0, 95.0) | {"corpus": "b"}]
    first, open_ = quality.judge(quality.summary(rows, {}))
    assert first.met
    assert (open_.value, open_.row()["met"]) == (None, "not measured")
    rows[-1]["perplexity"] = 80.0  # worse than one of them is worse than the best
    _, missed = quality.judge(quality.summary(rows, {}))
    assert missed.value == pytest.approx(90 / 80)


def test_other_corpora_stay_with_the_run_that_they_are_of() -> None:
    before = {
        "machine": {"date": "2026-01-02T03:04:05", "commit": "abc with changes"},
        "summary": [{"corpus": "20news", "seeds": 3}, {"corpus": "ap", "seeds": 9}],
    }
    parts = {
        "summary": [{"corpus": "20news", "seeds": 10}],
        "runs": [{"corpus": "20news", "date": "2026-02-03", "commit": "def"}],
        "samples": [],
    }
    whole = quality.together(parts, before, ["20news"])
    assert whole["summary"] == [{"corpus": "ap", "seeds": 9}, {"corpus": "20news", "seeds": 10}]
    older = {"corpus": "ap", "date": "2026-01-02", "commit": "abc"}
    assert whole["runs"] == [older, *parts["runs"]]
    # Once more: what was put together before keeps its own date.
    new = {"corpus": "cranfield", "date": "2026-03-04", "commit": "fff"}
    again = quality.together({"runs": [new]}, before | whole, ["cranfield"])
    assert again["runs"] == [new, older, *parts["runs"]]
    assert quality.together({"runs": [new]}, {}, ["cranfield"])["runs"] == [new]


def test_ours_is_judged_by_what_needs_no_topics() -> None:
    table = quality.summary([row("isotherm", 0, 90.0)], {})
    bare = [{"corpus": "ap", "model": "no topics: unigram", "perplexity": 99.0}]
    bare += [{"corpus": c, "model": no_topics.REPEATS, "perplexity": 80.0} for c in ("ap", "b")]
    (target,) = quality.judge(table, bare)
    assert target.name == "ap: perplexity, ours / " + no_topics.REPEATS
    assert target.value == pytest.approx(90 / 80)
    assert not target.met


def test_repeats_are_predicted_without_topics() -> None:
    rng = np.random.default_rng(0)
    own = rng.integers(0, 200, (300, 5))  # every document has five words of its own
    rows = np.array([rng.multinomial(60, np.bincount(w, minlength=200) / 5) for w in own])
    given = completion.parts(Counts(rows), 0)
    unigram, repeats = no_topics.score(given).values()
    assert unigram["chosen"] == "g = 0"
    assert unigram["perplexity"] == pytest.approx(200, rel=0.1)
    assert repeats["perplexity"] < 6
    # By hand: the first document's second half, at the share that was chosen.
    halves = no_topics.Halves(given.test, np.full(200, 0.005))
    first, second = (half.matrix.toarray() for half in given.test)
    p = 0.5 * 0.005 + 0.5 * first / first.sum(axis=1, keepdims=True)
    expected = np.exp(-(second * np.log(p)).sum() / second.sum())
    assert halves.perplexity("g", 0.5) == pytest.approx(expected)
    assert halves.perplexity("mu", 1e-9) != pytest.approx(expected)
    empty = no_topics.Halves((Counts([[1, 0]]), Counts([[1, 1]])), 0.5 * np.ones(2))
    assert empty.perplexity("g", 0.0) == pytest.approx(2.0)


def test_own_words_are_added_to_the_topics_of_any_model() -> None:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.ones(100), 3)
    rows = np.array(
        [rng.multinomial(40, rng.dirichlet(np.full(3, 0.3)) @ topics) for _ in range(300)]
    )
    own = rng.integers(0, 100, 300)
    rows[np.arange(300), own] += 15
    given = completion.parts(Counts(rows), 0)
    assert given.train.shape[1] == 100
    plain = completion.score(topics, np.ones(3), given)
    found = own_words.score(topics, np.ones(3), given)
    assert found.own >= 0.2
    assert found.perplexity < 0.8 * plain.perplexity
    # Without own words it is the same protocol.
    table, prior = np.ascontiguousarray(topics.T), np.full(3, 1 / 3)
    halves = own_words.Halves(given.test, table, prior)
    background = np.full(100, 0.01)
    (same,) = halves.perplexities(1.0, 0.0, background, (0.1,)).values()
    folded = completion.fold(table, prior, given.test[0], 1.0)
    predicted = completion._predicted(table, folded, given.test[1])
    assert same == pytest.approx(completion._perplexity(predicted, given.test[1], background, 0.1))


def test_ours_with_own_words_is_not_a_peer() -> None:
    rows = [
        row("isotherm", 0, 90.0),
        row("isotherm-own-words", 0, 95.0),
        row("sklearn-lda", 0, 99.0),
    ]
    target, *_ = quality.judge(quality.summary(rows, {}))
    assert target.name == "ap: perplexity, ours / best peer's (scikit-learn LDA)"
    assert target.value == pytest.approx(90 / 99)


def test_settings_of_models_that_are_left_out_stay() -> None:
    before = {"settings": [{"model": "BERTopic", "version": "1", "settings": "defaults"}]}
    found = quality.all_settings(["isotherm"], before)
    assert [one["model"] for one in found] == ["isotherm AspectModel", "BERTopic"]
