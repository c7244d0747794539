"""What the adapters share: the job they are given, the clock, and the file they leave behind.

An adapter is run by the python of a peer's own environment, `python ADAPTER FOLDER`. The folder has
`job.json` and `counts.npz`, and gets `result.npz`. Needs numpy and scipy alone, of any age.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse


class Job:
    """What is to be fitted, and the clock of the fit.

    Attributes
    ----------
    model : str
    counts : csr_matrix (I, J), integers
    k, seed, threads : int
    settings : dict
    texts : list of str or None
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        asked = json.loads((self.folder / "job.json").read_text())
        self.model: str = asked["model"]
        self.k: int = asked["k"]
        self.seed: int = asked["seed"]
        self.threads: int = asked["threads"]
        self.settings: dict[str, Any] = asked["settings"]
        self.snapshots: int = asked["snapshots"]
        self.texts: list[str] | None = asked["texts"]
        self.counts = sparse.csr_matrix(sparse.load_npz(self.folder / "counts.npz"))
        self.wall = self.cpu = 0.0
        self._begun: tuple[float, float] | None = None
        self._curve: list[tuple[float, float, Any, Any]] = []

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Within it the clock of the fit runs; may be entered again and again."""
        self._start()
        try:
            yield
        finally:
            self._stop()

    def snapshot(self, made: Callable[[], tuple[Any, Any]]) -> None:
        """Note topics and weights as they are now; the clock stands still meanwhile."""
        if not self.snapshots:
            return
        running = self._begun is not None
        if running:
            self._stop()
        topics, weights = made()
        topics = np.asarray(topics, np.float32)
        self._curve.append((self.wall, self.cpu, topics, np.asarray(weights, np.float64)))
        if running:
            self._start()

    def due(self, step: int, of: int) -> bool:
        """Whether a snapshot belongs after this step (from 1): evenly spread, and at the end."""
        n = self.snapshots
        return n > 0 and (step == of or step * n // of > (step - 1) * n // of)

    def finish(self, topics: Any, weights: Any, documents: Any = None, shown: Any = None) -> None:
        """Write the result: topics (K, J), weights (K,), documents (I, K), shown (K, J)."""
        found = {
            "topics": np.asarray(topics, np.float64),
            "weights": np.asarray(weights, np.float64),
            "clock": np.array([self.wall, self.cpu, float(peak_memory())]),
        }
        if documents is not None:
            found["documents"] = np.asarray(documents, np.float32)
        if shown is not None:
            found["shown"] = np.asarray(shown, np.float32)
        for i, (wall, cpu, table, weight) in enumerate(self._curve):
            found[f"at_{i:04d}"] = np.array([wall, cpu])
            found[f"topics_{i:04d}"], found[f"weights_{i:04d}"] = table, weight
        np.savez(self.folder / "result.npz", **found)

    def _start(self) -> None:
        self._begun = (time.perf_counter(), cpu_seconds())

    def _stop(self) -> None:
        assert self._begun is not None
        self.wall += time.perf_counter() - self._begun[0]
        self.cpu += cpu_seconds() - self._begun[1]
        self._begun = None


def job() -> Job:
    """The job of this process."""
    return Job(sys.argv[1])


def cpu_seconds() -> float:
    """CPU seconds of this process and of those that it started, whether they have ended or not."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = time.process_time() + ended.ru_utime + ended.ru_stime
    return own + sum(_cpu_of(pid) for pid in _descendants())


def peak_memory() -> int:
    """Most bytes that this process held, and those that it started, if they still run."""
    # What the system tells of "self" may be the peak of the process that started this one.
    pids = [os.getpid(), *_descendants()]
    peaks = [_peak_of(pid) for pid in pids]
    return sum(peaks) or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _descendants() -> list[int]:
    found, waiting = [], [os.getpid()]
    while waiting:
        pid = waiting.pop()
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                own = [int(word) for word in children.read_text().split()]
            except OSError:
                continue
            found += own
            waiting += own
    return found


def _cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # Own seconds and those of its ended children, for user and system.
    return sum(int(fields[i]) for i in (11, 12, 13, 14)) / os.sysconf("SC_CLK_TCK")


def _peak_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    peaks = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
    return peaks[0] if peaks else 0
