"""The list of benchmarks is what the folders and the tables have, and the runner runs it."""

import sys
from pathlib import Path

import pytest

from benchmarks import registry, run
from benchmarks.harness import common
from benchmarks.registry import BENCHMARKS, KNOWN, README, TOOLS, Benchmark
from benchmarks.scale import out_of_core
from benchmarks.speed import gtm_speed

# What is imported, not run.
PARTS = {"page/parts.py", "page/curves.py", "page/glance.py"} | {
    f"page/{name}.py" for name in ("maps", "scale", "topics")
}


def test_every_benchmark_is_listed_once() -> None:
    root = README.parent
    files = {path.relative_to(root).as_posix() for path in root.rglob("[a-z]*.py")}
    aside = {path for path in files if path.startswith(("harness/", "peers/"))}
    listed = [one.path for one in (*BENCHMARKS, *TOOLS)]
    assert sorted(listed) == sorted(files - aside - PARTS - {"run.py", "registry.py"})
    assert len(KNOWN) == len(listed)


def test_the_readme_has_the_tables() -> None:
    text = README.read_text(encoding="utf-8")
    assert registry.written(text) == text, "run: python benchmarks/run.py --write"
    assert text.count("\n| `") >= len(KNOWN)


def test_only_the_tables_of_the_readme_are_written() -> None:
    tables = ("benchmarks", "tools")
    marks = [f"<!-- {name}: {end} -->" for name in tables for end in ("begin", "end")]
    text = registry.written("a\n{}\nstale words\n{}\nb\n{}\n{}\nc".format(*marks))
    assert text.startswith("a\n" + marks[0])
    assert text.endswith(marks[3] + "\nc")
    assert "stale words" not in text
    assert "| `same_fits.py` |" in text.partition(marks[2])[2]
    with pytest.raises(ValueError, match="benchmarks: end"):
        registry.written(marks[0])


def test_what_there_is_is_shown() -> None:
    one = Benchmark("kernels", "speed", "How fast?", "`ap`", "4 minutes", "a `peer`")
    assert run.shown((one,)) == "kernels  (4 minutes; data: ap; needs: a peer)\n    How fast?"
    assert one.module == "benchmarks.speed.kernels"
    assert one._replace(folder="").module == "benchmarks.kernels"


def test_a_module_that_runs_itself_again_is_the_one_that_is_listed() -> None:
    for module, name in ((gtm_speed, "gtm_speed"), (out_of_core, "out_of_core")):
        assert common.command(module.__file__)[1:] == ["-m", KNOWN[name].module]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Three benchmarks: one that fails, one that lacks something, one that is run twice."""
    for name, source in (
        ("bad", "raise SystemExit(3)"),
        ("good", "import sys; print('well', *sys.argv[1:])"),
        ("poor", "import os; raise SystemExit(os.EX_UNAVAILABLE)"),
        ("__init__", ""),
    ):
        path = tmp_path / "benchmarks" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    listed = [Benchmark(name, "", "?", "none", "a second") for name in ("bad", "poor", "good")]
    listed[2] = listed[2]._replace(again=("--once", "more"))
    monkeypatch.setattr(run, "BENCHMARKS", tuple(listed))
    monkeypatch.setattr(run, "KNOWN", {one.name: one for one in listed})
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.chdir(tmp_path)


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["run.py", *words])
    return run.main()


@pytest.mark.usefixtures("few")
def test_the_runner_goes_on_after_a_failure(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, "all") == 1
    printed = capfd.readouterr().out
    assert "bad: FAILED with code 3" in printed
    assert "poor: not run" in printed
    assert "well\n" in printed
    assert "well --once more\n" in printed
    assert printed.strip().endswith("NOT RUN, see why above: poor\nFAILED: bad")


@pytest.mark.usefixtures("few")
def test_arguments_are_for_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, "good", "--seeds", "2") == 0
    printed = capfd.readouterr().out
    assert "well --seeds 2\n" in printed
    assert "--once" not in printed
    for words in (("good", "bad", "--quick"), ("all", "--quick"), ("absent",)):
        with pytest.raises(SystemExit):
            called(monkeypatch, *words)
