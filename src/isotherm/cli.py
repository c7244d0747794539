"""The command line: `isotherm VERB ...`, one verb for each thing that is done in one call.

Progress goes to stderr and only to a terminal, results to stdout. Exit status: 0 when all went
well, 1 when the work failed (one line on stderr says why), 2 when the command line is wrong, 130
after Ctrl-C. A verb is one function that adds its arguments and one that does the work; imports
wait until then, so that help is quick.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import isotherm
from isotherm.errors import IsothermError

if TYPE_CHECKING:
    from isotherm.anneal.callbacks import Callback

Verbs = Any  # what argparse adds commands to; its class has no public name


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status of the given command line, by default that of this process."""
    options = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], None] = options.run
    try:
        run(options)
    except KeyboardInterrupt:
        print("isotherm: interrupted", file=sys.stderr)
        return 130
    except (IsothermError, OSError, MemoryError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        print(f"isotherm: error: {reason}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    about = (isotherm.__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="isotherm", description=about)
    parser.add_argument("--version", action="version", version=f"isotherm {isotherm.__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    _add_segment(verbs)
    return parser


# isotherm segment ---------------------------------------------------------------------------------


def _add_segment(verbs: Verbs) -> None:
    text = "segments of an image by texture, as a tinted picture"
    parser = verbs.add_parser("segment", help=text, description=text)
    parser.add_argument("image", type=Path, metavar="IMAGE", help="picture to segment")
    parser.add_argument(
        *("-n", "--segments"), type=_at_least(2), required=True, help="number of segments"
    )
    parser.add_argument(
        *("-o", "--out"), type=Path, required=True, help="picture to write (PNG, JPEG, TIFF)"
    )
    parser.add_argument("--seed", type=_at_least(0), default=0, help="%(default)s by default")
    parser.add_argument(
        "--step", type=_at_least(1), default=8, help="pixels from site to site (%(default)s)"
    )
    parser.add_argument(
        "--smoothing", type=_not_negative, default=8.0, help="how smooth segments are (%(default)s)"
    )
    _add_json(parser)
    parser.set_defaults(run=_segment)


def _segment(options: argparse.Namespace) -> None:
    from isotherm.images.files import check_target
    from isotherm.images.segment import segment

    begin = time.perf_counter()
    check_target(options.out)
    found = segment(
        options.image,
        options.segments,
        step=options.step,
        smoothing=options.smoothing,
        callbacks=_progress(),
        random_state=options.seed,
    )
    found.save_overlay(options.out)
    summary = {
        "image": str(options.image),
        "pixels": list(found.image.shape),
        "sites": list(found.site_labels.shape),
        "areas": found.areas.tolist(),
        "free_energy": found.fit.trace[-1].free_energy,
        "site_updates": found.site_updates,
        "seconds": round(time.perf_counter() - begin, 3),
        "out": str(options.out),
    }
    filled = int((found.areas > 0).sum())
    text = f"{options.out}: {filled} segments of {options.image} in {summary['seconds']:.1f} s"
    _tell(options, summary, text)


# What verbs share ---------------------------------------------------------------------------------


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def _tell(options: argparse.Namespace, summary: dict[str, Any], text: str) -> None:
    """The outcome on stdout: as JSON where that was asked for, else as text."""
    print(json.dumps(summary) if options.json else text)


def _progress() -> list[Callback]:
    """Progress of annealing runs, where somebody is watching."""
    from isotherm.anneal.callbacks import Progress

    return [Progress(delay=0.0)] if sys.stderr.isatty() else []


def _at_least(least: int) -> Callable[[str], int]:
    """Reader of integers of at least so much."""

    def read(text: str) -> int:
        if not text.removeprefix("-").isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no integer of at least {least}")
        return int(text)

    return read


def _not_negative(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of at least 0")
    return value


if __name__ == "__main__":
    raise SystemExit(main())
