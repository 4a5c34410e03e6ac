"""A server that answers from a script: the reply to each request is the next line of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from nodemend.kube.outcome import Reply
from nodemend.kube.ports import Stream, StreamEnded, StreamSilent
from nodemend.kube.request import Request
from simulation.processes import SimulatedProcess

Piece = bytes | StreamSilent | StreamEnded | float


@dataclass
class ScriptedStream:
    """Pieces in order. A number is that many seconds of silence; after the last piece there is silence."""

    process: SimulatedProcess
    pieces: list[Piece]
    closed: bool = False

    async def read(self, within: float) -> bytes | StreamSilent | StreamEnded:
        piece = self.pieces.pop(0) if self.pieces else within + 1.0
        if not isinstance(piece, float):
            return piece
        await self.process.sleep(min(piece, within))
        if piece > within:
            self.pieces.insert(0, piece - within)
            return StreamSilent()
        return await self.read(within - piece)

    def close(self) -> None:
        self.closed = True


@dataclass
class ScriptedTransport:
    """Answers by asking `script`, and remembers what was asked and when."""

    process: SimulatedProcess
    script: Callable[[Request], Reply | list[Piece]]
    asked: list[tuple[float, Request]] = field(default_factory=list)
    streams: list[ScriptedStream] = field(default_factory=list)

    async def send(self, request: Request, deadline: float) -> Reply:
        reply = self._reply(request, deadline)
        assert not isinstance(reply, list), f"a stream for {request.target}"
        return reply

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        reply = self._reply(request, deadline)
        if not isinstance(reply, list):
            return reply
        self.streams.append(ScriptedStream(self.process, reply))
        return self.streams[-1]

    def _reply(self, request: Request, deadline: float) -> Reply | list[Piece]:
        assert deadline > self.process.monotonic()
        self.asked.append((self.process.monotonic(), request))
        return self.script(request)
