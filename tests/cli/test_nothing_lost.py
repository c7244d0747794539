"""Nothing that somebody put somewhere is removed or replaced without being asked."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from isotherm import AspectModel, Counts, checkpointing, cli, load
from isotherm.cli import explorer, runs
from isotherm.data.stored import StoredCounts
from isotherm.format.atomic import PAGE_MARK, is_own_page, replacing
from isotherm.format.scratch import LOCK, Scratch
from isotherm.images import files
from support.corpora import two_waves

LINKS = pytest.mark.skipif(os.name != "posix", reason="links need rights on this system")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def thesis(folder: Path) -> Path:
    """A folder of somebody's own."""
    folder.mkdir()
    path = folder / "thesis.txt"
    path.write_text("years of work")
    return path


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    return Counts(rng.poisson(2.0, (12, 8))).save(tmp_path / "a.counts")


@pytest.fixture
def quick(grown: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit that costs no time; the model is that of another run."""
    model = load(grown / "model.iso")
    monkeypatch.setattr(AspectModel, "fit", lambda self, X: vars(self).update(vars(model)) or self)


def fit(out: Path, source: Path, *words: str) -> list[str]:
    return ["fit", str(source), "-o", str(out), "--topics", "2", "--json", *words]


# Folders beside a run -----------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("ending", [".old", ".stored", ".unfinished"])
def test_folders_with_names_like_those_of_a_fit_stay(
    ending: str, force: bool, counts: Path, tmp_path: Path, say: Any, fails: Any
) -> None:
    mine = thesis(tmp_path / f"a.run{ending}")
    words = fit(tmp_path / "a.run", counts, "--memory", "500MB", *["--force"] * force)
    if ending == ".unfinished":
        said = fails(*words)
        assert f"{mine.parent}, which holds what isotherm did not put there (thesis.txt)" in said
        assert not (tmp_path / "a.run").exists()
    else:
        say(*words)
        say(*words[:-1], *([words[-1]] if force else ["500MB", "--force"]))
    assert mine.read_text() == "years of work"
    assert [name for name in names(tmp_path) if name.startswith(".")] == []


def test_what_is_in_the_way_is_told_before_any_work(
    stories: Path, tmp_path: Path, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isotherm.cli.verbs.fit.count_source", None)
    out = tmp_path / "a.run"
    mine = thesis(out)
    for words in ([], ["--force"]):
        assert "is no run of isotherm" in fails(*fit(out, stories, *words))
    shutil.rmtree(out)
    (tmp_path / "a.run.unfinished").write_text("mine")
    assert "it is no folder" in fails(*fit(out, stories))
    assert not mine.exists()
    runs.mark(tmp_path / "b.run.unfinished", replaces=False)
    (tmp_path / "b.run.unfinished" / "notes.txt").write_text("mine")
    assert "(notes.txt)" in fails(*fit(tmp_path / "b.run", stories, "--force"))


@LINKS
@pytest.mark.usefixtures("quick")
def test_links_are_not_followed_to_remove_anything(
    counts: Path, grown: Path, tmp_path: Path, fails: Any
) -> None:
    (tmp_path / "a.run").symlink_to(grown)
    (tmp_path / "b.run.unfinished").symlink_to(grown)
    (tmp_path / "c.run").symlink_to(tmp_path / "nowhere")
    before = names(grown)
    for words in ([], ["--force"]):
        assert "is a link to" in fails(*fit(tmp_path / "a.run", counts, *words))
        assert "it is no folder" in fails(*fit(tmp_path / "b.run", counts, *words))
        assert "is a link to" in fails(*fit(tmp_path / "c.run", counts, *words))
    assert names(grown) == before


@pytest.mark.usefixtures("quick")
def test_what_others_put_into_a_run_outlives_it(counts: Path, tmp_path: Path, say: Any) -> None:
    out = tmp_path / "a.run"
    say(*fit(out, counts))
    (out / "notes.txt").write_text("mine")
    (out / "map2.map").write_text("mine")
    thesis(out / "more")
    say(*fit(out, counts, "--force"))
    assert (out / "notes.txt").read_text() == (out / "map2.map").read_text() == "mine"
    assert (out / "more" / "thesis.txt").exists()
    assert names(tmp_path) == ["a.counts", "a.run"]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("when", [1, 2])
def test_a_fit_killed_while_it_takes_its_name_loses_neither_run(
    when: int, counts: Path, tmp_path: Path, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a.run"
    say(*fit(out, counts))
    (out / "notes.txt").write_text("mine")
    rename, left = Path.rename, [when]

    def killed(self: Path, target: Path) -> Path:
        done = rename(self, target)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        assert cli.main(fit(out, counts, "--force")) == 130
    say(*fit(out, counts, "--resume" if when == 1 else "--force"))
    assert runs.open_run(out).finished
    assert (out / "notes.txt").read_text() == "mine"
    assert names(tmp_path) == ["a.counts", "a.run"]


@pytest.mark.usefixtures("quick")
def test_a_run_that_came_meanwhile_is_not_replaced(
    counts: Path, grown: Path, tmp_path: Path, fails: Any, say: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a.run"
    create = runs.create

    def late(*given: Any) -> Any:
        shutil.copytree(grown, out)
        return create(*given)

    with monkeypatch.context() as patch:
        patch.setattr(runs, "create", late)
        assert "is there already" in fails(*fit(out, counts))
    assert (out / "model.iso").read_bytes() == (grown / "model.iso").read_bytes()
    assert "is there already" in fails(*fit(out, counts, "--resume"))
    say(*fit(out, counts, "--resume", "--force"))
    assert names(tmp_path) == ["a.counts", "a.run"]
    assert json.loads((out / "run.json").read_text())["documents"] == 12


# Files --------------------------------------------------------------------------------------------


def test_both_files_of_a_count_are_asked_for(stories: Path, tmp_path: Path, fails: Any) -> None:
    beside = tmp_path / "a.counts.documents.jsonl.gz"
    beside.write_text("mine")
    assert f"{beside} is there already" in fails("count", stories, "-o", tmp_path / "a.counts")
    assert names(tmp_path) == [beside.name]
    source = shutil.copy(stories, tmp_path / "a.jsonl")
    assert "is what is to be read" in fails("count", source, "-o", source, "--force")
    assert "is a pipe or a device" in fails("count", source, "-o", "/dev/null", "--force")


def test_a_picture_is_not_replaced_without_force(tmp_path: Path, say: Any, fails: Any) -> None:
    pytest.importorskip("skimage")
    pixels = np.uint8(np.clip(100 + 60 * two_waves(), 0, 255))
    photo = files.write_image(tmp_path / "photo.png", np.repeat(pixels[:, :, None], 3, axis=2))
    out = tmp_path / "out.png"
    out.write_text("mine")
    assert "--force" in fails("segment", photo, "-n", "2", "-o", out)
    assert "is what is to be read" in fails("segment", photo, "-n", "2", "-o", photo, "--force")
    assert out.read_text() == "mine"


@pytest.mark.parametrize("serves", [False, True])
def test_only_pages_of_isotherm_are_written_anew(
    serves: bool, grown: Path, tmp_path: Path, say: Any, fails: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isotherm.cli.verbs import view

    class Page:
        def save_html(self, path: Path) -> None:
            path.write_text(f"<html>{PAGE_MARK}")

    monkeypatch.setattr(view, "maps_of", lambda *given: [])
    monkeypatch.setattr(view, "explorer_of", lambda *given: Page())
    monkeypatch.setattr(view, "_can_serve", lambda: False)
    run = Path(shutil.copytree(grown, tmp_path / "a.run"))
    out = tmp_path / "a.html"
    words = ["view", run, "--no-open", *(["-o", out] if serves else [])]
    out.write_text("<html>mine")
    with monkeypatch.context() as patch:
        patch.setattr(view, "explorer_of", None)  # before any work
        assert cli.main([*map(str, words)]) == 1
    assert out.read_text() == "<html>mine"
    say(*words, "--force")
    say(*words)
    assert is_own_page(out)


def test_the_demonstration_leaves_pages_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: Any, say: Any
) -> None:
    from isotherm.cli.verbs import demo

    monkeypatch.setattr("isotherm.load_docstrings", lambda: None)
    monkeypatch.setattr(demo, "fitted", lambda *given, verbose: SimpleNamespace(n_components_=2))
    monkeypatch.setattr(demo, "drawn", lambda corpus, model, out, say: out / "index.html")
    monkeypatch.setattr(demo, "agreements", lambda corpus, model: {})
    for name in ("index.html", "map.iso"):
        (tmp_path / name).write_text("mine")
        assert f"{name} is there" in fails("demo", "--out", str(tmp_path))
        say("demo", "--out", tmp_path, "--force")
        (tmp_path / name).unlink()
    (tmp_path / "index.html").write_text(PAGE_MARK)
    say("demo", "--out", tmp_path)


@LINKS
def test_a_link_stays_a_link_and_rights_stay(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    real, link = tmp_path / "other" / "page.html", tmp_path / "page.html"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    with replacing(link) as unfinished:
        assert unfinished.parent == real.parent
        unfinished.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600
    assert names(tmp_path / "other") == ["page.html"]


def test_maps_of_others_in_a_run_stay(grown: Path, tmp_path: Path, say: Any) -> None:
    run = Path(shutil.copytree(grown, tmp_path / "a.run"))
    for name in ("map2.map", "map2.mine.gtm", "map2.0123456789abcdef.map"):
        (run / name).write_text("?")
    gone = explorer._others(run, "map2.", "map2.other")
    assert [path.name for path in gone if path.read_bytes() == b"?"] == [
        "map2.0123456789abcdef.map"
    ]


# Other folders ------------------------------------------------------------------------------------


def test_a_folder_beside_a_checkpoint_stays(tmp_path: Path) -> None:
    mine = thesis(tmp_path / "run.ckpt.rows")
    with checkpointing(tmp_path / "run.ckpt", every=0):
        AspectModel(2, random_state=0).fit([[3, 1, 0], [2, 2, 0], [0, 1, 3]] * 3)
    assert mine.exists()
    assert names(tmp_path) == ["run.ckpt.rows"]


def test_only_marked_folders_of_dead_processes_go(tmp_path: Path) -> None:
    mine = thesis(tmp_path / ".a.part-mine")
    (mine.parent / LOCK).write_text("")
    left = Scratch(tmp_path, ".a.part-")
    left._close()
    Scratch(tmp_path, ".a.part-").remove()
    assert mine.exists()
    assert left.folder.exists() == (os.name != "posix")


@LINKS
def test_stored_counts_do_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "a.stored").symlink_to(tmp_path / "nowhere")
    with pytest.raises(Exception, match="is there already"):
        StoredCounts.write(tmp_path / "a.stored", np.ones((3, 2)))


FULL = """
import resource, sys
from isotherm import cli
from isotherm.estimators.aspect import AspectModel
from isotherm.io.store import load
model = load(sys.argv[1])
AspectModel.fit = lambda self, X: vars(self).update(vars(model)) or self
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
raise SystemExit(cli.main(sys.argv[3:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="no such limits on this system")
def test_a_full_disk_leaves_the_run_that_was_to_be_replaced(
    stories: Path, grown: Path, tmp_path: Path
) -> None:
    out = Path(shutil.copytree(grown, tmp_path / "a.run"))
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    # The counts fit, the model does not.
    command = [sys.executable, "-c", FULL, str(grown / "model.iso"), "4000"]
    run = subprocess.run(
        [*command, *fit(out, stories, "--force")], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "File too large" in run.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert names(tmp_path) == ["a.run"]
