"""Full disks, other processes, interrupts, and kills in the worst moment."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from isotherm import AspectModel, Counts, errors, load
from isotherm.cli import models, runs, suggest
from isotherm.cli.verbs import fit

FILES = ["counts.iso", "documents.jsonl.gz", "model.iso", "run.json"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="no such limits on this system")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Little memory -----------------------------------------------------------------------------------

CRAMPED = """
import resource, sys
import isotherm
from isotherm import cli
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 20_000_000,) * 2)
for _ in range(2):
    try:
        isotherm.AspectModel
    except MemoryError as error:
        print(error)
print(cli.main(["fit", sys.argv[1]]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_too_little_memory_for_the_libraries_is_one_line(stories: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CRAMPED, str(stories)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=env)
    first, second, status = run.stdout.splitlines()
    assert first == second
    assert "not enough memory to load the libraries" in first
    assert "limited to" in first
    assert "raise the limit" in first
    assert status == "1"
    (line,) = run.stderr.splitlines()
    assert line.startswith("isotherm: error: there is not enough memory")
    assert "raise the limit" in line


def test_errors_of_libraries_are_told_from_those_of_memory(monkeypatch: Any) -> None:
    limit = "memory is limited to 1 MB: raise the limit"
    missing = ModuleNotFoundError("No module named 'numba'")
    for now in ("", limit):
        monkeypatch.setattr(errors, "memory_limit", lambda now=now: now)
        assert errors.unloaded(missing) is None
        assert errors.unloaded(OSError("cannot identify image file")) is None
        assert "not enough memory" in str(errors.unloaded(ImportError("failed to map segment")))
        assert (errors.unloaded(OSError("no shared object file")) is None) == (not now)
        assert (errors.unloaded(ImportError("numpy failed")) is None) == (not now)


# Full disks --------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
from isotherm import cli
import isotherm.text.ingest, isotherm.io.store, isotherm.estimators.aspect
cli.main(["count", sys.argv[2], "-o", sys.argv[3], "--json"])  # compiles what is not compiled yet
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
for more in (["-o", "a.counts", "--force"], ["-o", "b.counts"]):
    print(cli.main(sys.argv[4:] + more))
"""


@POSIX
def test_a_count_that_cannot_be_written_leaves_nothing(
    stories: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, say: Any
) -> None:
    spare = tmp_path_factory.mktemp("spare") / "a.counts"
    out = tmp_path / "a.counts"
    say("count", stories, "-o", out, "--keep", "none")
    beside = out.with_name(out.name + ".documents.jsonl.gz")
    small, large = sorted((out.stat().st_size, beside.stat().st_size))
    assert large == out.stat().st_size > small + 1000
    before = [out.read_bytes(), beside.read_bytes()]
    # The documents fit, the counts do not.
    words = ("count", str(stories), "--keep", "none", "--min-df", "2")
    command = [sys.executable, "-c", LIMITED, str(small + 500), str(stories), str(spare), *words]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=env)
    assert run.stdout.splitlines()[-2:] == ["1", "1"]
    said = [f"isotherm: error: {name}.counts: File too large" for name in "ab"]
    assert run.stderr.splitlines() == said
    assert before == [out.read_bytes(), beside.read_bytes()]
    assert names(tmp_path) == [out.name, beside.name]


def test_a_model_that_cannot_be_written_can_be_gone_on_with(
    stories: Path, grown: Path, tmp_path: Path, fails: Any, say: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def full(self: Any, path: Path) -> None:
        raise OSError(28, "No space left on device", str(path))

    out = tmp_path / "a.run"
    words = ["fit", stories, "-o", out, "--labels", "kind"]
    with monkeypatch.context() as patch:
        patch.setattr(AspectModel, "save", full)
        from isotherm import cli

        assert cli.main([*map(str, words), "--checkpoint-every", "0"]) == 1
    assert names(tmp_path) == ["a.run.unfinished"]
    assert "fit.checkpoint" in names(tmp_path / "a.run.unfinished")
    assert "was left unfinished" in fails(*words)
    say(*words, "--resume")
    found, expected = load(out / "model.iso"), load(grown / "model.iso")
    assert (found.components_ == expected.components_).all()
    # Without a checkpoint there is nothing to keep.
    monkeypatch.setattr(AspectModel, "fit", lambda self, X: full(self, Path("x")))
    assert "x: No space left on device; make room" in fails(
        *words[:2], "-o", tmp_path / "b.run", "--json"
    )
    assert names(tmp_path) == ["a.run"]


def test_folders_that_cannot_be_written_to_are_told_before_any_work(
    stories: Path, tmp_path: Path, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(suggest.os, "access", lambda path, mode: Path(path) != tmp_path)
    monkeypatch.setattr("isotherm.cli.verbs.count.count_source", never)
    monkeypatch.setattr("isotherm.cli.verbs.fit.count_source", never)
    for words in (["count", stories, "-o", tmp_path / "a"], ["fit", stories, "-o", tmp_path / "b"]):
        assert f"the folder {tmp_path} of" in fails(*words)


# Interrupts and kills ----------------------------------------------------------------------------


def test_an_interrupt_before_the_first_checkpoint_leaves_nothing(
    stories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isotherm import cli

    def interrupted(*given: Any) -> None:
        assert names(tmp_path) == ["a.run.unfinished"]
        raise KeyboardInterrupt

    for place in ((models, "made"), (AspectModel, "fit")):
        with monkeypatch.context() as patch:
            patch.setattr(*place, interrupted)
            assert cli.main(["fit", str(stories), "-o", str(tmp_path / "a.run")]) == 130
        assert names(tmp_path) == []


@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize("old", [False, True])
def test_killed_right_before_the_run_gets_its_name(
    told: bool, old: bool, grown: Path, stories: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    out, work = tmp_path / "a.run", tmp_path / "a.run.unfinished"
    work.mkdir()
    for name in FILES:
        (work / name).write_bytes((grown / name).read_bytes())
    about = json.loads((work / "run.json").read_text())
    assert (about["interrupted"], about["topics"]) == (False, 3)
    if not told:
        del about["interrupted"], about["topics"], about["fit_seconds"]
        (work / "run.json").write_text(json.dumps(about))
    if old:
        (tmp_path / "a.run.old").mkdir()  # somebody's own
    found = say("fit", stories, "-o", out, "--resume", "--json")
    assert found["run"] == str(out)
    assert len(found["topics"]) == 3
    assert names(tmp_path) == ["a.run", "a.run.old"][: 1 + old]
    assert names(out) == FILES
    assert say("info", out, "--json")["state"] == "done"


# Others at work ----------------------------------------------------------------------------------


@POSIX
def test_two_processes_do_not_work_in_the_same_folder(
    stories: Path, tmp_path: Path, fails: Any, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, work = tmp_path / "a.run", tmp_path / "a.run.unfinished"
    runs.mark(work, replaces=False)
    (work / "counts.iso").write_text("of another process")
    words = ["fit", stories, "-o", out, "--topics", "2", "--json"]
    with runs.holding(work):
        for more in ([], ["--force"], ["--resume"]):
            assert f"another process is at work in {work}" in fails(*words, *more)
    assert (work / "counts.iso").read_text() == "of another process"
    # One that began while the words were counted.
    counted, held = fit._read, []

    def late(*given: Any) -> Any:
        held.append(runs.holding(work))
        held[0].__enter__()
        return counted(*given)

    with monkeypatch.context() as patch:
        patch.setattr(fit, "_read", late)
        assert "another process is at work" in fails(*words)
    held[0].__exit__(None, None, None)
    assert (work / "counts.iso").read_text() == "of another process"
    say(*words)
    assert names(tmp_path) == ["a.run"]


@POSIX
def test_a_run_that_is_gone_on_with_is_held(
    grown: Path, stories: Path, tmp_path: Path, fails: Any
) -> None:
    with runs.holding(grown):
        assert "another process is at work" in fails("fit", stories, "-o", grown, "--resume")


def test_a_lock_ends_with_its_fit(stories: Path, tmp_path: Path, say: Any, fails: Any) -> None:
    out = tmp_path / "a.run"
    for _ in range(2):
        say("fit", stories, "-o", out, "--topics", "2", "--force")
        with runs.holding(out):
            assert runs.open_run(out).finished
            said = fails("fit", stories, "-o", out, "--topics", "2", "--resume")
            assert "another process is at work" in said


# What is no source -------------------------------------------------------------------------------


def test_what_is_counted_already_is_no_source_of_documents(
    grown: Path, tmp_path: Path, fails: Any
) -> None:
    said = fails("count", grown, "-o", tmp_path / "a.counts")
    assert f"{grown} is a run, not documents" in said
    assert "isotherm fit takes" in fails("count", grown / "counts.iso", "-o", tmp_path / "a.counts")
    cut = tmp_path / "cut.counts"
    cut.write_bytes((grown / "counts.iso").read_bytes()[:500])
    for verb in ("count", "fit", "info"):
        assert "cut off" in fails(verb, cut)
    assert names(tmp_path) == ["cut.counts"]


def test_one_document_is_one(tmp_path: Path, say: Any) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"text": "ships sail"}\n{"text": "of"}\n')
    assert "1 document without any word" in say("count", source, "-o", tmp_path / "a.counts")
    assert Counts.load(tmp_path / "a.counts").n_rows == 2


# Labels ------------------------------------------------------------------------------------------


def test_models_of_linked_documents_take_labels(
    stories: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    entries = [json.loads(line) for line in stories.read_text().splitlines()]
    for i, entry in enumerate(entries):
        entry["some"] = [entry["kind"], None, ""][i // 3 % 3]
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    words = ["fit", source, "--model", "lap-plsi", "--topics", "3"]
    plain, guided = tmp_path / "a.run", tmp_path / "b.run"
    say(*words, "-o", plain, "--labels", "some")
    say(*words, "-o", guided, "--supervise", "some")
    graph = load(guided / "model.iso").graph_.toarray() > 0
    known = [i for i, entry in enumerate(entries) if entry["some"]]
    kinds = [entry["kind"] for entry in entries]
    assert len(known) == 21
    assert all(graph[i, j] == (kinds[i] == kinds[j]) for i in known for j in known if i != j)
    without = load(plain / "model.iso").graph_.toarray() > 0
    assert without.sum() < graph.sum()
    say("fit", guided, "-o", tmp_path / "c.run", "--topics", "2")
    assert runs.open_run(tmp_path / "c.run").settings["supervise"] is None
    assert "it is for dtm, lap-plsi, ltm" in fails("fit", source, "--supervise", "some")
    assert "no field 'sum'" in fails(
        *words, "--supervise", "sum", "-o", tmp_path / "d.run", "--json"
    )
