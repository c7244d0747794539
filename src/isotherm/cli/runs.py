"""Runs: what a fit leaves behind, in a folder.

`model.iso`, `counts.iso`, `documents.jsonl.gz` and `run.json`, which says how they came to be.
A fit that is not done yet has its folder under another name; the folder gets its own in one step.
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import isotherm
from isotherm.cli import documents, own
from isotherm.cli.documents import Documents
from isotherm.cli.options import as_json, checked, saved
from isotherm.cli.suggest import existing
from isotherm.errors import IsothermError
from isotherm.format.atomic import RUN_ABOUT, RUN_FORMAT, replacing

if TYPE_CHECKING:
    from isotherm.data.counts import Counts

FORMAT, VERSION = RUN_FORMAT, 1
ENDING, UNFINISHED = ".run", ".unfinished"
ABOUT, MODEL, COUNTS = RUN_ABOUT, "model.iso", "counts.iso"
# What was read as what, in lines.
READ = "read"
# Counts of a fit that leaves them on the disk, as long as it goes on.
STORED = "counts.stored"
# What is read of a run, by the types that it has in its file.
ABOUT_TYPES: dict[str, Any] = {"source": str, "documents": int, "words": int, "tokens": int | float}
ABOUT_TYPES |= {"settings": dict, "library": str, "interrupted": bool, READ: list}
DOCUMENTS, CHECKPOINT = "documents.jsonl.gz", "fit.checkpoint"


@dataclass(frozen=True)
class Run:
    """A folder with a fit; its parts are read when they are asked for.

    Attributes
    ----------
    folder : Path
    about : dict
        What `run.json` says: source, settings, outcome.
    """

    folder: Path
    about: dict[str, Any]

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of counting and of the fit, by name."""
        settings: dict[str, Any] = self.about["settings"]
        return settings

    @property
    def counting(self) -> dict[str, Any]:
        """The settings by which new texts are counted.

        A list of stop words that is missing by now does no harm: they are not columns.
        """
        stop = self.settings["stop_words"]
        there = stop in ("english", "none") or Path(stop).is_file()
        return {**self.settings, "stop_words": stop if there else "none"}

    @property
    def finished(self) -> bool:
        """Whether there is a model."""
        return (self.folder / MODEL).is_file()

    @property
    def checkpoint(self) -> Path:
        """Where a fit that is not done is to go on from."""
        return self.folder / CHECKPOINT

    @cached_property
    def model(self) -> Any:
        """The fitted estimator."""
        from isotherm.io.store import load

        return load(self.folder / MODEL)

    @cached_property
    def counts(self) -> Counts:
        """What it was fitted to."""
        from isotherm.data.counts import Counts

        return Counts.load(self.folder / COUNTS)

    def to_fit(self, memory: float | None) -> Any:
        """What to fit to: the counts, or where memory is short, a folder of them."""
        from isotherm.data.stored import StoredCounts

        if memory is None:
            return self.counts
        folder = self.folder / STORED
        if not folder.exists():
            return StoredCounts.write(folder, self.folder / COUNTS, memory=memory)
        return StoredCounts(folder, memory)

    def drop_stored(self) -> None:
        """Remove the folder of counts that a fit within a budget of memory needs."""
        shutil.rmtree(self.folder / STORED, ignore_errors=True)

    @cached_property
    def words(self) -> list[str]:
        """Names of the columns, or their numbers."""
        names = self.counts.column_names
        return [str(name) for name in (range(self.counts.n_columns) if names is None else names)]

    @cached_property
    def documents(self) -> Documents:
        """Names, titles and texts of the rows."""
        return documents.read(self.folder / DOCUMENTS, self.counts)

    @property
    def labels(self) -> list[Any] | None:
        """Labels of the rows, if the fit was told which field has them."""
        return self.documents.labels(self.settings["labels"])

    def check_topics_of_documents(self) -> None:
        """Refuse models that give documents to clusters, and only those to topics."""
        if hasattr(self.model, "cluster_centers_"):
            raise IsothermError(
                f"{self.folder} holds {type(self.model).__name__}, whose documents have clusters "
                f"in place of topics; isotherm topics {self.folder} shows the topics, and other "
                "models can be drawn"
            )

    def record(self, more: dict[str, Any]) -> Run:
        """The run with more to say of it, also in its file."""
        about = {**self.about, **more}
        _write(self.folder, about)
        return Run(self.folder, about)


def open_run(path: Path) -> Run:
    """The run in a folder, if it is one that is done."""
    existing(path, "a run, which isotherm fit writes")
    if not (path / ABOUT).is_file():
        raise IsothermError(
            f"{path} is no run; give the folder that isotherm fit wrote ({path.stem}{ENDING}, "
            f"for instance), or make it by isotherm fit {path}"
        )
    run = read(path)
    if not run.finished:
        raise IsothermError(
            f"the fit in {path} is not done; isotherm fit {run.about['source']} --resume goes on"
        )
    return run


def read(folder: Path) -> Run:
    """The run in a folder, done or not."""
    path = folder / ABOUT
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise ValueError("it does not say that this is a run")
        version = int(about["version"])
        if version > VERSION:
            raise IsothermError(
                f"{folder} is a run of version {version}, and this isotherm reads up to {VERSION}; "
                "install a newer one"
            )
        _check({"interrupted": False, READ: [], **about}, ABOUT_TYPES)
        about["settings"] = checked(about["settings"], saved("fit"))
    except IsothermError:
        raise
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as error:
        raise IsothermError(f"{path} is damaged ({error!r:.100}); fit again") from error
    return Run(folder, about)


def _check(values: dict[str, Any], types: dict[str, Any]) -> None:
    """Refuse values of other types than those that are written."""
    for name, kind in types.items():
        if not isinstance(values[name], kind):
            raise TypeError(f"{name} is {type(values[name]).__name__}")


def topics_of(model: Any, n_words: int, by: str) -> list[dict[str, Any]]:
    """Number, share and words of every topic, the largest first."""
    words = model.top_words(n_words, by=by)
    shares = model.weights_.tolist()
    order = sorted(range(len(shares)), key=lambda k: -shares[k])
    return [{"topic": k, "share": shares[k], "words": words[k]} for k in order]


def topic_lines(topics: list[dict[str, Any]]) -> str:
    """A line for each topic."""
    return "\n".join(
        f"{one['topic']:4d}  {100 * one['share']:5.1f} %  {' '.join(one['words'])}"
        for one in topics
    )


def is_run(path: Path) -> bool:
    """Whether a path is the folder of a run, done or not."""
    if not (path / ABOUT).is_file():
        return False
    # A damaged one is a run as well, and no folder of documents.
    return own.has_mark(path.resolve()) or any((path / name).is_file() for name in (MODEL, COUNTS))


def is_archive(path: Path) -> bool:
    """Whether a file is of the kind that isotherm writes."""
    if not path.is_file() or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as file:
            return "meta.json" in file.namelist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


@contextmanager
def holding(folder: Path) -> Iterator[None]:
    """Let no other process of this computer work in the folder as long as the block lasts.

    The lock is on the folder itself, goes with it when it is renamed, and ends with the process.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise IsothermError(
                    f"another process is at work in {folder}; wait until it is done, or give "
                    "another name with -o"
                ) from None
        yield
    finally:
        os.close(descriptor)


# Making them --------------------------------------------------------------------------------------


def create(
    final: Path, source: Path, settings: dict[str, Any], counts: Counts, docs: Documents
) -> Run:
    """A run with everything but its model, in an empty folder under its unfinished name."""
    folder = unfinished(final)
    stored = getattr(counts, "folder", None)
    if stored is not None:
        # They were put there a moment ago, from a file that needs no more than a copy.
        shutil.copyfile(source, folder / COUNTS)
        stored.rename(folder / STORED)
    else:
        counts.save(folder / COUNTS)
    documents.write(folder / DOCUMENTS, docs)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "library": f"isotherm {isotherm.__version__}",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "source": str(source),
        "documents": counts.n_rows,
        "words": counts.n_columns,
        "tokens": counts.total,
        "settings": as_json(settings),
    }
    # Last: a folder without it was left before the fit began.
    _write(folder, about)
    return Run(folder, about)


def finish(run: Run, final: Path) -> Run:
    """The run under its own name; an older one of that name goes, if it may."""
    own.check_final(final, force=own.may_replace(run.folder))
    own.replace(run.folder, final)
    return Run(final, run.about)


def unfinished(final: Path) -> Path:
    """Name of the folder of a run that is not done."""
    return final.with_name(final.name + UNFINISHED)


def _write(folder: Path, about: dict[str, Any]) -> None:
    with replacing(folder / ABOUT) as unfinished_file:
        unfinished_file.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
