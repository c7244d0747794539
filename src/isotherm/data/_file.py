"""Counts as files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from isotherm._types import Fields
from isotherm.format import values
from isotherm.format.codec import Entry, Registry

if TYPE_CHECKING:
    from isotherm.data.counts import Counts

# Name in files -> attribute. Those in files stay as they are: a name there is part of the format.
FIELDS = {"matrix": "matrix", "row_ids": "row_names", "column_names": "column_names"}


def entry() -> Entry:
    """How counts are taken apart, and put together again with all checks."""
    from isotherm.data.counts import Counts, as_counts

    def fields(counts: Counts) -> Fields:
        return {name: getattr(counts, attribute) for name, attribute in FIELDS.items()}

    def build(parts: dict[str, object]) -> Counts:
        return as_counts(*(parts[name] for name in FIELDS), allow_empty=True)

    return Entry(Counts, fields, build)


def save(counts: Counts, path: str | os.PathLike[str]) -> Path:
    """Path of the file that was written."""
    return values.write(path, "counts", counts, _alone())


def load(path: str | os.PathLike[str]) -> Counts:
    """Counts of a file; no other type can come out of it."""
    known = entry()
    counts: Counts = values.expect(values.read(path, _alone(), "counts"), known.kind, path)
    return counts


def _alone() -> Registry:
    registry = Registry()
    registry.add("Counts", entry())
    return registry
