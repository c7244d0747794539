"""The live server on the loopback interface; the one place that imports uvicorn.

uvicorn waits for the head of a request, and for a client to read what it was sent, as long as the
client likes. Here both end, so that connections that do nothing do not pile up.
"""

from __future__ import annotations

import asyncio
import logging
import socket

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from isotherm.errors import IsothermError
from isotherm.viewer.server.guards import App
from isotherm.viewer.server.limits import Limits

__all__ = ["LocalServer"]

# There is no way to listen elsewhere: the server knows no passwords.
HOST = "127.0.0.1"
# Most bytes of the head of a request.
HEAD = 16 * 1024
# After Ctrl-C, what is being sent has so many seconds.
FAREWELL = 2


class LocalServer:
    """A server of this computer alone.

    Parameters
    ----------
    app : ASGI application
    port : int
        0 takes one that is free.
    limits : Limits, optional

    Attributes
    ----------
    address : str
        What to open in a browser. Connections are accepted from now on, and answered by `run`.
    """

    def __init__(self, app: App, port: int = 0, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self._listener = _listening(port)
        self.address = f"http://{HOST}:{self._listener.getsockname()[1]}/"
        config = uvicorn.Config(
            app,
            http=type("Patient", (_Patient,), {"limits": limits}),
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=limits.connections,
            timeout_keep_alive=limits.idle_seconds,
            timeout_graceful_shutdown=FAREWELL,
            h11_max_incomplete_event_size=HEAD,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until Ctrl-C, or until `stop` is called in another thread."""
        loop_log = logging.getLogger("asyncio")
        loop_log.addFilter(_is_no_departure)
        try:
            self._server.run([self._listener])
        except KeyboardInterrupt:  # raised again when all is closed
            pass
        finally:
            loop_log.removeFilter(_is_no_departure)
            self.close()

    def stop(self) -> None:
        """End `run` soon."""
        self._server.should_exit = True

    def close(self) -> None:
        """Give the port back, if `run` is not called."""
        self._listener.close()


def _is_no_departure(record: logging.LogRecord) -> bool:
    """Whether a message is anything but that a browser left before it had its answer."""
    return record.getMessage() != "socket.send() raised exception."


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if hasattr(socket, "SO_REUSEADDR") and not hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(512)
    except (OSError, OverflowError) as error:
        listener.close()
        raise IsothermError(
            f"port {port} of {HOST} cannot be had ({getattr(error, 'strerror', None) or error}); "
            "give another one, or 0 for one that is free"
        ) from error
    return listener


class _Patient(H11Protocol):
    """A connection that waits, but not for ever."""

    limits: Limits
    _head: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head = self.loop.call_later(self.limits.head_seconds, self.transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._forget_head()
        elif self._head is None:
            self._head = self.loop.call_later(self.limits.head_seconds, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._end_if_stalled()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_stall()

    def on_response_complete(self) -> None:
        # A body that nobody waits for any more could come for ever.
        unread = self.conn.their_state is h11.SEND_BODY
        super().on_response_complete()
        if unread:
            self.transport.close()
        if self.transport.is_closing():
            self._end_if_stalled()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._end_if_stalled()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget_head()
        self._forget_stall()

    def _end_if_stalled(self) -> None:
        """Drop the connection if what was sent is not read in time; closing would wait for it."""
        self._forget_stall()
        self._stall = self.loop.call_later(self.limits.stall_seconds, self.transport.abort)

    def _forget_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _forget_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
