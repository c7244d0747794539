"""A run to look at, made once."""

import json
from pathlib import Path
from typing import Any

import pytest

from isotherm import cli
from support.cli import write_stories


@pytest.fixture(scope="session")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stories(tmp_path_factory.mktemp("stories") / "stories.jsonl")


@pytest.fixture(scope="session")
def grown(stories: Path) -> Path:
    """A run whose number of topics was found."""
    run = stories.with_name("stories.run")
    assert cli.main(["fit", str(stories), "-o", str(run), "--labels", "kind", "--json"]) == 0
    return run


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Any:
    """Function from a command line to what it says on stdout, with --json as a value."""

    def say(*words: str | Path, status: int = 0) -> Any:
        capsys.readouterr()
        found = cli.main([str(word) for word in words])
        said = capsys.readouterr()
        assert found == status, said.err
        say.err = said.err
        return json.loads(said.out) if "--json" in words else said.out

    return say


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Any:
    """Function from a command line that fails to the one line that says why."""

    def fails(*words: str | Path, status: int = 1) -> str:
        capsys.readouterr()
        try:
            found = cli.main([str(word) for word in words])
        except SystemExit as end:
            found = int(end.code or 0)
        said = capsys.readouterr()
        assert found == status
        assert said.out == ""
        assert said.err.count("\n") == 1
        assert "error: " in said.err
        return said.err

    return fails
