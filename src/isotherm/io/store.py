"""Save and load: what users keep, each in a file of its kind."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from isotherm.anneal.stages import Stages
from isotherm.data.counts import Counts
from isotherm.errors import IsothermError, IsothermWarning
from isotherm.estimators.base import Annealed
from isotherm.format import archive, values
from isotherm.io.registry import known
from isotherm.maps.corpus import CorpusMap
from isotherm.maps.workflow import MappedCorpus
from isotherm.retrieval.index import SearchIndex
from isotherm.text.word_counts import WordCounts

__all__ = ["load", "save"]

KINDS: tuple[tuple[type[object], str], ...] = (
    (Counts, "counts"),
    (Annealed, "fit"),
    (MappedCorpus, "fit"),
    (CorpusMap, "map"),
    (SearchIndex, "index"),
    (WordCounts, "words"),
    (Stages, "stages"),
)
KEPT = tuple(dict.fromkeys(name for _, name in KINDS))


def save(thing: object, path: str | os.PathLike[str]) -> Path:
    """Path of the file that was written; `load` reads it.

    The file is a zip of JSON and plain arrays, see docs/files.md. It is there as a whole or not at
    all: an older file is replaced in one step, once the new one is on the disk. Callbacks of an
    estimator are not kept.

    Parameters
    ----------
    thing : Counts, estimator, WordCounts, MappedCorpus, CorpusMap, SearchIndex or Stages
    path : str or path
        The name is taken as it is.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from isotherm import Counts, load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(save(Counts([[1, 2], [3, 0]]), f"{folder}/counts.iso"))
    Counts(2 rows x 2 columns, 3 non-zeros, total 6)
    """
    for kind, name in KINDS:
        if isinstance(thing, kind):
            _warn_of_callbacks(thing)
            return values.write(path, name, thing, known())
    raise IsothermError(
        f"cannot save {type(thing).__module__}.{type(thing).__qualname__}; what can be saved are "
        "Counts, estimators, WordCounts, what map_corpus returns, CorpusMap, SearchIndex and Stages"
    )


def load(path: str | os.PathLike[str]) -> Any:
    """What `save` wrote: counts, an estimator, a map or an index. Nothing in the file is executed.

    A loaded estimator gives the same results as the one that was saved, to the bit. Random numbers
    go on from where they were, if `random_state` was a generator.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Counts, estimator, WordCounts, MappedCorpus, CorpusMap or SearchIndex
    """
    found = values.read(path, known(), *KEPT)
    if not isinstance(found, tuple(kind for kind, _ in KINDS)):
        raise archive.unreadable(Path(path), f"it holds {type(found).__name__}")
    return found


def _warn_of_callbacks(thing: object) -> None:
    if len(getattr(getattr(thing, "engine", None), "callbacks", ())):
        warnings.warn(
            f"the callbacks of {type(thing).__name__} are not saved: they are code; give them "
            "again after loading",
            IsothermWarning,
            stacklevel=3,
        )
