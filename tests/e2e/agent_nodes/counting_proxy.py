"""Passes connections on to a port on the loopback, and counts what goes each way."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Final, Self

_AT_ONCE: Final = 65536


class CountingProxy:
    """A context manager. `counts` are bytes to the server and from it, so far."""

    def __init__(self, port: int, listen_on: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self._to = port
        self._listener = socket.create_server(listen_on)
        self._counts = [0, 0]
        self._open: list[socket.socket] = []

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def counts(self) -> tuple[int, int]:
        return self._counts[0], self._counts[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                try:
                    there = socket.create_connection(("127.0.0.1", self._to))
                except ConnectionRefusedError:  # The server is away, and may come back.
                    here.close()
                    continue
                self._open += [here, there]
                for way, (source, target) in enumerate(((here, there), (there, here))):
                    threading.Thread(target=self._carry, args=(way, source, target), daemon=True).start()

    def _carry(self, way: int, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_AT_ONCE):
                self._counts[way] += len(data)
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
