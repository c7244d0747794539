import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from isotherm.format.atomic import replacing


@pytest.mark.parametrize("name", ["page.html", "noending", ".hidden", "two.dots.png"])
def test_the_file_appears_at_the_end_with_the_ending_kept(name: str, tmp_path: Path) -> None:
    final = tmp_path / name
    final.write_text("old")
    with replacing(str(final)) as unfinished:
        assert unfinished.parent == tmp_path
        assert unfinished != final
        assert unfinished.suffix == final.suffix or not final.suffix
        unfinished.write_text("new")
        assert final.read_text() == "old"
    assert final.read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_failing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    final = tmp_path / "page.html"
    final.write_text("old")

    def write() -> None:
        with replacing(final) as unfinished:
            unfinished.write_text("half")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write()
    assert final.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("named", [False, True])
def test_errors_of_the_system_name_the_file(named: bool, tmp_path: Path) -> None:
    final = tmp_path / "page.html"

    def write() -> None:
        with replacing(final) as unfinished:
            unfinished.write_text("half")
            names = [os.fspath(unfinished)] if named else []
            raise OSError(errno.ENOSPC, "No space left on device", *names)

    with pytest.raises(OSError, match="No space left") as caught:
        write()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, os.fspath(final))
    with pytest.raises(FileNotFoundError) as missing, replacing(final):
        (tmp_path / "other").read_text()
    assert missing.value.filename == os.fspath(tmp_path / "other")
    with (
        pytest.raises(FileNotFoundError) as no_folder,
        replacing(tmp_path / "no" / "page.html") as unfinished,
    ):
        unfinished.write_text("x")
    assert no_folder.value.filename == os.fspath(tmp_path / "no" / "page.html")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal on this system")
def test_a_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    final = tmp_path / "page.html"
    final.write_text("old")
    code = (
        "import os, signal, sys\n"
        "from isotherm.format.atomic import replacing\n"
        "with replacing(sys.argv[1]) as unfinished:\n"
        "    unfinished.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, os.fspath(final)], check=False)
    assert run.returncode == -signal.SIGKILL
    assert final.read_text() == "old"


def test_the_file_is_on_the_disk_before_it_takes_the_old_ones_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    final, done = tmp_path / "page.html", []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        done.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        fsync(descriptor)

    def replaced(self: Path, target: Path) -> Path:
        done.append("replaced")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    with replacing(final) as unfinished:
        unfinished.write_text("new")
        assert done == []
    expected = ["file", "replaced", "folder"] if sys.platform == "linux" else done
    assert done == expected


@pytest.mark.skipif(os.name != "posix", reason="processes are not looked for elsewhere")
def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    final = tmp_path / "page.html"
    with replacing(final) as unfinished:
        mine = unfinished.name
        unfinished.write_text("one")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = mine.replace(str(os.getpid()), str(dead.pid))
    others = [
        mine.replace(str(os.getpid()), "1"),  # a process that lives
        left.replace("page", "other"),
        left.replace("html", "htm"),
        left.replace(".page.", ".page.another-host."),
    ]
    for name in (left, *others):
        (tmp_path / name).write_text("half")
    with replacing(final) as unfinished:
        unfinished.write_text("two")
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(["page.html", *others])
