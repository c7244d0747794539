"""Fixtures for all tests."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Fixed seeds, and no time limit for one example: the first may compile, and machines are shared.
settings.register_profile("isotherm", derandomize=True, deadline=None)
settings.load_profile("isotherm")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real data sets; skips where it is missing, but fails in continuous integration."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ISOTHERM_DATA", beside))
    if not folder.is_dir():
        reason = f"no data sets at {folder}; set ISOTHERM_DATA to their folder"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Client of a cluster of two processes on this machine, one for all tests of a session."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two,
        distributed.Client(two) as found,
    ):
        yield found
