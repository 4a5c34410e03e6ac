"""Free ports on loopback, and what to do when somebody else is faster."""

import random
import socket
from collections.abc import Callable
from typing import TypeVar

from controlplane.process import PortTakenError

LOOPBACK = "127.0.0.1"

# Below what Linux gives to outgoing connections (32768 and up), so that none of those takes the port of a
# server while it restarts.
CANDIDATES = range(20_000, 32_000)
ATTEMPTS = 5

Started = TypeVar("Started")


def free_port() -> int:
    """A port that nobody listens on now. Somebody may take it before you do: see `on_free_port`."""
    while True:
        port = random.choice(CANDIDATES)
        with socket.socket() as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return port


def on_free_port(start: Callable[[int], Started]) -> Started:
    """What `start` returns for a free port; it is called with another one when it raises PortTakenError."""
    for _ in range(ATTEMPTS - 1):
        try:
            return start(free_port())
        except PortTakenError:
            continue
    return start(free_port())
