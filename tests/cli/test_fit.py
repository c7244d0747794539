"""`isotherm fit`: runs, and going on with them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import AspectModel, Counts, cli, count_words, load
from isotherm.cli import models, runs

FILES = ["counts.iso", "documents.jsonl.gz", "model.iso", "run.json"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def arrays(model: Any) -> dict[str, Any]:
    found = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


def same(one: Any, other: Any) -> None:
    assert arrays(one).keys() == arrays(other).keys() > {"components_", "row_weights_"}
    for name, value in arrays(one).items():
        np.testing.assert_array_equal(value, arrays(other)[name])
    assert one.temperature_ == other.temperature_
    assert [r.free_energy for r in one.trace_] == [r.free_energy for r in other.trace_]


def test_a_run_holds_the_fit_of_the_library(grown: Path, stories: Path) -> None:
    # Whoever looked at the shared run before may have left its maps there.
    assert [name for name in names(grown) if not name.startswith("map")] == FILES
    counts = count_words(stories, stop_words="english").counts
    expected = AspectModel("auto", random_state=0).fit(counts)
    model = load(grown / "model.iso")
    same(model, expected)
    assert model.get_params() == expected.get_params()
    assert (Counts.load(grown / "counts.iso").matrix != counts.matrix).nnz == 0
    run = runs.open_run(grown)
    assert run.documents.titles[1] == "money story 1"
    assert run.labels == ["sea", "money", "sport"] * 20


def test_what_is_said_at_the_end(stories: Path, tmp_path: Path, say: Any) -> None:
    out = tmp_path / "a.run"
    text = say("fit", stories, "--topics", "2", "--seed", "3", "-o", out)
    said, topics, quality, todo = text.split("\n\n")
    first, *read, head, again, counted = said.splitlines()
    topic = topics.splitlines()[0]
    assert read[0] == "60 documents from 1 file of JSON lines"
    assert read[1] == "  text from 'text'; names: 'id'; fields: title, kind"
    assert again == f"read: {read[0]}"
    assert re.fullmatch(r"counted: 30 different words, [\d,]+ words in all", counted)
    assert first.startswith(f"{stories}: 60 documents, 30 words, ")
    assert head.startswith(f"{out}: 2 topics of 60 documents (AspectModel, ")
    assert quality.startswith("Perplexity of held-out words (lower is better): ")
    assert todo.splitlines()[0] == f"next: isotherm topics {out}"
    model = load(out / "model.iso")
    assert (model.n_components, model.random_state) == (2, 3)
    best = int(model.weights_.argmax())
    name, words = model.names_[best], model.top_words(8)[best]
    assert topic.split("%")[1].split() == [
        *name.split(),
        *(word for word in words if word not in name.split(", ")),
    ]
    assert f"next: isotherm topics {out}" in text
    assert say.err == ""
    found = say("fit", stories, "--topics", "2", "--seed", "3", "-o", out, "--force", "--json")
    assert [one["topic"] for one in found["topics"]] == [best, 1 - best]
    assert found["temperature"] == model.temperature_
    same(load(out / "model.iso"), model)
    assert names(tmp_path) == ["a.run"]


def test_why_there_are_so_many_topics_is_said(
    grown: Path, stories: Path, tmp_path: Path, say: Any
) -> None:
    out = tmp_path / "a.run"
    text = say("fit", stories, "-o", out)
    assert all(len(line) <= 80 for line in text.split("\n\n")[1].splitlines())
    model = load(out / "model.iso")
    K = model.n_components_
    table = text.split("\n\n")[1].splitlines()
    assert table[0] == "topics  found again in the other half  perplexity"
    assert table[1].split()[:3] == ["=>", str(K), str(K)]
    assert f"{K} is the finest level at which all topics are found again" in text
    found = say("fit", stories, "-o", out, "--force", "--json")
    assert found["levels"][0]["topics"] == found["levels"][0]["found_again"] == K
    known = found["perplexity"]
    assert known["topics"] == pytest.approx(found["levels"][0]["perplexity"])
    assert known["topics"] < known["unigram"]
    alone = say("fit", stories, "-o", out, "--force", "--topics", "predict", "--json")
    assert "levels" not in alone
    assert len(alone["topics"]) == model.levels_[-1].n_components


def test_counts_and_runs_are_sources(
    stories: Path, grown: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    counts = tmp_path / "a.counts"
    say("count", stories, "-o", counts, "--stop-words", "none", "--min-length", "3")
    say("fit", counts, "--topics", "2", "-o", tmp_path / "a.run")
    run = runs.open_run(tmp_path / "a.run")
    # How the words were counted is known, though the fit was not told.
    assert (run.settings["stop_words"], run.settings["min_length"]) == ("none", 3)
    assert "the" in run.words
    assert run.documents.titles[0] == "sea story 0"
    say("fit", grown, "--model", "clusters", "--topics", "3", "-o", tmp_path / "b.run")
    assert runs.open_run(tmp_path / "b.run").counts.shape == (60, 30)
    assert "comes too late" in fails("fit", counts, "--min-df", "2", "-o", tmp_path / "c.run")


@pytest.mark.parametrize("model", list(models.KINDS))
def test_every_model_fits(model: str, stories: Path, tmp_path: Path, say: Any) -> None:
    out = tmp_path / "a.run"
    found = say("fit", stories, "--model", model, "--topics", "2", "-o", out, "--json")
    assert len(found["topics"]) == 2
    assert found["model"] == models.KINDS[model].name
    assert say("topics", out, "--json")[0]["words"][:8] == found["topics"][0]["words"]


@pytest.mark.parametrize("number", ["2", "auto"])
def test_clusters_alone_are_a_model_of_their_own(
    number: str, stories: Path, tmp_path: Path, say: Any
) -> None:
    out = tmp_path / "a.run"
    found = say("fit", stories, "--clusters", number, "-o", out, "--json")
    assert found["model"] == "OneSidedClustering"
    model = runs.open_run(out).model
    assert model.n_components == (number if number == "auto" else int(number))
    assert model.weighting == "damped"
    assert len(found["topics"]) == model.n_components_
    again = say("fit", stories, "--clusters", number, "-o", out, "--resume", "--json")
    assert again["topics"] == found["topics"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--labels", "kin"], "no field 'kin' (did you mean 'kind'?)"),
        (["--model", "pcp", "--topics", "auto"], "give a number"),
        (["--clusters", "3", "--model", "aspect"], "--clusters with --model aspect"),
        (["--clusters", "3", "--topics", "4"], "give one of the two"),
        (["--clusters", "auto", "--model", "pcp"], "give a number"),
        (["--min-df", "1000"], "no word could stay"),
    ],
)
def test_what_cannot_be_fitted_leaves_nothing(
    words: list[str], message: str, stories: Path, tmp_path: Path, fails: Any
) -> None:
    assert message in fails("fit", stories, "-o", tmp_path / "a.run", *words, "--json")
    assert names(tmp_path) == []


def test_a_fit_that_fails_leaves_nothing(
    stories: Path, tmp_path: Path, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: Any, X: Any) -> None:
        from isotherm import IsothermError

        assert names(tmp_path) == ["a.run.unfinished"]
        raise IsothermError("cannot")

    monkeypatch.setattr(AspectModel, "fit", failing)
    assert "cannot" in fails("fit", stories, "-o", tmp_path / "a.run", "--json")
    assert names(tmp_path) == []


def test_nothing_is_replaced_without_force(stories: Path, grown: Path, fails: Any) -> None:
    before = (grown / "model.iso").read_bytes()
    assert "is there already" in fails("fit", stories, "-o", grown)
    assert (grown / "model.iso").read_bytes() == before


KILLED = """
import os, signal, sys
from isotherm import cli
from isotherm.io import checkpoint
from isotherm.io.checkpoint import File
checkpoint.SHARE = 1e9  # a checkpoint at every sweep, however long writing takes
write, left = File.write, [int(sys.argv[1])]
def counted(self):
    write(self)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
File.write = counted
raise SystemExit(cli.main(sys.argv[3:]))
"""


def ended(writes: int, how: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command that gets a signal when it has written so many checkpoints."""
    command = [sys.executable, "-c", KILLED, str(writes), how, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
def test_a_killed_fit_goes_on_to_the_same_result(
    stories: Path, grown: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    out = tmp_path / "a.run"
    words = ["fit", stories, "-o", out, "--labels", "kind", "--checkpoint-every", "0"]
    assert ended(40, "SIGKILL", *words).returncode == -signal.SIGKILL
    assert names(tmp_path) == ["a.run.unfinished"]
    assert "fit.checkpoint" in names(tmp_path / "a.run.unfinished")
    assert "--resume" in fails(*words)
    assert "is not done" in fails("topics", tmp_path / "a.run.unfinished")
    assert "--seed (was 0)" in fails("fit", stories, "-o", out, "--resume", "--seed", "1")
    other = stories.with_name("others.jsonl")
    assert "SOURCE (was" in fails("fit", other, "-o", out, "--resume")
    # Killed once more on the way, and later.
    assert ended(60, "SIGKILL", *words, "--resume").returncode == -signal.SIGKILL
    said = say("fit", stories, "-o", out, "--resume", "-v", "--json")
    assert "goes on at T =" in say.err
    assert said["run"] == str(out)
    assert names(tmp_path) == ["a.run"]
    assert names(out) == FILES
    same(load(out / "model.iso"), load(grown / "model.iso"))


def test_an_interrupt_keeps_the_best_model_and_can_be_resumed(
    stories: Path, grown: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    out = tmp_path / "a.run"
    words = ["fit", stories, "-o", out, "--labels", "kind", "--checkpoint-every", "0"]
    run = ended(60, "SIGINT", *words)
    assert run.returncode == 130
    assert "--resume goes on" in run.stderr
    assert "Traceback" not in run.stderr
    assert names(tmp_path) == ["a.run"]
    assert names(out) == sorted([*FILES, "fit.checkpoint"])
    kept = load(out / "model.iso")
    assert len(kept.trace_) < len(load(grown / "model.iso").trace_)
    assert "interrupted" in say("info", out)
    assert say("topics", out)
    # What was done by hand is not lost unless it is said that it may be.
    say("edit", out, "rename", "0", "a name")
    assert "were edited" in fails("fit", stories, "-o", out, "--resume")
    assert load(out / "model.iso").names_[0] == "a name"
    say("fit", stories, "-o", out, "--resume", "--force")
    assert runs.read(out).about["edits"] == 0
    same(load(out / "model.iso"), load(grown / "model.iso"))
    assert names(out) == FILES
    assert names(tmp_path) == ["a.run"]


def test_resuming_what_is_done_or_not_begun(stories: Path, tmp_path: Path, say: Any) -> None:
    out = tmp_path / "a.run"
    first = say("fit", stories, "-o", out, "--topics", "2", "--resume", "--json")
    before = (out / "model.iso").stat().st_mtime_ns
    again = say("fit", stories, "-o", out, "--resume", "--json")
    assert "is done" in say.err
    assert again["topics"] == first["topics"]
    assert (out / "model.iso").stat().st_mtime_ns == before
    # A folder that was left before its fit began is nothing to go on with.
    work = tmp_path / "b.run.unfinished"
    runs.mark(work, replaces=False)
    (work / "counts.iso").write_bytes(b"half")
    say("fit", stories, "-o", tmp_path / "b.run", "--topics", "2")
    assert names(tmp_path) == ["a.run", "b.run"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
@pytest.mark.parametrize("wait", [0.0, 0.1])
def test_a_killed_count_leaves_old_or_new(stories: Path, tmp_path: Path, wait: float) -> None:
    out = tmp_path / "a.counts"
    assert cli.main(["count", str(stories), "-o", str(out), "--json"]) == 0
    old = Counts.load(out)
    code = (
        "import sys\nfrom isotherm import cli\nimport isotherm.text.ingest, isotherm.io.store\n"
        "print('go', flush=True)\n"
        "while True:\n    cli.main(sys.argv[1:])\n"
    )
    words = ["count", str(stories), "-o", str(out), "--force", "--ngrams", "2", "--json"]
    with subprocess.Popen([sys.executable, "-c", code, *words], stdout=subprocess.PIPE) as run:
        assert run.stdout
        run.stdout.readline()
        time.sleep(wait)
        os.kill(run.pid, signal.SIGKILL)
        run.stdout.read()
    found = Counts.load(out)
    assert found.n_rows == 60
    assert found.n_columns == old.n_columns or found.n_columns > 100
    # What the killed process left goes with the next one.
    assert cli.main([*words]) == 0
    assert names(tmp_path) == ["a.counts", "a.counts.documents.jsonl.gz"]


def test_a_damaged_run_is_told(grown: Path, tmp_path: Path, fails: Any) -> None:
    broken = tmp_path / "a.run"
    broken.mkdir()
    for name in FILES:
        (broken / name).write_bytes((grown / name).read_bytes())
    (broken / "model.iso").write_bytes((grown / "model.iso").read_bytes()[:-100])
    assert "damaged" in fails("topics", broken)
    about = json.loads((grown / "run.json").read_text())
    (broken / "run.json").write_text(json.dumps({**about, "version": 99}))
    assert "version 99" in fails("topics", broken)
    (broken / "run.json").write_text("{}")
    assert "is damaged" in fails("topics", broken)
