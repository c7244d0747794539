"""Many clients of a live server at a time, some of them slow: bounded in number and time.

Only ever against 127.0.0.1, and a server that the caller started.
"""

import asyncio
import itertools
import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
# A slow reader takes so many bytes at a time, a slow sender sends so many.
SIP, DRIP = 16 * 1024, 40
PAUSE = 0.005
# Different questions: some are asked again.
QUERIES = 400


@dataclass
class Load:
    """Requests of many clients, and what came of them.

    `words` are put together to queries; `n_documents` bounds their numbers. One client in five
    reads slowly, one in five sends slowly.
    """

    port: int
    words: list[str]
    n_documents: int
    requests: int = 5000
    clients: int = 50
    seed: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    bytes: int = 0

    def run(self, seconds: float = 60.0) -> None:
        """Send all requests; an error if that takes longer."""
        # In a thread: where a browser is driven, this one has a loop of its own.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(self._run, seconds).result()

    def _run(self, seconds: float) -> None:
        asyncio.run(asyncio.wait_for(self._all(), seconds))

    async def _all(self) -> None:
        left = itertools.islice(itertools.count(), self.requests)
        clients = [self._client(number, left) for number in range(self.clients)]
        await asyncio.gather(*clients)

    async def _client(self, number: int, left: "itertools.islice[int]") -> None:
        rng = random.Random(f"{self.seed} {number}")
        reader = writer = None
        for _ in left:
            if writer is None:
                reader, writer = await asyncio.open_connection(HOST, self.port)
            assert reader is not None
            kind, raw = self._request(rng)
            await self._send(writer, raw, slow=number % 5 == 1)
            close = await self._receive(reader, slow=number % 5 == 2)
            self.kinds[kind] += 1
            # Some come and go.
            if close or rng.random() < 0.05:
                writer.close()
                await writer.wait_closed()
                reader = writer = None
        if writer is not None:
            writer.close()
            await writer.wait_closed()

    def _request(self, rng: random.Random) -> tuple[str, bytes]:
        kind = rng.choices(["search", "document", "data", "page", "again"], [30, 35, 20, 5, 10])[0]
        if kind == "search":
            asked = random.Random(rng.randrange(QUERIES))
            query = " ".join(asked.choices(self.words, k=asked.randint(1, 12)))
            body = json.dumps({"query": query, "n": asked.choice([1, 10, 50, 200])}).encode()
            head = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            return kind, self._head("POST", "/api/search", head) + body
        if kind == "document":
            number = rng.randrange(self.n_documents)
            return kind, self._head("GET", f"/api/documents/{number}")
        if kind == "again":
            return kind, self._head("GET", "/", 'If-None-Match: "another"\r\n')
        name = rng.choice(["points", "documents", "words"])
        return kind, self._head("GET", "/" if kind == "page" else f"/data/{name}.bin")

    def _head(self, method: str, path: str, more: str = "") -> bytes:
        return f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{self.port}\r\n{more}\r\n".encode()

    async def _send(self, writer: asyncio.StreamWriter, raw: bytes, slow: bool) -> None:
        pieces = [raw[i : i + DRIP] for i in range(0, len(raw), DRIP)] if slow else [raw]
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            if slow:
                await asyncio.sleep(PAUSE)

    async def _receive(self, reader: asyncio.StreamReader, slow: bool) -> bool:
        """Read an answer; whether the connection ends with it."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        first, *lines = head.split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines if ": " in line)
        self.statuses[int(first.split()[1])] += 1
        left = int(headers.get("content-length", 0))
        while left:
            part = await reader.read(min(left, SIP if slow else 1 << 18))
            assert part, "the answer broke off"
            left -= len(part)
            self.bytes += len(part)
            if slow:
                await asyncio.sleep(PAUSE)
        return headers.get("connection") == "close"


def resident(process: int) -> int | None:
    """Bytes of memory that a process holds now; None where the system does not say."""
    path = Path(f"/proc/{process}/status")
    if not path.exists():
        return None
    lines = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
    return int(lines["VmRSS"].split()[0]) * 1024
