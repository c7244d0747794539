"""`isotherm edit`: topics of a run changed by hand, and what else the run keeps."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import cli, load
from isotherm.cli import edits, explorer, runs
from isotherm.cli.edits import Wanted
from isotherm.estimators.edits import fitted_values


@pytest.fixture(scope="module")
def fitted(stories: Path) -> Path:
    """A run of four topics, with stages."""
    run = stories.with_name("for-edits.run")
    words = ["fit", str(stories), "--topics", "4", "-o", str(run), "--labels", "kind", "--json"]
    assert cli.main(words) == 0
    return run


@pytest.fixture
def run(fitted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "a.run"))


def files(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir()}


def same(one: Any, other: Any) -> bool:
    """Whether two models are the same to the bit."""
    first, second = fitted_values(one), fitted_values(other)
    bits = [
        {
            name: value.tolist() if value.dtype == object else value.tobytes()
            for name, value in values.items()
            if isinstance(value, np.ndarray)
        }
        for values in (first, second)
    ]
    return first.keys() == second.keys() and bits[0] == bits[1] and one.names_ == other.names_


# What is done -------------------------------------------------------------------------------------


def test_every_edit_is_kept_and_taken_back(run: Path, say: Any) -> None:
    before = load(run / runs.MODEL)
    name = before.names_[1]
    assert say("edit", run, "rename", "1", "at  sea") == (
        f"rename 1 ({name}) to 1 (at sea)\n"
        f"   1  {100 * before.weights_[1]:5.1f} %  at sea\n"
        f"{run}: 4 topics; isotherm edit {run} undo takes back the last edit\n"
    )
    merged = say("edit", run, "merge", "AT SEA", "0", "--json")
    assert (merged["topics"], merged["edits"]) == (3, 2)
    assert [(one["topic"], one["was"]) for one in merged["changed"]] == [
        *((0, [0, 1]), (1, [2]), (2, [3]))
    ]
    assert merged["changed"][0]["name"] == "at sea"
    parts = say("edit", run, "split", "at sea", "--json")
    assert [(one["topic"], one["was"]) for one in parts["changed"]] == [(0, [0]), (3, [0])]
    say("edit", run, "pin", "1", "2")
    dropped = say("edit", run, "drop", "0", "--json")
    assert [(one["topic"], one["was"]) for one in dropped["changed"]] == [
        (0, [1]),
        (1, [2]),
        (2, [3]),
    ]
    model = load(run / runs.MODEL)
    assert model.pinned_ == (0, 1)
    assert [one.what for one in model.edits_] == ["rename", "merge", "split", "pin", "drop"]
    assert runs.read(run).about["topics"] == 3
    listed = say("edit", run, "list")
    assert listed.splitlines()[0] == f"{run}: 3 topics, 5 edits"
    assert listed.splitlines()[1] == f"  1. rename 1 ({name}) to 1 (at sea)"
    assert listed.splitlines()[-1].startswith("pinned: 0 (")
    assert say("edit", run, "list", "--json")["edits"][1]["topics"] == [1, 0]
    for number in (4, 3, 2, 1):
        assert say("edit", run, "undo", "--json")["edits"] == number
    last = say("edit", run, "undo")
    assert last.splitlines()[0] == f"undo rename 1 ({name}) to 1 (at sea)"
    assert last.splitlines()[-1] == f"{run}: 4 topics"
    assert same(load(run / runs.MODEL), before)
    assert runs.read(run).about["topics"] == 4


def test_a_topic_comes_apart_into_as_many_as_were_asked_for(run: Path, say: Any) -> None:
    say("edit", run, "merge", "0", "1", "2")
    assert say("edit", run, "split", "0", "--into", "3", "--json")["topics"] == 4


def test_dropped_and_split_topics_come_back_with_their_numbers(run: Path, say: Any) -> None:
    say("edit", run, "merge", "0", "1")
    say("edit", run, "split", "0")
    back = say("edit", run, "undo", "--json")["changed"]
    assert [(one["topic"], one["was"]) for one in back] == [(0, [0, 3])]
    say("edit", run, "drop", "1")
    back = say("edit", run, "undo", "--json")["changed"]
    assert [(one["topic"], one["was"]) for one in back] == [(0, [0]), (1, []), (2, [1])]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["merge", "3"], "merge was given 1 word behind it; give two topics or more"),
        (["rename", "3", "crude", "oil"], "rename was given 3 words behind it; give a topic and"),
        (["drop", "1", "2"], "drop was given 2 words behind it; give one topic"),
        (["undo", "1"], "undo was given 1 word behind it; give nothing more"),
        (["pin"], "pin was given nothing behind it"),
        (
            ["drop", "4"],
            "there is no topic 4; {run} has topics 0 to 3, which isotherm topics {run}",
        ),
        (["drop", "-1"], "there is no topic '-1'"),
        (["drop", "9" * 5000], "there is no topic '999"),
        (["rename", "oil", "gas"], "there is no topic 'oil'; {run} has topics 0 to 3"),
        (["merge", "1", "1"], "topic 1 was given twice"),
        (["merge", "1", "2", "--into", "3"], "--into is for split, and this is merge"),
        (["rename", "1", "7"], "the name '7' would be taken for the number of a topic"),
        (["rename", "1", " "], "it must be text of 1 to 80 letters"),
        (["rename", "1", "x" * 81], "it must be text of 1 to 80 letters"),
        (["split", "1", "--into", "9"], "topic"),
        (["undo"], "{run} has no edits: there is nothing to take back"),
    ],
)
def test_what_makes_no_sense_is_told(words: list[str], message: str, run: Path, fails: Any) -> None:
    before = files(run)
    assert message.format(run=run) in fails("edit", run, *words)
    assert files(run) == before


def test_wrong_usage_has_another_status(run: Path, fails: Any) -> None:
    assert "invalid choice: 'mrge'" in fails("edit", run, "mrge", "1", status=2)
    assert "'1' is no integer of at least 2" in fails(
        "edit", run, "split", "1", "--into", "1", status=2
    )


def test_names_that_are_taken_and_topics_that_stay(run: Path, say: Any, fails: Any) -> None:
    say("edit", run, "rename", "0", "sea")
    assert "topic 0 is called 'sea'; give topic 1 another name" in fails(
        "edit", run, "rename", "1", "sea"
    )
    assert "topic 0 is called 'sea' already" in fails("edit", run, "rename", "0", "sea")
    assert "did you mean 'sea'?" in fails("edit", run, "pin", "sae")
    say("edit", run, "pin", "sea")
    for words in (["merge", "1", "0"], ["split", "0"], ["drop", "0"]):
        assert "topic 0 (sea) is pinned, and stays as it is" in fails("edit", run, *words)
    assert "topic 0 (sea) is pinned already" in fails("edit", run, "pin", "0")
    say("edit", run, "rename", "0", "\x1b[31mred\x07 sea")
    assert load(run / runs.MODEL).names_[0] == "[31mred sea"


def test_models_that_take_names_alone(stories: Path, tmp_path: Path, say: Any, fails: Any) -> None:
    run = tmp_path / "two.run"
    say("fit", stories, "--model", "two-sided", "--topics", "2", "-o", run, "--json")
    assert "it can be edited by rename alone" in fails("edit", run, "merge", "0", "1")
    say("edit", run, "rename", "0", "first")
    assert "first" in say("edit", run, "list")


# What is kept -------------------------------------------------------------------------------------


def test_all_verbs_show_the_edited_topics(
    run: Path, stories: Path, tmp_path: Path, say: Any
) -> None:
    page = tmp_path / "page.html"
    say("map", run, "-o", page, "--dimensions", "2")
    (kept,) = run.glob("map2.*.map")
    say("edit", run, "rename", "0", "first of all")
    assert "first of all" in say("export", run, "-o", tmp_path / "t.csv") + (
        tmp_path / "t.csv"
    ).read_text(encoding="utf-8")
    say("map", run, "-o", page, "--dimensions", "2", "--force")
    assert kept.exists()  # the topics are the same
    say("edit", run, "merge", "1", "2")
    assert len(say("topics", run, "--json")) == 3
    leaves = say("tree", run)
    assert all(f"[{k}]" in leaves for k in range(3))
    assert "[3]" not in leaves
    found = say("search", run, "ship", "harbour", "-n", "3", "--json")["documents"]
    assert all(one["topic"] < 3 for hit in found for one in hit["topics"])
    assert say("eval", run, "--json")["perplexity"] > 1
    assert say("info", run, "--json")["topics"] == 3
    say("export", run, "--what", "documents", "-o", tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_text(encoding="utf-8").splitlines()[0].count("topic") >= 3
    say("map", run, "-o", page, "--force")
    (again,) = run.glob("map2.*.map")
    assert again != kept
    assert load(again).topic_weights.shape == (60, 3)
    say("view", run, "-o", page, "--no-open")
    say("map", run, "-o", tmp_path / "m.map")
    assert load(tmp_path / "m.map").topic_weights.shape == (60, 3)


def test_splits_are_of_the_topics_of_the_fit(
    grown: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    run = Path(shutil.copytree(grown, tmp_path / "g.run"))
    before = say("tree", run, "--splits")
    say("edit", run, "merge", "0", "1")
    assert "were edited, and its splits are of the topics that the fit had" in fails(
        "tree", run, "--splits"
    )
    say("edit", run, "undo")
    assert say("tree", run, "--splits") == before


def test_stages_of_the_fit_are_told_in_topics_of_the_edited_model(run: Path, say: Any) -> None:
    from isotherm.viewer.parts.stages import _of_stage

    stages = explorer.stages_of(runs.open_run(run))
    assert stages is not None
    last = stages.kept[-1]
    say("edit", run, "merge", "0", "1")
    say("edit", run, "split", "0")  # as many topics as before, with other numbers
    say("edit", run, "drop", "0")
    say("edit", run, "merge", "0", "1")
    found = runs.open_run(run)
    moment = _of_stage(found.model, last)
    assert set(moment.owner.tolist()) <= set(range(len(found.model.weights_)))
    assert explorer.explorer_of(found, [explorer.map_of(found, 2, _options(run))]).points.meta[
        "stages"
    ]


def _options(run: Path) -> Any:
    from isotherm.cli import parser
    from isotherm.cli.verbs import view

    return parser.parsed("view", view.add_arguments, [str(run)])


# Nothing is lost ----------------------------------------------------------------------------------


def test_a_run_that_is_at_work_is_left_alone(run: Path, say: Any, fails: Any) -> None:
    before = files(run)
    with runs.holding(run):
        said = fails("edit", run, "rename", "0", "sea")
        assert said == (
            f"isotherm: error: another process is at work in {run}; wait until it is done\n"
        )
    assert files(run) == before
    say("edit", run, "rename", "0", "sea")


def test_edits_at_the_same_time_are_one_after_the_other(run: Path) -> None:
    words = [sys.executable, "-m", "isotherm", "edit", str(run), "rename"]
    both = [
        subprocess.Popen([*words, str(k), f"name of {k}"], stderr=subprocess.PIPE, text=True)
        for k in (0, 1)
    ]
    said = [one.communicate(timeout=120)[1] for one in both]
    done = [k for k, one in enumerate(both) if one.returncode == 0]
    assert done
    assert all("another process is at work" in said[k] for k in (0, 1) if k not in done)
    model = load(run / runs.MODEL)
    assert len(model.edits_) == len(done)
    assert all(model.names_[k] == f"name of {k}" for k in done)


@pytest.mark.parametrize("where", ["model", "about"])
def test_a_full_disk_leaves_the_run_as_it_was(
    where: str, run: Path, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isotherm.format import archive

    def full(*given: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    before = files(run)
    if where == "model":
        monkeypatch.setattr(archive, "_write_array", full)
    else:
        monkeypatch.setattr(Path, "write_text", full)
    monkeypatch.setattr("isotherm.cli.runs.open_run", _opened(runs.open_run(run)))
    assert "No space left on device; make room there" in fails("edit", run, "merge", "0", "1")
    monkeypatch.undo()
    assert files(run) == before


def _opened(found: Any) -> Any:
    """Gives a run that was read before there was no room."""
    assert found.model
    return lambda path: found


def test_a_process_that_is_killed_leaves_the_run_as_it_was(run: Path, say: Any) -> None:
    before = files(run)
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom isotherm import cli\n"
        "Path.replace = lambda self, target: os._exit(9)\n"
        "cli.main(sys.argv[1:])"
    )
    words = [sys.executable, "-c", code, "edit", str(run), "merge", "0", "1"]
    assert subprocess.run(words, check=False).returncode == 9
    left = files(run)
    assert {name: left[name] for name in before} == before
    assert all(name.endswith((".part.iso", ".part.json")) for name in left.keys() - before.keys())
    say("edit", run, "merge", "0", "1")
    assert set(files(run)) == set(before)


def test_an_edited_run_is_not_lost_by_going_on_with_its_fit(
    run: Path, stories: Path, say: Any, fails: Any
) -> None:
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**about, "interrupted": True}))
    (run / "fit.checkpoint").write_bytes(b"")
    say("edit", run, "rename", "0", "sea")
    assert "was interrupted; going on with it would lose the edits" in say.err
    said = fails("fit", stories, "-o", run, "--resume")
    assert f"the topics of {run} were edited" in said
    assert load(run / runs.MODEL).names_[0] == "sea"


def test_what_is_no_run_or_not_done(run: Path, tmp_path: Path, fails: Any) -> None:
    (run / runs.MODEL).unlink()
    assert "is not done; isotherm fit" in fails("edit", run, "undo")
    assert "is no run" in fails("edit", tmp_path, "list")


def test_an_edit_may_be_refused_before_it_is_kept(run: Path) -> None:
    before = files(run)

    def refuse(model: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        edits.edit(run, lambda found: Wanted("merge", (0, 1)), refuse)
    assert files(run) == before
    assert os.listdir(run)
