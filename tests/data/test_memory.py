"""What a fit tells of its memory."""

import logging
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from isotherm import AspectModel, Counts, StoredCounts
from isotherm.placement import memory

STATUS = "Name:\tx\nVmHWM:\t  {high} kB\nVmRSS:\t  {now} kB\n"


def set_to(path: Path, now: int, high: int) -> None:
    path.write_text(STATUS.format(now=1024 * now, high=1024 * high))


@pytest.fixture
def status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory, "STATUS", tmp_path / "status")
    return tmp_path / "status"


def test_a_new_high_is_the_peak(status: Path) -> None:
    set_to(status, 100, 100)
    with memory.watched() as watch:
        set_to(status, 110, 150)
        assert watch.peak == 50


def test_where_the_process_was_larger_before_the_highest_seen_counts(status: Path) -> None:
    set_to(status, 100, 400)
    with memory.watched() as watch:
        set_to(status, 130, 400)
        memory.look()
        set_to(status, 105, 400)
        memory.look()
        assert watch.peak == 30
    set_to(status, 399, 400)
    memory.look()  # nobody watches any more
    set_to(status, 90, 400)
    assert watch.peak == 30


def test_a_process_that_shrinks_took_nothing(status: Path) -> None:
    set_to(status, 100, 400)
    watch = memory.Watch()
    set_to(status, 90, 400)
    assert watch.peak == 0


@pytest.mark.parametrize("text", [None, "", "VmRSS: many kB\nVmHWM: 3 kB\n"])
def test_systems_that_do_not_tell_are_nan(status: Path, text: str | None) -> None:
    if text is not None:
        status.write_text(text)
    watch = memory.Watch()
    watch.look()
    assert math.isnan(watch.peak)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_fit_from_the_disk_tells_its_peak(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    X = np.random.default_rng(0).poisson(1.0, (60, 12)) + 1
    stored = StoredCounts.write(tmp_path / "counts", Counts(X), memory=50)
    with caplog.at_level(logging.INFO, "isotherm"):
        model = AspectModel(2, random_state=0, max_iter=3).fit(stored)
    assert 0 <= model.peak_memory_ <= 50
    assert f"peak memory {model.peak_memory_:.0f} MB of 50 MB allowed" in caplog.text
    assert not hasattr(model.fit(Counts(X)), "peak_memory_")
