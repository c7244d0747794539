"""`isotherm segment`: segments of an image by texture, as a tinted picture."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from isotherm.cli import console
from isotherm.cli.parser import Parser
from isotherm.cli.suggest import writable


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example("isotherm segment photo.png -n 16 -o out.png")
    parser.add_argument("image", type=Path, metavar="IMAGE", help="picture to segment")


def run(options: argparse.Namespace) -> None:
    """Segment the image and write the picture."""
    from isotherm.images.files import check_target
    from isotherm.images.segment import segment

    begin = time.perf_counter()
    writable(check_target(options.out), force=options.force, source=options.image)
    with _shown():
        segmentation = segment(
            options.image,
            options.segments,
            step=options.step,
            smoothing=options.smoothing,
            random_state=options.seed,
        )
    segmentation.save_overlay(options.out)
    summary = {
        "image": str(options.image),
        "pixels": list(segmentation.image.shape),
        "sites": list(segmentation.site_labels.shape),
        "areas": segmentation.areas.tolist(),
        "free_energy": segmentation.fit.trace[-1].free_energy,
        "site_updates": segmentation.site_updates,
        "seconds": console.seconds(begin),
        "out": str(options.out),
    }
    filled = int((segmentation.areas > 0).sum())
    text = f"{options.out}: {filled} segments of {options.image} in {summary['seconds']:.1f} s"
    console.tell(options, summary, text)


def _shown() -> AbstractContextManager[None]:
    """Progress of the whole, where somebody is watching."""
    from isotherm.anneal.progress import Progress, shown

    return shown(Progress(noun="segment")) if sys.stderr.isatty() else nullcontext()
