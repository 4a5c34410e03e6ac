"""Free ports on loopback, and retries if another process takes them first."""

import random
import socket
from collections.abc import Callable
from typing import TypeVar

from controlplane.process import PortTakenError

LOOPBACK = "127.0.0.1"

# Below the range that Linux uses for outgoing connections (32768 and up), so that none of those takes the
# port of a server while it restarts.
CANDIDATES = range(20_000, 32_000)
ATTEMPTS = 5

Started = TypeVar("Started")


def free_port() -> int:
    """A port without a listener. Another process may take it before its use: see `on_free_port`."""
    while True:
        port = random.choice(CANDIDATES)
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port


def on_free_port(start: Callable[[int], Started]) -> Started:
    """The result of `start` for a free port; another one is tried if it raises PortTakenError."""
    for _ in range(ATTEMPTS - 1):
        try:
            return start(free_port())
        except PortTakenError:
            continue
    return start(free_port())
