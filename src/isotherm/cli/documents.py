"""What is kept of documents to show it later: a file of JSON lines beside the counts."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isotherm.cli.options import checked, saved
from isotherm.errors import IsothermError
from isotherm.format.atomic import replacing

if TYPE_CHECKING:
    from isotherm.data.counts import Counts
    from isotherm.text.ingest import Ingestion

ENDING = ".documents.jsonl.gz"
TITLES = ("title", "headline", "subject", "name", "heading")
# A text without a title is shown by its opening.
OPENING = 72
# What reading a damaged file may end in.
DAMAGE = (
    *(OSError, EOFError, StopIteration, ValueError, LookupError, AttributeError, TypeError),
    *(RecursionError, zlib.error),
)


class Documents(NamedTuple):
    """Names and titles of I documents; fields and texts where they were kept.

    `counting` are the settings by which they were counted, where they are known.
    """

    ids: tuple[str, ...]
    titles: tuple[str, ...]
    fields: tuple[Mapping[str, object], ...]
    texts: tuple[str, ...] | None
    counting: dict[str, object] | None = None

    def labels(self, column: str | None) -> list[Any] | None:
        """Values of a field, one for each document; None where no field is asked for."""
        if column is None:
            return None
        known = sorted({name for fields in self.fields for name in fields})
        if column not in known:
            from isotherm.cli.suggest import did_you_mean

            raise IsothermError(
                f"the documents have no field {column!r}{did_you_mean(column, known)}; their "
                f"fields are {', '.join(known) or 'none'}"
            )
        return [_plain(fields.get(column)) for fields in self.fields]


def of_ingestion(found: Ingestion, counting: dict[str, object]) -> Documents:
    """What counting kept of the documents."""
    ids = of_counts(found.counts).ids
    fields = found.fields or ({},) * len(ids)
    texts = found.texts
    openings = ("",) * len(ids) if texts is None else texts
    titles = tuple(map(_title, ids, fields, openings))
    return Documents(ids, titles, tuple(fields), texts, counting)


def of_counts(counts: Counts) -> Documents:
    """Documents of which no more than their names is known."""
    names = range(counts.n_rows) if counts.row_names is None else counts.row_names
    ids = tuple(map(str, names))
    return Documents(ids, ids, ({},) * len(ids), None)


def beside(counts: Path) -> Path:
    """Path of the documents of a file of counts."""
    return counts.with_name(counts.name + ENDING)


def write(path: Path, documents: Documents) -> None:
    """Write the file; it is there as a whole or not at all."""
    with writing(path, documents):
        pass


@contextmanager
def writing(path: Path, documents: Documents) -> Iterator[None]:
    """Write the file, and give it its name when the block has ended well."""
    with replacing(path) as unfinished:
        with unfinished.open("wb") as raw:
            # No time and no name in it: the same documents make the same file.
            packed = gzip.GzipFile("", "wb", 5, raw, mtime=0)
            with packed, io.TextIOWrapper(packed, encoding="utf-8", errors="surrogatepass") as file:
                for line in _lines(documents):
                    file.write(line)
        yield


def read(path: Path, counts: Counts) -> Documents:
    """Documents of a file; only their names where it is missing."""
    if not path.exists():
        return of_counts(counts)
    try:
        with gzip.open(path, "rt", encoding="utf-8", errors="surrogatepass") as file:
            counting = json.loads(next(file))["counting"]
            rows = [_entry(json.loads(line)) for line in file]
            if not (counting is None or isinstance(counting, dict)):
                raise TypeError("settings of a wrong type")
            counting = checked(counting, saved("count")) if counting else None
    except DAMAGE as error:
        raise IsothermError(
            f"{path} is damaged ({error}); remove it to go on without titles and texts"
        ) from error
    ids, titles, fields, texts = zip(*rows, strict=True) if rows else ((), (), (), ())
    if list(ids) != list(of_counts(counts).ids):
        raise IsothermError(
            f"{path} has other documents than the counts beside it; remove it, or count again"
        )
    whole = None if any(text is None for text in texts) else texts
    return Documents(ids, titles, fields, whole, counting)


def _entry(one: Any) -> tuple[str, str, dict[str, Any], str | None]:
    found = one["id"], one["title"], one["fields"], one.get("text")
    if not all(map(isinstance, found, (str, str, dict, str | None))):
        raise TypeError("an entry of a wrong type")
    return found


def _lines(documents: Documents) -> Iterator[str]:
    yield json.dumps({"counting": documents.counting}, default=str) + "\n"
    texts: Sequence[str | None] = documents.texts or (None,) * len(documents.ids)
    columns = documents.ids, documents.titles, documents.fields, texts
    for name, title, fields, text in zip(*columns, strict=True):
        entry: dict[str, object] = {"id": name, "title": title, "fields": fields}
        if text is not None:
            entry["text"] = text
        # Dates and the like are kept as text.
        yield json.dumps(entry, default=str) + "\n"


def _title(name: str, fields: Mapping[str, object], text: str) -> str:
    by_name = {str(key).lower(): value for key, value in fields.items()}
    for key in TITLES:
        value = by_name.get(key)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
    return opening(text) or name


def opening(text: str, most: int = OPENING) -> str:
    """The beginning of a text on one line, cut at a word."""
    line = " ".join(text[: 8 * most].split())
    if len(line) <= most:
        return line
    return (line[:most].rpartition(" ")[0] or line[:most]) + " …"


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
