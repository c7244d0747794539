"""The pictures of the gallery: `make gallery`.

Fits the demonstration, opens its page in Chromium and takes pictures of it as a reader would come
to see it. Needs Chromium, playwright and pillow. `--page` takes a page that is already there.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

GALLERY = Path(__file__).with_name("gallery")
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")  # no graphics card is needed
SIZE = (1280, 800)
PHONE = (390, 780)
MOST_BYTES = 200_000
PATIENCE = 120_000  # milliseconds
TOPICS = """word => {
  const { data } = isotherm;
  const share = (k) => data.topics[k].words.find(([one]) => one === word)?.[1] ?? 0;
  return [...data.topics.keys()].sort((a, b) => share(b) - share(a))[0];
}"""


class Shot(NamedTuple):
    """A picture: its name, what is done before it is taken, and on what kind of screen."""

    name: str
    act: Callable[[Any], None]
    size: tuple[int, int] = SIZE
    dark: bool = False


def give(page: Any, **state: Any) -> None:
    """Sets keys of what all views share."""
    page.evaluate("state => isotherm.store.set(state)", state)


def show(page: Any, **overlays: bool) -> None:
    """Switches what is drawn besides the points on or off."""
    page.evaluate(
        "some => isotherm.store.set({ overlays: { ...isotherm.store.state.overlays, ...some } })",
        overlays,
    )


def map_in_two_dimensions(page: Any) -> None:
    """With lines of equal density."""
    give(page, map=1)
    show(page, contours=True)


def tree(page: Any) -> None:
    """Where a word lives."""
    word = page.evaluate("() => isotherm.data.wordId('matrix')")
    give(page, tab="tree", word=word)


def topic(page: Any) -> None:
    """The topic that a word stands for."""
    give(page, tab="topics", topic=page.evaluate(TOPICS, "matrix"))


def search(page: Any) -> None:
    """A sentence, typed into the box."""
    give(page, tab="search", map=1)
    page.locator("#query").fill("read a compressed file line by line")
    page.locator("#query").press("Enter")
    page.locator("#body-search .list-row").first.wait_for()


def document(page: Any) -> None:
    """One of the documents that a search finds first."""
    found = page.evaluate(
        "async () => (await isotherm.source.search('eigenvalues of a symmetric matrix', 1))"
        ".hits[0].document"
    )
    give(page, document=found, tab="document")


def annealing(page: Any) -> None:
    """The stage with about a quarter of the topics, where what came of them can still be told."""
    counts = page.evaluate("() => isotherm.data.stages.map((stage) => stage.topics.length)")
    wanted = [at for at, count in enumerate(counts) if count >= counts[-1] / 4]
    give(page, stage=wanted[0], tab="topics")


def nothing(page: Any) -> None:
    """The page as it opens."""


SHOTS = (
    Shot("map-3d", nothing),
    Shot("map-2d", map_in_two_dimensions, dark=True),
    Shot("topic", topic),
    Shot("tree", tree),
    Shot("search", search),
    Shot("document", document, dark=True),
    Shot("annealing", annealing),
    Shot("phone", nothing, size=PHONE),
)


def take(browser: Any, address: str, shot: Shot) -> bytes:
    """The picture as the screen shows it."""
    width, height = shot.size
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if shot.dark else "light",
        reduced_motion="reduce",
        device_scale_factor=2 if shot.size == PHONE else 1,
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address, wait_until="commit")
    page.wait_for_selector("body[data-complete], body[data-error]")
    shot.act(page)
    page.evaluate("async () => { isotherm.store.flush(); await isotherm.map.settle(); }")
    page.wait_for_timeout(400)
    page.evaluate("() => isotherm.map.settle()")
    picture = page.screenshot()
    context.close()
    return bytes(picture)


def small(picture: bytes) -> bytes:
    """The same in 256 colours."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    out = io.BytesIO()
    image.quantize(256, kmeans=4, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status of the script with the given command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="a page of the demonstration (else it is made)")
    parser.add_argument("--out", type=Path, default=GALLERY, help="folder (%(default)s)")
    parser.add_argument("--only", nargs="+", default=[shot.name for shot in SHOTS])
    options = parser.parse_args(arguments)
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        print("The pictures are taken in Chromium, which is not installed.", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = options.page or made(Path(folder))
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        for shot in SHOTS:
            if shot.name not in options.only:
                continue
            picture = small(take(browser, path.resolve().as_uri(), shot))
            (options.out / f"{shot.name}.png").write_bytes(picture)
            print(f"{shot.name}.png: {len(picture) / 1000:.0f} kB", flush=True)
            if len(picture) > MOST_BYTES:
                print(f"{shot.name}.png is too large for the repository", file=sys.stderr)
                return 1
        browser.close()
    return 0


def made(folder: Path) -> Path:
    """The page of the demonstration, made in the folder."""
    from isotherm import cli

    if cli.main(["demo", "--out", str(folder)]) != 0:
        raise SystemExit("the demonstration failed; see above")
    return folder / "index.html"


if __name__ == "__main__":
    raise SystemExit(main())
