"""Accepts connections with limits, before anything is spent on them.

A TLS connection costs a quarter of a megabyte and some milliseconds before anybody knows whose it is. So
who has said nothing yet waits as a bare socket; handshakes are few a second, few at once, and over in two
seconds; and whoever has proved which node it is has few places of its own. Nobody keeps a place by doing
nothing: the next who comes takes it over.
"""

import asyncio
import contextlib
import gc
import socket
import ssl
from collections.abc import Callable
from typing import Final

from nodemend.agent.allowances import Allowances, Bucket
from nodemend.agent.door_guest_shell import Guest
from nodemend.agent.door_places import Places
from nodemend.agent.peer_server_shell import Believe
from nodemend.agent.waiting_room_shell import has_spoken

MOST_WAITING: Final = 128
MOST_WAITING_FROM_ONE: Final = 8
"""Connections of one address on which nothing was said yet."""
MOST_ARRIVING: Final = 32
MOST_ARRIVING_FROM_ONE: Final = 4
"""Connections of one address that have not proved yet whose they are."""
MOST_INSIDE: Final = 64
MOST_INSIDE_OF_ONE: Final = 2
"""Connections of one node. An agent has one; another when it believes the first to be lost."""
HANDSHAKES_A_SECOND: Final = 100.0
HANDSHAKES_FROM_ONE: Final = 20
"""At once; half as many a second after that."""
_SPEAKS_WITHIN: Final = 2.0
_HANDSHAKE_WITHIN: Final = 2.0
_GOODBYE_WITHIN: Final = 1.0
_PAUSE_AFTER_ERROR: Final = 0.1
_SWEPT_AFTER: Final = 32
"""Handshakes. TLS connections end as circles of references: left to itself, the garbage collector lets
hundreds of them lie."""


class FrontDoor:
    """Serves one listening socket. `greet` makes the protocol of each connection that is let in.

    `tls` is asked at each connection: certificates change.
    """

    def __init__(
        self,
        listener: socket.socket,
        tls: Callable[[], ssl.SSLContext],
        greet: Callable[[], asyncio.Protocol],
        believe: Believe,
    ) -> None:
        self.turned_away = 0
        self._listener = listener
        self._tls = tls
        self._greet = greet
        self._believe = believe
        self._from_one = Allowances(HANDSHAKES_FROM_ONE / 2, most=HANDSHAKES_FROM_ONE)
        self._from_all = Bucket(HANDSHAKES_A_SECOND, HANDSHAKES_A_SECOND, level=HANDSHAKES_A_SECOND, at=0.0)
        self._waiting: Places[_Arrival] = Places(MOST_WAITING, MOST_WAITING_FROM_ONE)
        self._arriving: Places[_Arrival] = Places(MOST_ARRIVING, MOST_ARRIVING_FROM_ONE)
        self._inside: Places[Guest] = Places(MOST_INSIDE, MOST_INSIDE_OF_ONE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unswept = 0

    async def run(self) -> None:
        """Until it is cancelled."""
        loop = asyncio.get_running_loop()
        self._listener.setblocking(False)
        try:
            while True:
                try:
                    caller, address = await loop.sock_accept(self._listener)
                except OSError:
                    # Out of descriptors, or the caller has gone already.
                    await asyncio.sleep(_PAUSE_AFTER_ERROR)
                    continue
                self._receive(caller, str(address[0]))
        finally:
            for task in self._tasks:
                task.cancel()

    def _receive(self, caller: socket.socket, source: str) -> None:
        arrival = _Arrival(caller, source, Guest(self._greet, self._believe, self._enter, self._inside.leave))
        _make_room(self._waiting.come(arrival, source))
        arrival.task = asyncio.get_running_loop().create_task(self._let_in(arrival))
        self._tasks.add(arrival.task)
        arrival.task.add_done_callback(lambda task: self._see_off(arrival, task))

    async def _let_in(self, arrival: "_Arrival") -> None:
        try:
            if await has_spoken(arrival.caller, _SPEAKS_WITHIN) and self._may_shake_hands(arrival):
                await self._shake_hands(arrival)
        except Exception:  # noqa: BLE001 - one caller's bytes must not end the agent; tests/tidy lists this place
            # No certificate, another's, too old a protocol, no end of the handshake, gone already, or bytes
            # that a library does not expect. `_see_off` counts it.
            return

    def _may_shake_hands(self, arrival: "_Arrival") -> bool:
        now = asyncio.get_running_loop().time()
        return self._from_one.take(arrival.source, now) and self._from_all.take(now)

    async def _shake_hands(self, arrival: "_Arrival") -> None:
        self._waiting.leave(arrival)
        _make_room(self._arriving.come(arrival, arrival.source))
        self._sweep()
        await asyncio.get_running_loop().connect_accepted_socket(
            lambda: arrival.guest,
            arrival.caller,
            ssl=self._tls(),
            ssl_handshake_timeout=_HANDSHAKE_WITHIN,
            ssl_shutdown_timeout=_GOODBYE_WITHIN,
        )

    def _see_off(self, arrival: "_Arrival", task: "asyncio.Task[None]") -> None:
        """Also of one that had to leave before its task had begun."""
        self._tasks.discard(task)
        self._waiting.leave(arrival)
        self._arriving.leave(arrival)
        if not arrival.guest.arrived:
            self.turned_away += 1
            with contextlib.suppress(OSError):
                arrival.caller.close()

    def _sweep(self) -> None:
        self._unswept += 1
        if self._unswept == _SWEPT_AFTER:
            self._unswept = 0
            gc.collect()

    def _enter(self, guest: Guest, node: str) -> None:
        _make_room(self._inside.come(guest, node))


def _make_room(displaced: "_Arrival | Guest | None") -> None:
    if displaced is not None:
        displaced.end()


class _Arrival:
    """A connection that has not proved yet whose it is, and who it will be by then."""

    def __init__(self, caller: socket.socket, source: str, guest: Guest) -> None:
        self.caller = caller
        self.source = source
        self.guest = guest
        self.task: asyncio.Task[None] | None = None

    def end(self) -> None:
        if self.task is not None:
            self.task.cancel()
