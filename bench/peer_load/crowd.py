"""`python -m bench.peer_load.crowd PLAN`: clients that query too much, too slowly, or without a valid
certificate.

A separate process, so that the agent is not measured with it. It ends by itself, and prints its counts as one
line of JSON. PLAN is a file: a `Plan` as JSON.
"""

import asyncio
import socket
import ssl
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import msgspec

from bench.peer_load.flood import Flooder
from nodemend.agent.peer_http import client_tls

TICK: Final = 0.02
_HANDSHAKE_WITHIN: Final = 5.0
_MOST_SHAKING: Final = 200
_SLOW_ADDRESSES: Final = 25
_COMES_BACK_AFTER: Final = 2.0
_CLIENT_HELLO: Final = bytes((0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3))
"""The beginning of a ClientHello. The rest never comes."""


class Shown(msgspec.Struct):
    certificate: str
    key: str


class Plan(msgspec.Struct):
    port: int
    server_name: str
    authority: str
    nodes: list[Shown]
    """Nodes that flood, over two connections each."""
    passers: list[Shown]
    """Nodes that connect and disconnect."""
    strangers: list[Shown]
    """Clients with invalid certificates."""
    seconds: float
    requests: float
    handshakes: float
    slow: int


class Done(msgspec.Struct):
    """The counts and times of the whole run."""

    sent: int
    answered: int
    handshakes: int
    slow_open: float
    """On average."""
    slow_closed: int
    floods_closed: int


class Crowd:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._contexts = [self._context(shown) for shown in plan.nodes]
        self._strangers = [self._context(shown) for shown in plan.strangers]
        self._passers = [self._context(shown) for shown in plan.passers]
        self._count: Counter[str] = Counter()
        self._slow_open = 0
        self._shaking: set[asyncio.Task[None]] = set()

    def _context(self, shown: Shown) -> ssl.SSLContext:
        return client_tls(shown.certificate, shown.key, self._plan.authority)

    async def run(self) -> Done:
        plan = self._plan
        places = [(number, context) for number, context in enumerate(self._contexts) for _ in range(2)]
        floods = [
            Flooder(plan.requests / len(places), self._dial(context, f"127.0.2.{number + 1}"))
            for number, context in places
        ]
        works = [asyncio.create_task(one.run(TICK)) for one in floods]
        works += [asyncio.create_task(self._dawdle(number)) for number in range(plan.slow)]
        works += [asyncio.create_task(self._shake_hands())]
        ticks = open_in_all = 0
        for _ in range(round(plan.seconds)):
            await asyncio.sleep(1.0)
            ticks, open_in_all = ticks + 1, open_in_all + self._slow_open
        for task in (*works, *self._shaking):
            task.cancel()
        await asyncio.gather(*works, *self._shaking, return_exceptions=True)
        return Done(
            sent=sum(one.sent for one in floods),
            answered=sum(one.answered for one in floods),
            handshakes=self._count["handshakes"],
            slow_open=open_in_all / max(1, ticks),
            slow_closed=self._count["slow closed"],
            floods_closed=sum(one.closed for one in floods),
        )

    def _dial(self, context: ssl.SSLContext, source: str) -> dict[str, object]:
        return {
            "host": "127.0.0.1",
            "port": self._plan.port,
            "ssl": context,
            "server_hostname": self._plan.server_name,
            "local_addr": (source, 0),
        }

    # Clients that handshake and disconnect.

    async def _shake_hands(self) -> None:
        loop, due, number = asyncio.get_running_loop(), 0.0, 0
        last = loop.time()
        while True:
            await asyncio.sleep(TICK)
            now = loop.time()
            due, last = min(due + (now - last) * self._plan.handshakes, 10.0), now
            while due >= 1.0 and len(self._shaking) < _MOST_SHAKING:
                due, number = due - 1.0, number + 1
                task = loop.create_task(self._shake(number))
                self._shaking.add(task)
                task.add_done_callback(self._shaking.discard)

    async def _shake(self, number: int) -> None:
        """Every second one has an invalid certificate."""
        known = self._strangers if number % 2 else self._passers
        dial = self._dial(known[number % len(known)], f"127.0.3.{number % 10 + 1}")
        self._count["handshakes"] += 1
        try:
            async with asyncio.timeout(_HANDSHAKE_WITHIN):
                _, writer = await asyncio.open_connection(**dial)  # type: ignore[arg-type]
                await asyncio.sleep(0.1)
                writer.transport.abort()
        except (OSError, TimeoutError):
            self._count["refused"] += 1

    # Slow clients.

    async def _dawdle(self, number: int) -> None:
        """Every second one sends nothing; the others a byte now and then.

        They reconnect when disconnected.
        """
        loop = asyncio.get_running_loop()
        await asyncio.sleep(number / self._plan.slow * _COMES_BACK_AFTER)
        while True:
            with socket.socket() as caller:
                caller.setblocking(False)
                caller.bind((f"127.0.4.{number % _SLOW_ADDRESSES + 1}", 0))
                try:
                    await loop.sock_connect(caller, ("127.0.0.1", self._plan.port))
                    self._slow_open += 1
                    try:
                        await self._dribble(caller, _CLIENT_HELLO if number % 2 else b"")
                    finally:
                        self._slow_open -= 1
                except OSError:
                    pass
                self._count["slow closed"] += 1
            await asyncio.sleep(_COMES_BACK_AFTER)

    async def _dribble(self, caller: socket.socket, said: bytes) -> None:
        """Until the other side closes."""
        loop = asyncio.get_running_loop()
        for byte in said:
            await loop.sock_sendall(caller, bytes((byte,)))
            try:
                async with asyncio.timeout(1.0):
                    if not await loop.sock_recv(caller, 100):
                        return
            except TimeoutError:
                continue
        while await loop.sock_recv(caller, 100):
            pass


def main() -> int:
    plan = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Plan)
    print(msgspec.json.encode(asyncio.run(Crowd(plan).run())).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
