"""`isotherm view`: a run in the browser, live or as a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm.cli import console, runs
from isotherm.cli.explorer import explorer_of, maps_of
from isotherm.cli.parser import Parser, add_run
from isotherm.cli.suggest import writable
from isotherm.format.atomic import is_own_page

if TYPE_CHECKING:
    from isotherm.cli.runs import Run
    from isotherm.viewer.explorer import Explorer
    from isotherm.viewer.server.serving import LocalServer


def add_arguments(parser: Parser) -> None:
    """What the verb takes besides its options; examples."""
    parser.example(
        "isotherm view articles.run",
        "isotherm view articles.run --port 8000 --no-open",
        "isotherm view articles.run -o page.html",
    )
    add_run(parser)


def run(options: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C, or write it; an older page of isotherm is replaced."""
    run = runs.open_run(options.run)
    run.check_topics_of_documents()
    if options.out is not None:
        _check_page(options, options.out)
        _write(options, explorer_of(run, maps_of(run, options)), options.out)
    elif not _can_serve():
        out = options.run.with_name(f"{options.run.resolve().stem}.html")
        _check_page(options, out)
        console.note(f"a live page needs pip install 'isotherm[serve]'; this one is the file {out}")
        _write(options, explorer_of(run, maps_of(run, options)), out)
    else:
        _serve(options, run)


def _check_page(options: argparse.Namespace, out: Path) -> None:
    writable(out, force=options.force or is_own_page(out), endings=(".html",))


def _can_serve() -> bool:
    """Whether what serves is installed."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("starlette", "uvicorn"))


def _write(options: argparse.Namespace, explorer: Explorer, out: Path) -> None:
    explorer.save_html(out)
    opened = _opened(options, out.resolve().as_uri())
    console.tell(options, {"page": str(out), "opened": opened}, str(out))


def _serve(options: argparse.Namespace, run: Run) -> None:
    server = _server(options, run)
    try:
        opened = _opened(options, server.address)
        summary = {"address": server.address, "opened": opened}
        console.tell(options, summary, f"{server.address}  (Ctrl-C ends it)")
        sys.stdout.flush()
        server.run()
    finally:
        server.close()


def _server(options: argparse.Namespace, run: Run) -> LocalServer:
    from isotherm.cli.live import LiveRun
    from isotherm.viewer.server.server import application, local_server

    return local_server(application(LiveRun(run, options).site()), options.port)


def _opened(options: argparse.Namespace, address: str) -> bool:
    """Whether a browser shows the page."""
    import webbrowser

    if options.no_open:
        return False
    opened = webbrowser.open(address)
    if not opened:
        console.note(f"no browser could be started; open {address} in one")
    return opened
