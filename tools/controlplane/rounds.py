"""A thread that repeats one action until its owner closes it."""

import http.client
import threading
from collections.abc import Callable

from controlplane.api import ApiError

SECONDS_BETWEEN_ROUNDS = 0.1


class Rounds:
    """Calls `once` in rounds, in a separate thread, until closed.

    A round that the API server cuts short (it restarts, an object changed or went meanwhile) is repeated; any
    other exception is a bug: it ends the thread, and Python reports it.
    """

    def __init__(self, name: str, once: Callable[[], None]) -> None:
        self._once = once
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._go_round, name=name, daemon=True)
        self._thread.start()

    def close(self, within: float = 20.0) -> None:
        """Return when no round is running any longer."""
        self._ended.set()
        self._thread.join(within)
        if self._thread.is_alive():
            raise TimeoutError(f"{self._thread.name} did not end within {within:g} s")

    def _go_round(self) -> None:
        while not self._ended.wait(SECONDS_BETWEEN_ROUNDS):
            try:
                self._once()
            except (ApiError, OSError, http.client.HTTPException):
                continue
