"""`isotherm segment`, as a process and as a function."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isotherm import cli, segment
from isotherm.anneal import progress
from isotherm.images import files
from support.corpora import two_waves


@pytest.fixture(scope="module")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pixels = np.uint8(np.clip(100 + 60 * two_waves(), 0, 255))
    path = tmp_path_factory.mktemp("pictures") / "waves.png"
    return files.write_image(path, np.repeat(pixels[:, :, None], 3, axis=2))


def process(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "isotherm", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_segment_writes_the_picture(picture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    run = process("segment", picture, "-n", "2", "-o", out)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(f"{out}: 2 segments of {picture} in ")
    expected = segment(picture, 2, random_state=0).overlay()
    np.testing.assert_array_equal(files.read_image(out), expected)
    assert [one.name for one in tmp_path.iterdir()] == ["out.png"]


def test_options_reach_the_segmentation(
    picture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.png"
    words = ["segment", str(picture), "-n", "3", "-o", str(out), "--json"]
    words += ["--seed", "4", "--step", "16", "--smoothing", "0.5"]
    assert cli.main(words) == 0
    said = capsys.readouterr()
    assert said.err == ""
    summary = json.loads(said.out)
    expected = segment(picture, 3, step=16, smoothing=0.5, random_state=4)
    np.testing.assert_array_equal(files.read_image(out), expected.overlay())
    assert summary["areas"] == expected.areas.tolist()
    assert summary["sites"] == [8, 8]
    assert summary["pixels"] == [128, 128]
    assert summary["site_updates"] == expected.site_updates
    assert summary["free_energy"] == expected.fit.trace[-1].free_energy
    assert (summary["image"], summary["out"]) == (str(picture), str(out))
    assert summary["seconds"] > 0


@pytest.mark.parametrize(
    ("image", "words", "message"),
    [
        ("none.png", [], "none.png is not a file"),
        ("text.png", [], "cannot be read as a picture"),
        ("small.png", [], "32 x 32 pixels"),
        ("waves", ["--step", "40"], "step=40"),
        ("waves", ["-n", "4000"], "n_segments=4000"),
    ],
)
def test_failing_is_one_line_and_status_one(
    image: str,
    words: list[str],
    message: str,
    picture: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "text.png").write_text("hello")
    files.write_image(tmp_path / "small.png", np.eye(32, dtype=np.uint8))
    path = picture if image == "waves" else tmp_path / image
    before = sorted(tmp_path.iterdir())
    out = tmp_path / "out.png"
    assert cli.main(["segment", str(path), "-n", "2", "-o", str(out), *words]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("isotherm: error: ")
    assert message in said.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_place_without_a_folder_is_refused_before_any_work(
    picture: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(image: Any, n_segments: int, **options: Any) -> None:
        raise AssertionError("worked in vain")

    monkeypatch.setattr("isotherm.images.segment.segment", never)
    assert cli.main(["segment", str(picture), "-n", "2", "-o", "no/folder/out.png"]) == 1
    assert "no folder" in capsys.readouterr().err
    assert cli.main(["segment", str(picture), "-n", "2", "-o", "out.doc"]) == 1
    assert "'.doc'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["segment"],
        ["segment", "a.png", "-n", "2"],
        ["segment", "a.png", "-o", "b.png"],
        ["segment", "a.png", "-o", "b.png", "-n", "1"],
        ["segment", "a.png", "-o", "b.png", "-n", "two"],
        ["segment", "a.png", "-o", "b.png", "-n", "2", "--seed=-1"],
        ["segment", "a.png", "-o", "b.png", "-n", "2", "--smoothing=-1"],
        ["segment", "a.png", "-o", "b.png", "-n", "2", "--smoothing", "nan"],
        ["segment", "a.png", "-o", "b.png", "-n", "2", "--step", "0"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_two(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("isotherm segment: error: ")
    assert said.endswith("; see isotherm segment --help\n")


def test_interrupting_is_status_130(
    picture: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(image: Any, n_segments: int, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("isotherm.images.segment.segment", interrupted)
    assert cli.main(["segment", str(picture), "-n", "2", "-o", str(tmp_path / "o.png")]) == 130
    assert capsys.readouterr().err == "isotherm: interrupted\n"


def test_memory_that_runs_out_is_told_in_a_line(
    picture: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(image: Any, n_segments: int, **options: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("isotherm.images.segment.segment", full)
    assert cli.main(["segment", str(picture), "-n", "2", "-o", str(tmp_path / "o.png")]) == 1
    told = "isotherm: error: there is not enough memory (MemoryError); fewer topics or segments, "
    assert capsys.readouterr().err == told + "words, or pixels need less\n"


def test_progress_is_shown_on_a_terminal_only(
    picture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched: list[bool] = []
    work = segment

    def spy(image: Any, n_segments: int, **options: Any) -> Any:
        watched.append(progress.current() is not None)
        return work(image, n_segments, **options)

    monkeypatch.setattr("isotherm.images.segment.segment", spy)
    words = ["segment", str(picture), "-n", "2", "-o", str(tmp_path / "out.png")]
    assert cli.main(words) == 0
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert cli.main([*words, "--force"]) == 0
    assert watched == [False, True]
    assert progress.current() is None


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
def test_a_killed_process_leaves_no_half_picture(picture: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.png"
    files.write_image(out, np.eye(8, dtype=np.uint8))
    before = out.read_bytes()
    code = (
        "import os, signal, sys\n"
        "import skimage.io\n"
        "from isotherm import cli\n"
        "def half(path, pixels, check_contrast):\n"
        "    path.write_bytes(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "skimage.io.imsave = half\n"
        "cli.main(['segment', sys.argv[1], '-n', '2', '-o', sys.argv[2], '--force'])\n"
    )
    words = [sys.executable, "-c", code, os.fspath(picture), os.fspath(out)]
    run = subprocess.run(words, check=False)
    assert run.returncode == -signal.SIGKILL
    assert out.read_bytes() == before
