"""Edits that the page of a live server asks for: who may ask, and what is understood."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from isotherm.viewer.server.guards import RequestError, values

if TYPE_CHECKING:
    from isotherm.viewer.server.server import Site

# A form of another site cannot send such a header, and a script there would have to ask first.
TOKEN = b"x-isotherm-token"
KINDS = ("rename", "merge", "split", "drop", "pin", "undo")
# Most topics of an edit, letters of a name, and parts of a topic.
MOST_TOPICS, MOST_LETTERS, MOST_PARTS = 1000, 1000, 100


class Change(NamedTuple):
    """An edit that the page asks for.

    Attributes
    ----------
    kind : one of KINDS
    topics : tuple of int
    name : str
        Of a topic that is renamed.
    into : int
        Number of parts, of a topic that is split.
    state : str
        The state of the topics that the page shows: numbers of topics are those of it.
    """

    kind: str
    topics: tuple[int, ...]
    name: str
    into: int
    state: str


class Changed(NamedTuple):
    """What came of it: the site to serve from now on, None for the same, and what to answer."""

    site: Site | None
    said: Mapping[str, object]
    status: int = 200


class Editing(NamedTuple):
    """How a site is edited: by whom who knows the token, and what does it, one edit at a time."""

    token: str
    change: Callable[[Change], Changed]


def new_token() -> str:
    """A text that nobody can guess."""
    return secrets.token_urlsafe(32)


def check_token(scope: Mapping[str, object], token: str) -> None:
    """Refuse whoever has not read this server's page."""
    given = values(scope, TOKEN)
    if len(given) != 1 or not secrets.compare_digest(given[0].encode(), token.encode()):
        raise RequestError(
            403, "this page is not that of the server as it runs now; reload it, then edit again"
        )


def change_of(body: bytes) -> Change:
    """The edit that a body of JSON asks for."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is no valid JSON") from None
    if not isinstance(given, dict) or set(given) - set(Change._fields):
        known = ", ".join(f'"{name}"' for name in Change._fields)
        raise RequestError(400, f"the body must be a JSON object of {known}")
    found = {"kind": "", "topics": [], "name": "", "into": 2, "state": "", **given}
    return Change(
        _kind(found["kind"]),
        _topics(found["topics"]),
        _text("name", found["name"]),
        _parts(found["into"]),
        _text("state", found["state"]),
    )


def _kind(given: object) -> str:
    if not isinstance(given, str) or given not in KINDS:
        raise RequestError(400, f'"kind" must be one of {", ".join(KINDS)}')
    return given


def _topics(given: object) -> tuple[int, ...]:
    numbers = given if isinstance(given, list) else [None]
    if len(numbers) > MOST_TOPICS or not all(type(k) is int for k in numbers):
        raise RequestError(400, f'"topics" must be a list of {MOST_TOPICS:,} integers at most')
    return tuple(numbers)


def _text(name: str, given: object) -> str:
    if not isinstance(given, str) or len(given) > MOST_LETTERS:
        raise RequestError(400, f'"{name}" must be text of {MOST_LETTERS:,} letters at most')
    return given


def _parts(given: object) -> int:
    if type(given) is not int or not 2 <= given <= MOST_PARTS:
        raise RequestError(400, f'"into" must be an integer from 2 to {MOST_PARTS}')
    return given
