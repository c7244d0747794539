"""Checkpoints: runs of the engine that a later process goes on with, to the bit."""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from isotherm.anneal import journal
from isotherm.anneal.heldout import Heldout
from isotherm.anneal.journal import Blank, Page
from isotherm.anneal.relax import RelaxationState
from isotherm.anneal.run_state import Best, RunState, Solution
from isotherm.anneal.trace import Fit, Outcome, State
from isotherm.errors import IsothermError, IsothermWarning
from isotherm.format import archive, codec, values
from isotherm.io import checkpoint_1, parts
from isotherm.io.estimators import Sizes
from isotherm.io.fingerprint import Fingerprints
from isotherm.io.registry import checked, known
from isotherm.models.base import Model
from isotherm.models.hierarchy import Hierarchy
from isotherm.placement.base import Data
from isotherm.placement.cluster.row_versions import Version, restored
from isotherm.placement.disk import exported
from isotherm.placement.disk.cache import Held, Kept
from isotherm.placement.disk.exported import held_again

__all__ = ["checkpointing"]

log = logging.getLogger("isotherm")

KIND = "checkpoint"
# Of what a checkpoint holds; the first one had no number, see `checkpoint_1`.
VERSION = 2
# Writing takes at most this share of the time.
SHARE = 0.1
EXPLAINED = {
    "random numbers": "give a fixed random_state, the same in both",
    "library": "go on with the version that began",
}


class Entry(NamedTuple):
    """What is known of one run.

    `marks` tell it from other runs, `n_runs` is how many had begun, `rng` the state of its random
    numbers; `fit` is its outcome, or `state` where it is.
    """

    marks: dict[str, str]
    n_runs: int
    rng: dict[str, object]
    fit: Fit | None
    state: RunState | None


@contextmanager
def checkpointing(path: str | os.PathLike[str], *, every: float = 60.0) -> Iterator[None]:
    """Let fits within the block leave checkpoints, and go on from those of an earlier process.

    If the process ends before the block does, run the same program again: fits go on from the last
    checkpoint and end in the same result, to the bit on the same machine, as if nothing had
    happened. The file is removed when the block ends well; save what was fitted within the block.
    A fit that the user interrupts (Ctrl-C) leaves it.

    Data, settings and `random_state` must be the same; a file of another fit is refused. Callbacks
    hear only of what is computed: those that keep something start anew, as do time limits. Work
    outside of annealing runs (reading data, graphs of neighbours) is done again. Fits in other
    threads or processes (`n_jobs` of scikit-learn) leave no checkpoints.

    Parameters
    ----------
    path : str or path
        File of the checkpoint.
    every : float
        Seconds between checkpoints; more where writing one takes longer than a tenth of that.

    Examples
    --------
    >>> import tempfile
    >>> from isotherm import AspectModel, checkpointing
    >>> X = [[3, 1, 0], [2, 2, 0], [0, 1, 3]] * 5
    >>> with tempfile.TemporaryDirectory() as folder, checkpointing(f"{folder}/run.ckpt"):
    ...     model = AspectModel(2, random_state=0).fit(X)
    ...     saved = model.save(f"{folder}/model.iso")
    """
    if not (isinstance(every, int | float) and every >= 0):
        raise IsothermError(
            f"every={every!r}; it must be a number of seconds, at least 0", parameter="every"
        )
    if isinstance(journal.current(), File):
        raise IsothermError(
            "a checkpointing block within another; one file holds all fits of a block: leave the "
            "inner one out"
        )
    file = File(Path(path), float(every))
    with journal.writing_to(file):
        try:
            yield
        except BaseException:
            file.leave()
            raise
    if file.stopped:
        file.leave()
        warnings.warn(
            f"interrupted: {path} is kept; run the same fit again to go on from there",
            IsothermWarning,
            stacklevel=3,
        )
    else:
        file.path.unlink(missing_ok=True)
        file.rows.remove()


class File:
    """A journal in a file: the outcome of runs that have ended, and where the others are."""

    def __init__(self, path: Path, every: float) -> None:
        self.path, self.every = path, every
        self.entries: dict[int, Entry] = {}
        self.n_runs = 0
        self.stopped = False
        self.unwritten = False
        self.warned = False
        self.fingerprints = Fingerprints()
        # Rows that are in files stay in files.
        self.rows = exported.Folder(path.with_name(f"{path.name}.rows"))
        self.next_write = time.monotonic() + every
        if path.exists():
            self._read()
        elif not path.parent.is_dir():
            raise IsothermError(f"{path.parent} is no folder; make it, or give another path")

    def page(
        self,
        annealer: Any,
        model: Model,
        data: Data,
        rng: np.random.Generator,
        heldout: Heldout | None,
        state: State | None,
    ) -> Page:
        """Page of the run that begins now; its random numbers are set to where they were."""
        if self.stopped:
            return Blank()
        number = self.n_runs
        self.n_runs += 1
        marks = self.fingerprints.of(annealer, model, data, rng, heldout, state)
        found = self.entries.get(number)
        if found is None:
            return _Page(self, number, rng, marks)
        self._check(number, found.marks, marks)
        try:
            rng.bit_generator.state = found.rng
        except archive.DAMAGE as error:
            raise archive.unreadable(self.path, str(error)) from error
        self._check_states(data, found)
        self.n_runs = found.n_runs
        if found.state is not None:
            log.info("run %d goes on at T = %g", number, found.state.temperature)
        return _Page(self, number, rng, marks, found.fit, found.state)

    def put(self, number: int, entry: Entry) -> None:
        """Put down what is known of a run; it stands for all runs that began within it."""
        inner = [other for other in self.entries if other > number]
        for other in inner:
            del self.entries[other]
        first = number not in self.entries
        self.entries[number] = entry
        self.unwritten = True
        if first:
            # Refused now rather than when the first checkpoint is due.
            codec.Writer(_registry(None)).encode(entry.state, "the state")
        if time.monotonic() >= self.next_write:
            self.write()

    def leave(self) -> None:
        """Write what is not written yet; nothing that comes later is of interest."""
        self.stopped = True
        if self.unwritten:
            self.write()

    def stop(self) -> None:
        """Take no more notes: after an interrupt, runs are not what they would have been."""
        self.stopped = True

    def write(self) -> None:
        """Write the file; a disk that is full does not end the fit."""
        begin = time.monotonic()
        runs = {str(number): entry for number, entry in self.entries.items()}
        content = {"version": VERSION, "runs": runs}
        try:
            values.write(self.path, KIND, content, _registry(self.rows))
            self.unwritten = False
            self.rows.keep_named()
        except OSError as error:
            if not self.warned:  # said once; a disk may stay full for hours
                message = (
                    f"no checkpoint was written to {self.path}: {error.strerror or error}; the fit "
                    "goes on and tries again, make room"
                )
                warnings.warn(message, IsothermWarning, stacklevel=2)
            self.warned = True
        end = time.monotonic()
        self.next_write = end + max(self.every, (end - begin) / SHARE)

    def _read(self) -> None:
        content = values.read(self.path, _registry(self.rows), KIND)
        try:
            _check_version(self.path, content.get("version", 1))
            self.entries = {int(number): entry for number, entry in content["runs"].items()}
            if not all(isinstance(entry, Entry) for entry in self.entries.values()):
                raise TypeError("runs of a wrong type")
        except archive.DAMAGE as error:
            raise archive.unreadable(self.path, str(error)) from error
        log.info("going on from %s: %d runs", self.path, len(self.entries))

    def _check_states(self, data: Data, found: Entry) -> None:
        """Refuse states of other rows or columns than those of the data."""
        run, fit = found.state, found.fit
        states = [] if fit is None else [fit.state]
        if run is not None:
            best = run.best.solution
            more = (run.begin, run.relaxation.proven, None if best is None else best.state)
            states += [run.state, *(one for one in more if one is not None)]
        sizes = [getattr(block, "n_rows", None) for block in getattr(data, "blocks", ())]
        entry = run or fit
        columns = {} if entry is None else _columns_of(data.summary, entry.model)
        for state in states:
            rows = state.rows
            if fit is not None and not journal.rows_matter():
                rows, sizes = (), []
            fits = not sizes or len(rows) == len(sizes)
            for one, size in zip(rows, sizes, strict=False):
                plain = hasattr(one, "_fields") and size is not None
                fields = [field for field in one if field.ndim > 1] if plain else []
                # Posteriors of pairs have one row for each non-zero.
                fits = fits and (not fields or len(fields[0]) == size)
            if not fits:
                raise archive.unreadable(self.path, "its states are of other rows than the data")
            try:
                parts.check_shapes(state.params, dict(columns))
            except ValueError as error:
                raise archive.unreadable(self.path, str(error)) from error

    def _check(self, number: int, old: dict[str, str], new: dict[str, str]) -> None:
        differ = [name for name in new if old.get(name) != new[name]]
        if differ:
            self.stopped, self.unwritten = True, False
            todo = [EXPLAINED[name] for name in differ if name in EXPLAINED]
            raise IsothermError(
                f"{self.path} is a checkpoint of another fit: of its run {number}, what differs is "
                f"{', '.join(differ)}; give the same data and settings as before"
                f"{''.join(f' ({one})' for one in todo)}, or remove the file to begin anew"
            )


class _Page:
    """The part of the file that belongs to one run."""

    def __init__(
        self,
        file: File,
        number: int,
        rng: np.random.Generator,
        marks: dict[str, str],
        fit: Fit | None = None,
        state: RunState | None = None,
    ) -> None:
        self.file, self.number, self.rng, self.marks = file, number, rng, marks
        self.fit, self.state = fit, state

    def note(self, run: RunState) -> None:
        """Note where the run is."""
        self._put(None, run)

    def end(self, fit: Fit | None) -> None:
        """Note the outcome of the run."""
        if fit is None or fit.outcome is Outcome.INTERRUPTED:
            self.file.stop()
            return
        if not journal.rows_matter():
            fit = replace(fit, state=fit.state._replace(rows=()))
        self._put(fit, None)

    def _put(self, fit: Fit | None, run: RunState | None) -> None:
        if not self.file.stopped:
            rng: Any = self.rng.bit_generator.state
            entry = Entry(self.marks, self.file.n_runs, rng, fit, run)
            self.file.put(self.number, entry)


def _registry(rows: exported.Folder | None) -> codec.Registry:
    """Types of the library, and those that checkpoints alone hold; None writes no rows."""
    registry = codec.Registry()
    for name, entry in known().by_name.items():
        registry.add(name, entry)
    registry.enums = known().enums
    entry = codec.plain(Entry)
    entry = entry._replace(build=partial(checkpoint_1.named_anew, entry.build))
    registry.add("Entry", checked(entry, parts.check_fields))
    for kind in (Best, RelaxationState, Solution):
        registry.add(kind.__name__, checked(codec.plain(kind), parts.check_fields))
    registry.add("RunState", checked(codec.plain(RunState), parts.check_fields, _check_run))
    checkpoint_1.add(registry, _check_run)
    # Rows that are on the workers of a cluster come home to be written, and go back when needed.
    registry.add("RowsOnWorkers", codec.Entry(Version, Version.fields, restored))
    for shelved in (Kept, exported.Found):
        fields = rows.fields if rows else _nothing
        build = rows.restored if rows else held_again
        registry.add(f"{shelved.__name__}Rows", codec.Entry(shelved, fields, build))
    registry.add("HeldRows", codec.Entry(Held, exported.held_fields, held_again))
    return registry


def _columns_of(summary: object, model: Model) -> Sizes:
    """Number of columns of tables, under the letter that it has for counts or for vectors."""
    if hasattr(summary, "column_totals"):
        # Held-out counts of a hierarchy stand beside the others, for the same columns of a table.
        times = 2 if isinstance(model, Hierarchy) and model.held_out else 1
        return {"J": len(summary.column_totals) // times}
    return {"D": len(summary.mean)} if hasattr(summary, "mean") else {}


def _check_run(run: RunState) -> None:
    """Refuse a run whose states are not those of its model."""
    model, sizes = run.model, Sizes()
    parts.check_temperature(model, run.temperature)
    parts.check_state(model, run.state, sizes)
    if run.relaxation.proven is not None:
        parts.check_state(model, run.relaxation.proven, sizes)
    parts.check_stats(model, run.stats, sizes)
    # A start, and the best state, may have other components, but not other columns.
    columns = {letter: n for letter, n in sizes.items() if letter in "JD"}
    if run.begin is not None:
        parts.check_shapes(run.begin.params, dict(columns))
        parts.check_rows(model, run.begin.rows, {})
    if run.best.solution is not None:
        parts.check_grown(run.best.solution, dict(columns))


def _check_version(path: Path, version: int) -> None:
    """Refuse checkpoints of later versions."""
    if type(version) is not int or not 1 <= version <= VERSION:
        raise IsothermError(
            f"{path} has version {str(version)[:20]} of checkpoints, and this library reads 1 to "
            f"{VERSION}; go on with the isotherm that wrote it, or remove the file to begin anew"
        )


def _nothing(value: object) -> dict[str, object]:
    return {}
