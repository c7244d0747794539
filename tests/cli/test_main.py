"""The command line as a whole: verbs, help, errors, pipes."""

import argparse
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import isotherm
from isotherm import cli
from isotherm.cli import console

HEAVY = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "skimage", "pandas")


@pytest.mark.parametrize("words", [["--help"], *([verb, "--help"] for verb in cli.VERBS)])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    code = (
        f"import sys\nfrom isotherm import cli\n"
        f"try:\n    cli.main({words!r})\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *said, heavy = run.stdout.splitlines()
    assert heavy == "[]"
    assert "for example:" in said
    assert max(map(len, said)) <= 100
    if words == ["--help"]:
        assert [line.split()[0] for line in said if line.startswith("  ")][: len(cli.VERBS)] == [
            *cli.VERBS
        ]
    else:
        assert said[-1].startswith(f"  isotherm {words[0]} ")


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "isotherm", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == f"isotherm {isotherm.__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no verb was given; give one of count, fit"),
        (["cuont"], "no verb 'cuont' (did you mean 'count'?)"),
        (["xyzzy"], "no verb 'xyzzy'; give one of"),
        (["fit"], "SOURCE"),
        (["fit", "a.jsonl", "--sed", "1"], "--sed 1 is not understood (did you mean '--seed'?)"),
        (["fit", "a.jsonl", "--topics", "many"], "'many' is not 'auto', 'predict' or an integer"),
        (["fit", "a.jsonl", "--model", "lda"], "'lda'"),
        (["count", "a.jsonl", "--min-df", "1.5"], "'1.5' is neither a number of documents"),
        (["count", "a.jsonl", "--ngrams", "3-2"], "'3-2' is no length of runs"),
        (["search", "a.run", "word", "--interpolation", "2"], "'2' is no share"),
        (["topics", "a.run", "-n", "0"], "'0' is no integer of at least 1"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], message: str, fails: Any) -> None:
    assert message in fails(*words, status=2)


@pytest.mark.parametrize("verb", ["topics", "tree", "map", "search", "eval", "view"])
def test_what_is_no_run_is_told(verb: str, fails: Any, tmp_path: Path) -> None:
    more = {"map": ["-o", str(tmp_path / "m.svg")], "search": ["word"]}.get(verb, [])
    (tmp_path / "mine.run").mkdir()
    said = fails(verb, tmp_path / "mine.rum", *more)
    assert f"the nearest name there is {tmp_path / 'mine.run'}" in said
    assert "is no run" in fails(verb, tmp_path / "mine.run", *more)
    assert "folder" in fails(verb, tmp_path / "no" / "mine.run", *more)


def test_a_closed_pipe_is_silent(grown: Path) -> None:
    code = (
        "import sys\nfrom isotherm import cli\n"
        "from isotherm.cli.verbs import topics\n"
        "topics.topic_lines = lambda found, width: 'line\\n' * 100_000\n"
        "raise SystemExit(cli.main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "topics", str(grown)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout
        assert run.stderr
        assert run.stdout.readline() == "line\n"
        run.stdout.close()
        assert run.stderr.read() == ""
    assert run.returncode == 0


def test_verbose_tells_what_happens(stories: Path, tmp_path: Path, say: Any) -> None:
    words = ["fit", stories, "--topics", "2", "--json", "-o", tmp_path / "a.run"]
    say(*words)
    assert say.err == ""
    say(*words, "--verbose", "--force")
    assert "isotherm: T " in say.err


def test_where_nobody_watches_lines_come_now_and_then(
    stories: Path, tmp_path: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["fit", stories, "--topics", "2", "--json", "--force", "-o", tmp_path / "a.run"]
    say(*words, "-v")
    everything = [line for line in say.err.splitlines() if line.startswith("isotherm: T ")]
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now.append(now[-1] + 8.0) or now[-1])
    say(*words)
    some = [line for line in say.err.splitlines() if line.startswith("isotherm: T ")]
    assert 0 < len(some) < len(everything)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with console.speaking(argparse.Namespace(verbose=False)):
        logging.getLogger("isotherm").info("not on terminals")
    monkeypatch.setattr(console, "EVERY", 1e9)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    say(*words)
    assert say.err == ""


def test_a_count_is_shown_on_terminals_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with console.counter("documents:", 0.0) as show:
        assert show is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with console.counter("documents:", 0.0) as show:
        assert show
        show(1000)
    assert capsys.readouterr().err == "\rdocuments: 1,000\r" + " " * 16 + "\r"


def test_signs_that_a_terminal_lacks_are_no_error(grown: Path) -> None:
    command = [sys.executable, "-m", "isotherm", "tree", str(grown)]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert (run.returncode, run.stderr) == (0, "")
    assert "?? " in run.stdout
