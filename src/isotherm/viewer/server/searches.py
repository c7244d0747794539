"""Searches of the live server: in few threads, a bounded number at a time, the last remembered."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from isotherm.errors import IsothermError
from isotherm.viewer.server.guards import RequestError
from isotherm.viewer.server.limits import Limits

# A text and the most documents -> what was found, in values of JSON.
Search = Callable[[str, int], dict[str, object]]


class Searches:
    """Answers to searches, as bytes of JSON.

    To be used from one event loop; the searches themselves run in threads, since they are work for
    the processor and others are served meanwhile.

    Parameters
    ----------
    search : callable
    limits : Limits
    """

    def __init__(self, search: Search, limits: Limits) -> None:
        self._search, self._limits = search, limits
        self._pool = ThreadPoolExecutor(limits.searches, thread_name_prefix="isotherm-search")
        self._known: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._under_way = 0
        self.remembered = 0  # bytes

    async def answer(self, query: str, n: int) -> bytes:
        """What was found for a text; refused if too many wait already."""
        key = query, n
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        if self._under_way >= self._limits.waiting:
            raise RequestError(503, "too many searches at a time; try again", {"retry-after": "1"})
        self._under_way += 1
        try:
            loop = asyncio.get_running_loop()
            search, known = self._search, self._known
            found = await loop.run_in_executor(self._pool, _found, search, query, n)
        except IsothermError as error:
            raise RequestError(400, str(error)) from error
        finally:
            self._under_way -= 1
        if known is self._known:
            self._remember(key, found)
        return found

    def renew(self, search: Search) -> None:
        """Search by another function from now on; what is under way is answered as it was asked."""
        self._search, self._known, self.remembered = search, OrderedDict(), 0

    def close(self) -> None:
        """Give up what waits; what is under way comes to its end."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _remember(self, key: tuple[str, int], found: bytes) -> None:
        if key in self._known:  # asked twice at the same time
            return
        self._known[key] = found
        self.remembered += _size(key, found)
        while self.remembered > self._limits.remembered:
            self.remembered -= _size(*self._known.popitem(last=False))


def _found(search: Search, query: str, n: int) -> bytes:
    return json.dumps(search(query, n)).encode()


def _size(key: tuple[str, int], found: bytes) -> int:
    return 4 * len(key[0]) + len(found)
