"""How much a client may ask of the server, and for how long it may take."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Limits"]


class Limits(NamedTuple):
    """Bounds of the live server; the defaults suit one person with several windows.

    Attributes
    ----------
    body : int
        Most bytes in the body of a request; more is answered by 413.
    hits : int
        Most documents of one search.
    connections : int
        Most connections at a time; a request beyond them is answered by 503.
    searches, waiting : int
        Searches at a time, each in a thread, and how many may be under way or wait for their turn;
        one more is answered by 503 and when to come again.
    remembered : int
        Bytes of questions and answers that are kept, the last used ones.
    head_seconds : float
        Time in which the head of a request has to be there; then the connection is closed.
    body_seconds : float
        Time in which its body has to be there; then it is answered by 408.
    stall_seconds : float
        How long a client may leave what was sent to it unread; then the connection is closed.
    idle_seconds : int
        How long a connection is kept open for the next request. A client that is still reading what
        the system holds for it counts as idle.
    """

    body: int = 64 * 1024
    hits: int = 200
    connections: int = 512
    searches: int = 2
    waiting: int = 128
    remembered: int = 8 * 1024 * 1024
    head_seconds: float = 10.0
    body_seconds: float = 10.0
    stall_seconds: float = 60.0
    idle_seconds: int = 30
