"""Pictures from files and into files; the one place that imports scikit-image."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import ModuleType

import numpy as np

from isotherm.data.base import Array
from isotherm.errors import IsothermError
from isotherm.format.atomic import replacing

ENDINGS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")


def read_image(path: str | os.PathLike[str]) -> Array:
    """Pixels of a picture as the file holds them, (H, W) or (H, W, channels)."""
    given = Path(path)
    if not given.is_file():
        raise IsothermError(f"{given} is not a file; give the path of a picture")
    source = _source(given)
    try:
        pixels = np.asarray(_skimage_io().imread(source))
        if not pixels.size:
            raise ValueError("it holds no pixels")
    except IsothermError:
        raise
    # Readers of pictures raise whatever they like.
    except Exception as error:
        reason = " ".join(str(error).replace(str(source), given.name).split())[:200]
        raise IsothermError(
            f"{given} cannot be read as a picture ({reason}); give a PNG, JPEG or TIFF file"
        ) from error
    return pixels


def _source(path: Path) -> str | io.BytesIO:
    """What to read from: memory, since a reader that gives up would leave the file open.

    Only TIFF goes by its name, which leads to a reader that knows pixels of any depth.
    """
    is_tiff = path.suffix.lower() in (".tif", ".tiff")
    return str(path) if is_tiff else io.BytesIO(path.read_bytes())


def write_image(path: str | os.PathLike[str], pixels: Array) -> Path:
    """Path of the picture that was written, all of it or nothing, from (H, W, 3) uint8."""
    given = check_target(path)
    with replacing(given) as unfinished:
        _skimage_io().imsave(unfinished, pixels, check_contrast=False)
    return given


def check_target(path: str | os.PathLike[str]) -> Path:
    """The path, if a picture can be written there."""
    given = Path(path)
    if given.suffix.lower() not in ENDINGS:
        raise IsothermError(
            f"{given} has the ending {given.suffix!r}; a picture needs one of {', '.join(ENDINGS)}"
        )
    if not given.parent.is_dir():
        raise IsothermError(f"there is no folder {given.parent}; make it first")
    if given.is_dir():
        raise IsothermError(f"{given} is a folder; give the name of a file")
    return given


def _skimage_io() -> ModuleType:
    try:
        import skimage.io
    except ImportError as missing:
        raise IsothermError(
            "files of pictures need scikit-image, which is not installed; "
            "pip install isotherm[images], or give the pixels as an array"
        ) from missing
    module: ModuleType = skimage.io
    return module
