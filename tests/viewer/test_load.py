"""The live server under load: 5,000 requests of 50 clients, slow ones among them."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from isotherm import cli
from support.cli import THINGS, write_stories
from viewer.live import Server
from viewer.load import Load, resident

REQUESTS, CLIENTS = 5000, 50
# What one run of all clients may add to the memory of a server that has seen one before; the
# answers that it remembers have 8 MB at most.
GROWTH = 12 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """`isotherm view` as a process of its own, and its port."""
    folder = tmp_path_factory.mktemp("load")
    run = folder / "stories.run"
    source = write_stories(folder / "stories.jsonl", 300)
    assert cli.main(["fit", str(source), "--topics", "3", "-o", str(run), "--json"]) == 0
    words = [sys.executable, "-m", "isotherm", "view", str(run), "--no-open", "--json"]
    errors = folder / "errors.txt"
    with (
        errors.open("w") as said,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=said, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["address"]
            yield process, int(address.rpartition(":")[2].rstrip("/")), errors
        finally:
            process.kill()


def test_many_clients_and_slow_ones(server: tuple[Any, int, Path]) -> None:
    process, port, errors = server
    words = [word for thing in THINGS.values() for word in thing]
    Load(port, words, 300, requests=1000, clients=CLIENTS, seed=1).run()  # what is made once
    before = resident(process.pid)
    # Connections that never ask for anything, all the while.
    idle = [Server(port).connected() for _ in range(20)]
    for one in idle:
        one.__enter__()
    load = Load(port, words, 300, requests=REQUESTS, clients=CLIENTS)
    begin = time.monotonic()
    load.run(90)  # about 10 s on two cores that have nothing else to do
    seconds = time.monotonic() - begin
    for one in idle:
        one.__exit__(None, None, None)
    assert load.statuses == {200: REQUESTS}
    assert min(load.kinds.values()) > 100
    after = resident(process.pid)
    if before is not None and after is not None:
        print(f"{seconds:.1f} s, {load.bytes >> 20} MB sent, {(after - before) >> 10} kB more")
        assert after - before < GROWTH
    assert process.poll() is None
    assert "failed" not in errors.read_text()
