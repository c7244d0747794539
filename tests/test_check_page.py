"""The check of the page's scripts says what it lacks, and fails for it where that counts."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def checked(path: Path, ci: str) -> subprocess.CompletedProcess[str]:
    """The check with the programs of one folder, in a copy of its own."""
    tools = path / "tools"
    tools.mkdir()
    for name in ("check_page.py", "package.json"):
        (tools / name).write_bytes((ROOT / "tools" / name).read_bytes())
    command = [sys.executable, str(tools / "check_page.py")]
    environment = {"PATH": str(path), "CI": ci}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_without_node_one_line_says_so(tmp_path: Path, ci: str, status: int) -> None:
    ended = checked(tmp_path, ci)
    assert ended.returncode == status
    assert ended.stdout == (
        "the page of the explorer is not checked: there is no node; install Node.js with npm\n"
    )


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_where_npm_fails_one_line_says_why(tmp_path: Path, ci: str, status: int) -> None:
    for name in ("node", "npm"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho npm error one >&2\necho npm error no way >&2\nexit 1\n")
        program.chmod(0o755)
    ended = checked(tmp_path, ci)
    assert ended.returncode == status
    assert ended.stdout == (
        "the page of the explorer is not checked: "
        "npm could not install its tools (npm error no way)\n"
    )
    assert not (tmp_path / ".node" / ".done").exists()
