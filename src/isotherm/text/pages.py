"""The text of HTML and XML: without tags, scripts and styles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from isotherm.errors import IsothermError
from isotherm.text.opening import check_encoding, head_of, read_text
from isotherm.text.problems import Problems
from isotherm.text.records import Record

# What these hold is not for readers.
UNSEEN = frozenset(("script", "style", "template", "noscript"))
# These stand within words; all others part them.
INLINE = frozenset(
    "a abbr b bdi bdo cite code em font i kbd mark q s small span strong sub sup tt u".split()
)
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([\w-]+)""", re.IGNORECASE)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self.within: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in UNSEEN or tag == "title":
            self.within.append(tag)
        elif tag not in INLINE:
            self.parts.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in INLINE:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.within:
            del self.within[self.within.index(tag) :]
        if tag not in INLINE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if UNSEEN.intersection(self.within):
            return
        self.parts.append(data)
        if "title" in self.within:
            self.title.append(data)

    def unknown_decl(self, data: str) -> None:
        if data.startswith("CDATA["):
            self.handle_data(data.removeprefix("CDATA["))


def page_records(path: Path, encoding: str, problems: Problems) -> Iterator[Record]:
    """One record: the text of a page, and its title."""
    declared = _CHARSET.search(head_of(path))
    if encoding == "utf-8" and declared is not None:
        encoding = _known(declared[1].decode("ascii")) or encoding
    parser = _Text()
    try:
        parser.feed(read_text(path, encoding, problems))
        parser.close()
    except AssertionError as error:  # what the parser says of a declaration that it does not know
        raise IsothermError(f"{path} cannot be read as HTML ({error}); save its text.") from error
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    values = {"text": "\n".join(line for line in lines if line)}
    title = " ".join("".join(parser.title).split())
    yield Record(1, {**values, "title": title} if title else values)


def _known(name: str) -> str | None:
    try:
        return check_encoding(name)
    except IsothermError:
        return None
