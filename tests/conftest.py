"""Fixtures for all tests."""

import os
from pathlib import Path

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
