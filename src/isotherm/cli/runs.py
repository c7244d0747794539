"""Runs: what a fit leaves behind, in a folder.

`model.iso`, `counts.iso`, `documents.jsonl.gz` and `run.json`, which says how they came to be.
A fit that is not done yet has its folder under another name; the folder gets its own in one step.
Whatever else lies where a run is to be written was put there by somebody: it is named in an error
before any work begins, and it stays.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import re
import shutil
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import isotherm
from isotherm.cli import documents
from isotherm.cli.documents import Documents
from isotherm.cli.options import as_json, checked, saved
from isotherm.cli.suggest import existing
from isotherm.errors import IsothermError
from isotherm.format.atomic import RUN_ABOUT, RUN_BEGUN, RUN_FORMAT, replacing

if TYPE_CHECKING:
    from isotherm._types import Fields
    from isotherm.data.counts import Counts
    from isotherm.data.table import CountTable
    from isotherm.estimators.counts import CountEstimator

FORMAT, VERSION = RUN_FORMAT, 1
ENDING, UNFINISHED = ".run", ".unfinished"
ABOUT, MODEL, COUNTS = RUN_ABOUT, "model.iso", "counts.iso"
# What was read as what, in lines.
READ = "read"
# Counts of a fit that leaves them on the disk, as long as it goes on.
STORED = "counts.stored"
# What is read of a run, by the types that it has in its file.
ABOUT_TYPES: dict[str, type | UnionType] = {
    "source": str,
    "documents": int,
    "words": int,
    "tokens": int | float,
}
ABOUT_TYPES |= {"settings": dict, "library": str, "interrupted": bool, READ: list}
DOCUMENTS, CHECKPOINT = "documents.jsonl.gz", "fit.checkpoint"
# Parts that stay the same when topics are edited.
SHARED = ("counts", "words", "documents")
# Marks the folder of a run from its first moment until it has its name.
MARK = RUN_BEGUN
# What a run is made of, and hidden files of processes that were killed while they wrote it.
FILES = re.compile(
    r"run\.json|begun\.json|(model|counts|stages)\.iso|documents\.jsonl\.gz|fit\.checkpoint"
    r"|map[23]\.[0-9a-f]{16}\.(map|gtm)|\..+\.\d{1,9}\.part(\.\w+)?"
)
FOLDERS = ("counts.stored", "fit.checkpoint.rows")


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
    about: Fields

    @property
    def settings(self) -> Fields:
        """Settings of counting and of the fit, by name."""
        settings: Fields = self.about["settings"]
        return settings

    @property
    def counting(self) -> Fields:
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
    def state(self) -> str:
        """What tells the file of the model from any that takes its place."""
        file = (self.folder / MODEL).stat()
        return f"{file.st_ino:x}.{file.st_mtime_ns:x}.{file.st_size:x}"

    @cached_property
    def model(self) -> CountEstimator:
        """The fitted estimator."""
        from isotherm.io.store import load

        _ = self.state  # that of the file that is read, or of an older one
        model: CountEstimator = load(self.folder / MODEL)
        return model

    @cached_property
    def counts(self) -> Counts:
        """What it was fitted to."""
        from isotherm.data.counts import Counts

        return Counts.load(self.folder / COUNTS)

    def to_fit(self, memory: float | None) -> CountTable:
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

    def edited(self, model: CountEstimator) -> Run:
        """The run with another model of the same documents, which is in its file from now on.

        Both files are as they were if that fails: what is said of the model is written first, and
        takes the place of the old when the model is there.
        """
        more = {"topics": len(model.weights_), "edits": len(model.edits_)}
        run = Run(self.folder, {**self.about, **more})
        with _writing(self.folder, run.about):
            model.save(self.folder / MODEL)
        # What was read stays read.
        vars(run).update({name: vars(self)[name] for name in SHARED if name in vars(self)})
        vars(run).update(model=model, state=run.state)
        return run

    def record(self, more: dict[str, object]) -> Run:
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


def at_level(options: argparse.Namespace) -> Run:
    """The run that a verb is about, with its model at the level that was asked for."""
    run = open_run(options.run)
    if options.level is not None:
        model: Any = run.model
        if not hasattr(model, "at"):
            raise IsothermError(
                f"--level {options.level} with {options.run}, whose {type(model).__name__} has no "
                "levels; leave it out"
            )
        vars(run)["model"] = model.at(options.level)
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


def _check(values: dict[str, object], types: Mapping[str, type | UnionType]) -> None:
    """Refuse values of other types than those that are written."""
    for name, kind in types.items():
        if not isinstance(values[name], kind):
            raise TypeError(f"{name} is {type(values[name]).__name__}")


class TopicLine(TypedDict):
    """Number, name, share of the tokens and words of a topic, and how reproducible it is."""

    topic: int
    name: str
    share: float
    words: list[str]
    reproducibility: NotRequired[float | None]


def topics_of(model: CountEstimator, n_words: int, by: str) -> list[TopicLine]:
    """What is said of every topic, the largest first."""
    from isotherm.estimators.outline import reproducibility

    words = model.top_words(n_words, by=by)
    shares, known = model.weights_.tolist(), reproducibility(model)
    order = sorted(range(len(shares)), key=lambda k: -shares[k])
    found: list[TopicLine] = []
    for k in order:
        one = TopicLine(topic=k, name=model.names_[k], share=shares[k], words=words[k])
        if known is not None:
            one["reproducibility"] = known_number(known[k])
        found.append(one)
    return found


def known_number(value: float) -> float | None:
    """A number as JSON has it; None where it is not known."""
    return None if math.isnan(value) else float(value)


def topic_lines(topics: list[TopicLine], width: int | None = None) -> str:
    """A line for each topic: its number, share and name, and words that the name does not say.

    Where a line has a width, as many words as it has room for.
    """
    from isotherm.estimators.outline import ALONE, SOLID, other_words

    longest = max((len(one["name"]) for one in topics), default=0)
    known = any("reproducibility" in one for one in topics)
    lines = []
    for one in topics:
        line = f"{one['topic']:4d}  {100 * one['share']:5.1f} %  "
        value = one.get("reproducibility")
        if known:
            line += f"{'' if value is None else f'{value:.2f}':4}  "
        line += f"{one['name']:{longest}} "
        tail = f"  ({ALONE})" if value is not None and value < SOLID else ""
        room = None if width is None else width - len(line) - len(tail)
        words = _fitting(other_words(one["name"], one["words"]), room)
        lines.append((line + words).rstrip() + tail)
    return "\n".join(lines)


def _fitting(words: list[str], room: int | None) -> str:
    """Words with a blank in front of each, as many as there is room for."""
    text = ""
    for word in words:
        if room is not None and len(text) + len(word) + 1 > room:
            break
        text += f" {word}"
    return text


def is_run(path: Path) -> bool:
    """Whether a path is the folder of a run, done or not."""
    if not (path / ABOUT).is_file():
        return False
    # A damaged one is a run as well, and no folder of documents.
    return has_mark(path.resolve()) or any((path / name).is_file() for name in (MODEL, COUNTS))


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
def holding(folder: Path, otherwise: str = ", or give another name with -o") -> Iterator[None]:
    """Let no other process of this computer work in the folder as long as the block lasts.

    The lock is on the folder itself, goes with it when it is renamed, and ends with the process.
    Where it is taken, the error says to wait, or `otherwise`.
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
                    f"another process is at work in {folder}; wait until it is done{otherwise}"
                ) from None
        yield
    finally:
        os.close(descriptor)


# Making them --------------------------------------------------------------------------------------


def create(
    final: Path, source: Path, settings: dict[str, object], counts: Counts, docs: Documents
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
    check_final(final, force=may_replace(run.folder))
    replace(run.folder, final)
    return Run(final, run.about)


def unfinished(final: Path) -> Path:
    """Name of the folder of a run that is not done."""
    return final.with_name(final.name + UNFINISHED)


def _write(folder: Path, about: dict[str, object]) -> None:
    with _writing(folder, about):
        pass


@contextmanager
def _writing(folder: Path, about: dict[str, object]) -> Iterator[None]:
    """Write what is known of a run, and give it its name when the block has ended well."""
    with replacing(folder / ABOUT) as unfinished_file:
        unfinished_file.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        yield


# What may be removed: folders with the mark of a run, and in them its own files -------------------


def has_mark(folder: Path) -> bool:
    """Whether a folder is one that isotherm fit made: done, left unfinished, or hardly begun."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return any(_format(folder / name) == RUN_FORMAT for name in (RUN_ABOUT, MARK))


def _format(path: Path) -> object:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return about.get("format") if isinstance(about, dict) else None


def strangers(folder: Path) -> list[str]:
    """Names of what is in the folder of a run and no part of it."""
    return sorted(path.name for path in folder.iterdir() if not _is_part(path))


def _is_part(path: Path) -> bool:
    if path.is_dir() and not path.is_symlink():
        return path.name in FOLDERS
    return FILES.fullmatch(path.name) is not None


def mark(folder: Path, *, replaces: bool) -> None:
    """Make the folder of a run, marked; `replaces` says whether an older run is to make way."""
    folder.mkdir(exist_ok=True)
    about = {"format": RUN_FORMAT, "replaces": replaces}
    (folder / MARK).write_text(json.dumps(about) + "\n", encoding="utf-8")


def may_replace(folder: Path) -> bool:
    """Whether the fit in a folder was begun with leave to replace an older run."""
    try:
        return json.loads((folder / MARK).read_text(encoding="utf-8"))["replaces"] is True
    except (OSError, ValueError, LookupError, TypeError):
        return False


def check_final(final: Path, *, force: bool) -> None:
    """Refuse a name that is taken, unless by a run that may be replaced."""
    if not os.path.lexists(final):
        return
    if final.is_symlink():
        raise IsothermError(
            f"{final} is a link to {os.readlink(final)}; give that with -o, or another name"
        )
    if not has_mark(final):
        raise IsothermError(
            f"{final} is there already and is no run of isotherm, so that not even --force "
            "replaces it; move it away, or give another name with -o"
        )
    if not force:
        raise IsothermError(
            f"{final} is there already; give another name with -o, or --force to replace it"
        )


def check_work(work: Path) -> None:
    """Refuse to work in a place that holds anything of somebody else's."""
    if not os.path.lexists(work):
        return
    if work.is_symlink() or not work.is_dir():
        what = ["it is no folder"]
    elif has_mark(work):
        what = strangers(work)
    else:
        what = sorted(os.listdir(work))  # an empty folder holds nothing of anybody's
    if what:
        more = ", ..." if len(what) > 3 else ""
        raise IsothermError(
            f"the fit would work in {work}, which holds what isotherm did not put there "
            f"({', '.join(what[:3])}{more}); move it away, or give another name with -o"
        )


def remove(folder: Path) -> None:
    """Remove the folder of a run; what is no part of it stays where it is."""
    for path in folder.iterdir():
        if not _is_part(path):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    with suppress(OSError):  # something of somebody else's is left
        folder.rmdir()


def replace(work: Path, final: Path) -> None:
    """Give a folder its name; an older run of that name goes, and what others put there stays."""
    (work / MARK).unlink(missing_ok=True)
    if os.path.lexists(final):
        old = final.with_name(f".{final.name}.{uuid.uuid4().hex}.replaced")
        final.rename(old)
        try:
            work.rename(final)
        except OSError:
            old.rename(final)
            raise
    else:
        work.rename(final)
    for old in _replaced(final):
        _move_strangers(old, final)
        remove(old)


def _replaced(final: Path) -> list[Path]:
    """Older runs of that name: the one just replaced, and those of processes that were killed."""
    pattern = re.compile(rf"\.{re.escape(final.name)}\.[0-9a-f]{{32}}\.replaced")
    beside = (path for path in final.parent.iterdir() if pattern.fullmatch(path.name))
    return sorted(path for path in beside if has_mark(path))


def _move_strangers(old: Path, final: Path) -> None:
    for name in strangers(old):
        if not os.path.lexists(final / name):
            (old / name).rename(final / name)
