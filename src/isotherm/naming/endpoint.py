"""A chat-completions endpoint: one request at a time, and errors that say what to do."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from isotherm import _checks
from isotherm.errors import IsothermError, warn
from isotherm.naming.answers import one_line

EXAMPLE = "http://localhost:11434/v1"
PATH = "/chat/completions"
PORTS = {"http": 80, "https": 443}
# Bytes of an answer; a name is a few words, but a model may think aloud before it.
MOST_BYTES = 1 << 20
# What is worth another try, how long to wait before it, and how long at most if the server says so.
BUSY = (429, 500, 502, 503, 504, 529)
WAITS = (1.0, 2.0, 4.0)
LONGEST_WAIT = 30.0
REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 3

Message = Mapping[str, str]


class RequestRefusedError(IsothermError):
    """The endpoint is there and answers, but not to this request."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are errors with a status: where they lead is looked at before anything is sent."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(frozen=True)
class Endpoint:
    """An address that answers as chat completions do.

    Parameters
    ----------
    url : str
        Address of the service, such as "http://localhost:11434/v1", or of its chat completions.
    language_model : str, optional
        Name of the language model there; not sent unless given.
    key_env : str, optional
        Name of the environment variable that holds the key; no key is sent unless it is given. The
        key is read for each request, and kept nowhere.
    timeout : float
        Seconds for a whole answer.
    sleep : callable
        Waits so many seconds before another try.
    """

    url: str
    language_model: str | None = None
    key_env: str | None = None
    timeout: float = 60.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is no address, and a key that is not there."""
        _check_url(self.url)
        _checks.number("timeout", self.timeout, 0.001, 86_400.0)
        if self._key and self._to.scheme == "http" and not _is_here(self._to.hostname):
            warn(
                f"the key of {self.key_env} travels to {self._to.hostname} unencrypted; give an "
                "https address if there is one"
            )

    @property
    def address(self) -> str:
        """Where requests go."""
        path = self._to.path.rstrip("/")
        return urlunsplit(self._to._replace(path=path if path.endswith(PATH) else path + PATH))

    def body(self, messages: Sequence[Message]) -> dict[str, object]:
        """What is sent of some messages, and nothing else.

        Only what every service takes: some refuse a temperature, or a limit on the length.
        """
        named = {} if self.language_model is None else {"model": self.language_model}
        return {**named, "messages": [dict(message) for message in messages]}

    def complete(self, messages: Sequence[Message]) -> str | None:
        """The text of the answer; None where there is an answer without text."""
        data = json.dumps(self.body(messages), ensure_ascii=False)
        content = self._posted(data.encode("utf-8", errors="replace"))
        shown = self._shown(content.decode("utf-8", errors="replace"))
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            raise IsothermError(
                f"{self._place} answered {shown}, which is not JSON; give the address of an "
                f"OpenAI-compatible service, such as {EXAMPLE}",
                parameter="url",
            ) from None
        try:
            message = answer["choices"][0]["message"]
            text = message.get("content")
        except (LookupError, TypeError, AttributeError):
            raise IsothermError(
                f"{self._place} answered {shown}, which has no choices with a message; give the "
                f"address of chat completions, such as {EXAMPLE}",
                parameter="url",
            ) from None
        return text if isinstance(text, str) else None

    # How it is sent ------------------------------------------------------------------------------

    @property
    def _to(self) -> SplitResult:
        return urlsplit(self.url)

    @property
    def _place(self) -> str:
        """The address as messages show it, without what may be secret in it."""
        return _place(self.address)

    @property
    def _key(self) -> str | None:
        if self.key_env is None:
            return None
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise IsothermError(
                f"key_env={self.key_env!r}, and there is no such environment variable, or it is "
                f"empty; set it to the key (export {self.key_env}=...), or leave it out where "
                "none is needed",
                parameter="key_env",
            )
        if not (key.isascii() and key.isprintable()):
            raise IsothermError(
                f"key_env={self.key_env!r}, whose value has characters that no key has; set it to "
                "the key alone",
                parameter="key_env",
            )
        return key

    def _posted(self, data: bytes) -> bytes:
        """The answer to a request, after a few tries where the service is busy."""
        waits = iter(WAITS)
        while True:
            status, headers, content = self._followed(data)
            if status == 200:
                return content
            wait = next(waits, None) if status in BUSY else None
            if wait is None:
                raise self._error(status, content)
            self.sleep(_wait(headers.get("Retry-After"), wait))

    def _followed(self, data: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and content, after redirects within the same host."""
        address = self.address
        for _ in range(MOST_REDIRECTS + 1):
            status, headers, content = self._sent(address, data)
            target = headers.get("Location")
            if status not in REDIRECTS or target is None:
                return status, headers, content
            other = urljoin(address, target)
            if not _same_host(address, other):
                raise IsothermError(
                    f"{self._place} sends requests on to another address ({_place(other)}), which "
                    "was not followed; if it can be trusted, give that one",
                    parameter="url",
                )
            address = other
        raise IsothermError(
            f"{self._place} sends requests on more than {MOST_REDIRECTS} times; give the address "
            "that answers",
            parameter="url",
        )

    def _sent(self, address: str, data: bytes) -> tuple[int, Mapping[str, str], bytes]:
        headers = {"Content-Type": "application/json", "User-Agent": "isotherm"}
        key = self._key
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(address, data, headers, method="POST")
        end = time.monotonic() + self.timeout
        try:
            try:
                answer = _opener(address).open(request, timeout=self.timeout)
            except urllib.error.HTTPError as error:  # an answer with another status
                answer = error
            with answer:
                return answer.status, answer.headers, self._read(answer, end)
        except TimeoutError:
            raise self._too_late() from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._too_late() from None
            raise self._unreachable(error.reason) from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            raise self._unreachable(error) from None

    def _read(self, answer: http.client.HTTPResponse | urllib.error.HTTPError, end: float) -> bytes:
        """The content of an answer, unless it is too long or comes too slowly."""
        parts, size = [], 0
        while part := answer.read1(1 << 16):
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                raise IsothermError(
                    f"{self._place} answered more than {MOST_BYTES:,} bytes, where a name has a "
                    "few; give the address of chat completions",
                    parameter="url",
                )
            if time.monotonic() > end:
                raise self._too_late()
        return b"".join(parts)

    # What went wrong -----------------------------------------------------------------------------

    def _too_late(self) -> IsothermError:
        return IsothermError(
            f"{self._place} did not answer within timeout={self.timeout:g} seconds; allow more, "
            "or see whether the service there is at work",
            parameter="timeout",
        )

    def _unreachable(self, reason: object) -> IsothermError:
        said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        if isinstance(reason, socket.gaierror):
            todo = "the name of the host is unknown: correct it"
        elif isinstance(reason, ConnectionRefusedError):
            todo = "start the service there, or give the address of one that runs"
        else:
            todo = "see whether the service there is at work and the address is right"
        return IsothermError(
            f"{self._place} cannot be reached ({self._shown(said, quoted=False)}); {todo}",
            parameter="url",
        )

    def _error(self, status: int, content: bytes) -> IsothermError:
        said = self._shown(_reason(content), quoted=False)
        head = f"{status} {http.client.responses.get(status, '')}".strip()
        said = f"{head}: {said}" if said else head
        if status in (401, 403):
            key = f"whose key is that of {self.key_env}" if self.key_env else "without a key"
            todo = "name the environment variable that holds a valid key by key_env"
            return IsothermError(
                f"{self._place} refused the request, {key} ({said}); {todo}", parameter="key_env"
            )
        if status in REDIRECTS or status in (404, 405):
            return IsothermError(
                f"{self._place} answered {said}; give the address of an OpenAI-compatible service, "
                f"such as {EXAMPLE}, and a language_model that it has",
                parameter="url",
                also=("language_model",),
            )
        if status in BUSY:
            return IsothermError(
                f"{self._place} was asked {len(WAITS) + 1} times and answered {said}; try again "
                "later",
                parameter="url",
            )
        named = f"language_model={self.language_model!r}" if self.language_model else "no model"
        return RequestRefusedError(
            f"{self._place} refused the request, which had {named} ({said}); give a "
            "language_model that the service has",
            parameter="language_model",
        )

    def _shown(self, text: str, *, quoted: bool = True) -> str:
        """The beginning of a text from elsewhere, fit for a terminal and without the key."""
        key = self._key
        if key is not None:
            text = text.replace(key, "...")
        short = one_line(text[:2000])
        short = short if len(short) <= 160 else short[:160] + "..."
        return repr(short) if quoted else short


# Addresses ----------------------------------------------------------------------------------------


def _check_url(url: object) -> None:
    """Refuse anything but an address of http or https without a key in it."""
    problem = None
    if not isinstance(url, str) or not url.isprintable() or " " in url:
        problem = "which is no address"
    else:
        try:
            parts = urlsplit(url)
            if parts.scheme not in PORTS or not parts.hostname:
                problem = "which is no address of http or https"
            elif parts.username is not None or parts.password is not None:
                # Not shown: what stands there is a secret.
                url = _place(url)
                problem = "with a name or a password in it; keys come from the variable key_env"
            elif parts.fragment:
                problem = "with a part after '#', which is never sent"
            parts.port  # noqa: B018 (asked for its error)
        except ValueError as error:
            problem = f"which is no address ({error})"
    if problem is not None:
        raise IsothermError(
            f"url={url!r}, {problem}; give the address of an OpenAI-compatible service, such as "
            f"{EXAMPLE}",
            parameter="url",
            also=("key_env",),
        )


def _place(address: str) -> str:
    """Scheme, host and path of an address."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _same_host(one: str, other: str) -> bool:
    """Whether a request to one address may go to the other as well; never from https to http."""
    before, after = urlsplit(one), urlsplit(other)
    try:
        ports = [parts.port or PORTS.get(parts.scheme) for parts in (before, after)]
    except ValueError:
        return False
    same = before.hostname == after.hostname and after.username is None
    if before.scheme == after.scheme:
        return same and ports[0] == ports[1]
    upgraded = (before.scheme, after.scheme) == ("http", "https")
    return same and upgraded and ports == [80, 443]


def _is_here(host: str | None) -> bool:
    """Whether a host is this computer."""
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _opener(address: str) -> urllib.request.OpenerDirector:
    """What sends requests: through the proxy of the environment, but never to this computer."""
    here = _is_here(urlsplit(address).hostname)
    proxies = [urllib.request.ProxyHandler({})] if here else []
    return urllib.request.build_opener(_NoRedirect(), *proxies)


def _wait(asked: str | None, otherwise: float) -> float:
    """Seconds to wait: what the server asks for within reason, or else so many."""
    if asked is not None and asked.strip().isdecimal():
        return min(max(float(asked), otherwise), LONGEST_WAIT)
    return otherwise


def _reason(content: bytes) -> str:
    """What a service says is wrong; its whole answer where it says so in no known way."""
    text = content.decode("utf-8", errors="replace")
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return text
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    said = error.get("message", error) if isinstance(error, dict) else error
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
