"""Where a connection waits until its caller has said enough to be worth a handshake.

It is a bare socket until then. The kernel counts the bytes, and wakes nobody before there are enough.
"""

import asyncio
import socket
from typing import Final

_LEAST: Final = 64
"""Bytes. Whoever means it says hello in one go, in twice as many at least."""


async def has_spoken(caller: socket.socket, within: float) -> bool:
    """Whether enough has come in time. Nothing of it is taken. Raises OSError."""
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, _LEAST)
    try:
        async with asyncio.timeout(within):
            await _readable(caller)
    except TimeoutError:
        return False
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
    # Readable is also what has come to its end.
    return len(caller.recv(_LEAST, socket.MSG_PEEK)) == _LEAST


async def _readable(caller: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    woken = loop.create_future()

    def wake() -> None:
        loop.remove_reader(caller)
        if not woken.done():
            woken.set_result(None)

    loop.add_reader(caller, wake)
    try:
        await woken
    finally:
        loop.remove_reader(caller)
