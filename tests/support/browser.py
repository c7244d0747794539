"""A real browser for tests: pages that may complain about nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from isotherm.viewer.page import pieces

NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1100, "height": 680}
# WebGL2 without a graphics card.
SOFTWARE = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
LOCAL = ("file", "data", "blob", "about")
PATIENCE = 60_000  # milliseconds; machines that run tests are busy


def missing(what: str) -> None:
    """Skips the test, or fails it where everything must be installed."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing, and with CI=true it must be there")
    pytest.skip(f"{what} is not installed")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing("chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=list(SOFTWARE))
        yield chromium
        chromium.close()


def watch(page: Any, origin: str | None) -> list[str]:
    """A list that everything a page must not do is added to."""
    problems: list[str] = []

    def asked(request: Any) -> None:
        url = urlsplit(request.url)
        if url.scheme not in LOCAL and f"{url.scheme}://{url.netloc}" != origin:
            problems.append(f"request: {request.url}")

    def said(message: Any) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"console: {message.text}")

    page.on("request", asked)
    page.on("console", said)
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    return problems


@pytest.fixture(scope="module")
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an HTML file or address; any complaint of the page fails the test that closes it.

    The page has the list `problems` of its complaints (console, errors, policy, requests to
    elsewhere). Further arguments go to the context: viewport, device_scale_factor, ... `script`
    runs before those of the page.
    """
    opened = []

    def open_one(target: Path | str, *, script: str | None = None, **options: Any) -> Any:
        url = target.as_uri() if isinstance(target, Path) else target
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}" if parts.scheme.startswith("http") else None
        context = browser.new_context(**{"viewport": SIZE, "reduced_motion": "reduce", **options})
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.problems = watch(page, origin)
        if script is not None:
            page.add_init_script(script)
        opened.append(page)
        page.goto(url, wait_until="commit")
        return page

    yield open_one
    problems = [problem for page in opened for problem in page.problems]
    for page in opened:
        page.context.close()
    assert problems == []


@pytest.fixture(scope="module")
def open_explorer(
    open_page: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Any]:
    """Opens the explorer of the parts given, and waits until all of it is there."""

    def open_one(parts: Mapping[str, bytes], **options: Any) -> Any:
        path = tmp_path_factory.mktemp("explorer") / "page.html"
        path.write_text("".join(pieces(parts.items(), "A made-up corpus")), encoding="utf-8")
        page = open_page(path, **options)
        page.wait_for_selector("body[data-complete], body[data-error]")
        return page

    return open_one
