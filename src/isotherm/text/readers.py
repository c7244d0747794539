"""Records of files of text: one to a line, to a file, to a JSON object or to a marked part.

Each reader is a function from a path to records; a line that it cannot read is a problem, never
the end.
"""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from isotherm._types import Fields
from isotherm.errors import IsothermError
from isotherm.text.opening import read_lines, read_text
from isotherm.text.problems import Problems
from isotherm.text.records import TEXTS, Columns, Document, Record

# Fields of a SMART collection by their letter.
SMART = {"T": "title", "A": "author", "B": "bib", "K": "keywords", "N": "note", "X": "refs"}
_SMART_MARK = re.compile(r"\.([A-Z])(?:\s+(.*))?$")
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)[^<>]*>")
_DOC = re.compile(r"(</?doc(?:\s[^<>]*)?>)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([A-Za-z][\w.-]*)\s*=\s*("[^"<>]*"|'[^'<>]*'|[^\s"'<>]+)""")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});")
# What `json.loads` raises: long numbers and deep nesting besides plain mistakes.
_NOT_JSON = (ValueError, RecursionError)
# An object with one of these is a document, and no mapping from names to texts.
HEADINGS = ("title", "headline", "author", "date", "url", "id", "_id", "docno")
_NOTHING: Mapping[str, object] = MappingProxyType({})


def line_records(path: Path, encoding: str, problems: Problems) -> Iterator[Record]:
    """One document to a line; empty lines are passed over."""
    for number, text in read_lines(path, encoding, problems):
        if text.strip():
            yield Record(number, {"text": text.rstrip("\r\n")})


def json_line_records(path: Path, encoding: str, problems: Problems) -> Iterator[Record]:
    """One JSON object, or one string, to a line."""
    for number, text in read_lines(path, encoding, problems):
        if not text.strip():
            continue
        try:
            value = json.loads(text)
        except _NOT_JSON as error:
            problems.add(str(path), number, f"no valid JSON ({error})")
            continue
        values = _json_values(value)
        if values is None:
            kind = type(value).__name__
            problems.add(str(path), number, f"neither an object nor a string, but {kind}")
        else:
            yield Record(number, values)


def json_records(path: Path, encoding: str, problems: Problems) -> Iterator[Record]:
    """Objects or strings of one JSON list, or of an object {id: text}; read as a whole.

    A file of JSON lines is read as such. Items count from 1 where others count lines.
    """
    text = read_text(path, encoding, problems)
    try:
        value = json.loads(text)
    except _NOT_JSON as error:
        if _first_line_is_json(text):
            yield from json_line_records(path, encoding, problems)
            return
        raise IsothermError(
            f"{path} is no valid JSON ({error}); give a list of objects or strings, or one object "
            "to a line."
        ) from error
    if isinstance(value, dict):
        value = _items_of(value)
    if not isinstance(value, list):
        raise IsothermError(
            f"{path} holds {type(value).__name__}; give a list of objects or strings."
        )
    for number, item in enumerate(value, 1):
        values = _json_values(item)
        if values is None:
            kind = type(item).__name__
            problems.add(str(path), number, f"neither an object nor a string, but {kind}")
        else:
            yield Record(number, values)


def _items_of(value: dict[str, object]) -> list[object]:
    """The documents of one JSON object: it is one itself, has a list of them, or names texts."""
    names = {name.lower() for name, one in value.items() if isinstance(one, str)}
    if names.intersection(TEXTS):
        return [value]
    lists = [one for one in value.values() if isinstance(one, list)]
    if len(lists) == 1 and (not names or any(isinstance(item, dict) for item in lists[0])):
        return lists[0]
    if len(names) == len(value) and not names.intersection(HEADINGS):
        return [{"id": name, "text": text} for name, text in value.items()]
    return [value]


def _first_line_is_json(text: str) -> bool:
    first = text.lstrip().split("\n", 1)[0]
    try:
        return isinstance(json.loads(first), dict | str)
    except _NOT_JSON:
        return False


def _json_values(value: object) -> dict[str, object] | None:
    if isinstance(value, str):
        return {"text": value}
    return value if isinstance(value, dict) else None


def smart_records(path: Path, encoding: str, problems: Problems) -> Iterator[Record]:
    """Documents of a SMART collection: `.I` opens one, `.T`, `.A`, `.W` ... open its fields.

    The text is title and words; where the words begin with the title, as those of Cranfield do,
    the title is not repeated.
    """
    found: dict[str, list[str]] = {}
    start, mark = 0, ""
    for number, raw in read_lines(path, encoding, problems):
        match = _SMART_MARK.match(raw.rstrip())
        if match and match[1] == "I":
            if start:
                yield Record(start, _smart_values(found))
            found, start, mark = {"I": [match[2] or str(number)]}, number, ""
        elif match and start and not match[2]:
            mark = match[1]
            found.setdefault(mark, [])
        elif start and mark:
            found[mark].append(raw.strip())
        elif raw.strip():
            problems.add(str(path), number, "stands outside of a document, before '.I' or a field")
    if start:
        yield Record(start, _smart_values(found))


def _smart_values(found: dict[str, list[str]]) -> dict[str, object]:
    joined = {mark: "\n".join(lines).strip() for mark, lines in found.items()}
    title, words = joined.get("T", ""), joined.get("W", "")
    repeated = " ".join(words.split()).startswith(" ".join(title.split()))
    values: dict[str, Any] = {"id": joined["I"]}
    values["text"] = words if repeated else f"{title}\n{words}"
    values.update((SMART[mark], text) for mark, text in joined.items() if mark in SMART)
    return values


def trec_records(path: Path, encoding: str, problems: Problems) -> Iterator[Record]:
    """Documents between <DOC> and </DOC>; the text is what <TEXT> holds, or else all but tags."""
    parts: list[str] = []
    start = 0
    for number, raw in read_lines(path, encoding, problems):
        # Every other piece is a mark.
        for is_mark, piece in zip(itertools.cycle((False, True)), _DOC.split(raw), strict=False):
            if is_mark and piece[1] != "/":
                if start:
                    problems.add(str(path), start, "<DOC> without </DOC>")
                parts, start = [piece], number
            elif start:
                parts.append(piece)
                if is_mark:
                    yield from _trec_record("".join(parts), path, start, problems)
                    start = 0
            elif piece.strip() and _TAG.sub("", piece).strip():
                problems.add(str(path), number, "stands outside of <DOC> ... </DOC>")
    if start:
        problems.add(str(path), start, "<DOC> without </DOC>")


def _trec_record(text: str, path: Path, line: int, problems: Problems) -> Iterator[Record]:
    values: dict[str, list[str]] = {}
    tag, since = "", 0
    marks = [(match, match[1], match[2].lower()) for match in _TAG.finditer(text)]
    last = {name: match.start() for match, closing, name in marks if closing}
    for match, closing, name in marks:
        if closing and name == tag:
            values.setdefault(tag, []).append(_untagged(text[since : match.start()]))
            tag = ""
        elif not (closing or tag or name == "doc"):
            if last.get(name, -1) > match.start():
                tag, since = name, match.end()
            elif name == "text":
                problems.add(str(path), line, "<TEXT> without </TEXT>")
                return
            # Others that nothing closes, <P> or <BR>, have no text of their own.
    record: Fields = {name: "\n".join(parts) for name, parts in values.items()}
    if "text" not in record:
        rest = [part for name, parts in values.items() if name != "docno" for part in parts]
        record["text"] = "\n".join(rest) if rest else _untagged(text)
    if "docno" not in record:  # newer collections name a document in its mark
        for name, value in _ATTRIBUTE.findall(marks[0][0][0]):
            record.setdefault(name.lower(), value.strip("\"'"))
    yield Record(line, record)


def _untagged(text: str) -> str:
    """Text without tags, and with signs for what stands for them: & for &amp;."""
    return _ENTITY.sub(_sign, _TAG.sub(" ", text)).strip()


def _sign(entity: re.Match[str]) -> str:
    sign = html.unescape(entity[0])
    return " " if sign == entity[0] else sign


def item_documents(
    items: Iterable[object], problems: Problems, columns: Columns
) -> Iterator[Document]:
    """Documents of an iterable of str, (id, text), mappings or paths.

    As long as items are str they need no records, which would take longer than counting does.
    """
    stream = iter(items)
    number = 0
    if columns.text is None and columns.id is None:
        columns.names = ("text",)
        columns.text, columns.guessed = "text", True
        for item in stream:
            if type(item) is not str:
                stream = itertools.chain([item], stream)
                break
            yield Document(str(number), item, _NOTHING, f"item:{number + 1}")
            number += 1
        if not number:
            columns.text, columns.guessed = None, False
    yield from columns.documents(item_records(stream, problems, number), "item", problems, number)


def item_records(items: Iterable[object], problems: Problems, first: int = 0) -> Iterator[Record]:
    """Records of an iterable of str, (id, text), mappings or paths, numbered from `first` + 1."""
    for number, item in enumerate(items, first + 1):
        if isinstance(item, str):
            yield Record(number, {"text": item})
        elif isinstance(item, Document):
            yield Record(number, {**item.fields, "id": item.id, "text": item.text})
        elif isinstance(item, dict) and all(isinstance(key, str) for key in item):
            yield Record(number, dict(item))
        elif isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[1], str):
            yield Record(number, {"id": item[0], "text": item[1]})
        elif isinstance(item, PathLike):
            yield from _path_record(Path(item), number, problems)
        else:
            kind = type(item).__name__
            reason = f"is {kind}; items are str, (id, text), dicts with names, or paths"
            problems.add("item", number, reason)


def _path_record(path: Path, number: int, problems: Problems) -> Iterator[Record]:
    try:
        yield Record(number, {"id": str(path), "text": read_text(path, "utf-8", problems)})
    except IsothermError as error:
        problems.add(str(path), 0, str(error))
