import sys
from pathlib import Path

import numpy as np
import pytest

from isotherm.errors import IsothermError
from isotherm.images import files

PIXELS = np.random.default_rng(0).integers(0, 256, (20, 30, 3)).astype(np.uint8)


@pytest.mark.parametrize("ending", [".png", ".PNG", ".tif", ".bmp"])
def test_what_is_written_is_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"picture{ending}"
    assert files.write_image(str(path), PIXELS) == path
    np.testing.assert_array_equal(files.read_image(path), PIXELS)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("a.tif", "float64"), ("a.tiff", "uint16"), ("a.TIF", "float32"), ("a.png", "uint16")],
)
def test_pixels_keep_their_depth(name: str, dtype: str, tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).uniform(0, 60000, (20, 30)).astype(dtype)
    path = files.write_image(tmp_path / name, pixels)
    read = files.read_image(path)
    assert read.dtype == dtype
    np.testing.assert_array_equal(read, pixels)


def test_a_write_that_fails_leaves_the_old_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "picture.png"
    files.write_image(path, PIXELS)
    before = path.read_bytes()
    module = files._skimage_io()

    def fail(where: Path, pixels: object, check_contrast: bool) -> None:
        where.write_bytes(b"half")
        raise OSError("the disk is full")

    monkeypatch.setattr(module, "imsave", fail)
    with pytest.raises(OSError, match="the disk is full"):
        files.write_image(path, PIXELS[::2])
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["picture.png"]


def test_places_where_no_picture_can_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match=r"the ending '\.txt'.*\.png"):
        files.check_target(tmp_path / "picture.txt")
    with pytest.raises(IsothermError, match=r"no folder .*missing"):
        files.check_target(tmp_path / "missing" / "picture.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(IsothermError, match="is a folder"):
        files.check_target(tmp_path / "folder.png")


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsothermError, match=r"none\.png is not a file"):
        files.read_image(tmp_path / "none.png")
    with pytest.raises(IsothermError, match="is not a file"):
        files.read_image(tmp_path)
    for name in ("text.png", "text.tif"):
        text = tmp_path / name
        text.write_text("hello")
        with pytest.raises(IsothermError, match=rf"{name} cannot be read as a picture") as refused:
            files.read_image(text)
        assert "object at 0x" not in str(refused.value)
    cut_off = tmp_path / "cut.tif"
    cut_off.write_bytes(b"II*\0aaaa")
    with pytest.raises(IsothermError, match=r"cannot be read as a picture \(it holds no pixels\)"):
        files.read_image(cut_off)


def test_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = files.write_image(tmp_path / "picture.png", PIXELS)
    for name in [name for name in sys.modules if name.partition(".")[0] == "skimage"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(IsothermError, match=r"pip install isotherm\[images\]"):
        files.read_image(path)
