"""The Transport port over a simulated link."""

from collections import deque

from nodemend.kube.outcome import ApiResponse, Reply, Unanswered, Unsent
from nodemend.kube.ports import StreamEnded, StreamSilent
from nodemend.kube.request import Request
from simulation.network import DRY_RUN, CrashPoint, Fate, Link, ServedWatch
from simulation.processes import ProcessDied, SimulatedProcess, SimulatedTask


def _shown(request: Request) -> str:
    """Return path and query without percent-encoding. It is cheap because every request logs it."""
    query = "&".join([f"{name}={value}" for name, value in request.query])
    return f"{request.path}?{query}" if query else request.path


class SimulatedTransport:
    """The Transport port of one process over one link."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._process: SimulatedProcess = link.process
        self._scheduler = link.process.scheduler

    async def send(self, request: Request, deadline: float) -> Reply:
        stored = request.writes and DRY_RUN not in request.query
        crash = self._link.crash_plan(request) if stored else None
        if crash is CrashPoint.BEFORE:
            self._die(request, "before sending")
        task = self._process.current
        within = deadline - self._process.monotonic()
        if within <= 0:
            return Unsent("no time left")
        self._dispatch(request, task, crash)
        reply = await task.park(within)
        if reply is None:
            return Unanswered("no answer in time")
        assert isinstance(reply, ApiResponse | Unsent | Unanswered)  # noqa: S101 - what _dispatch wakes with
        if crash is CrashPoint.AFTER_REPLY:
            self._die(request, "after the reply")
        return reply

    def _dispatch(self, request: Request, task: SimulatedTask, crash: CrashPoint | None) -> None:
        link, parking, fate = self._link, task.parking + 1, self._link.draw()
        there, connection = link.delay(), link.connection

        def wake(reply: Reply) -> None:
            if link.down:
                task.wake(parking, reply)

        def arrive() -> None:
            if not link.up or link.connection != connection:
                return
            answer = link.endpoint.handle(request)
            self._record(request, answer.status, answer.body)
            if crash is CrashPoint.AFTER_COMMIT:
                self._process.crash()
            elif fate is Fate.RESET:
                self._scheduler.after(link.delay(), lambda: wake(Unanswered("connection reset")))
            elif fate is not Fate.REPLY_LOST:
                self._scheduler.after(link.delay(), lambda: wake(answer))

        match fate:
            case Fate.REFUSED:
                self._scheduler.after(there, lambda: wake(Unsent("connection refused")))
            case Fate.LOST:
                pass
            case Fate.LATE:
                self._scheduler.after(there + link.late_by(), arrive)
            case _:
                self._scheduler.after(there, arrive)

    async def open(self, request: Request, deadline: float) -> "SimulatedStream | Reply":
        task = self._process.current
        within = deadline - self._process.monotonic()
        if within <= 0:
            return Unsent("no time left")
        link, parking, fate = self._link, task.parking + 1, self._link.draw()

        def arrive() -> None:
            if not link.up:
                return
            opened = link.endpoint.watch(request)
            reply = opened if isinstance(opened, ApiResponse) else SimulatedStream(link, opened)
            status, body = (reply.status, reply.body) if isinstance(reply, ApiResponse) else (200, b"")
            self._record(request, status, body)
            self._scheduler.after(link.delay(), lambda: deliver(reply))

        def deliver(reply: "SimulatedStream | Reply") -> None:
            if link.down:
                task.wake(parking, reply)

        if fate is Fate.REFUSED:
            self._scheduler.after(link.delay(), lambda: deliver(Unsent("connection refused")))
        elif fate is Fate.DELIVERED:
            self._scheduler.after(link.delay(), arrive)
        reply = await task.park(within)
        if reply is None:
            return Unanswered("no answer in time")
        assert isinstance(reply, SimulatedStream | ApiResponse | Unsent)  # noqa: S101 - what arrive wakes with
        return reply

    def _record(self, request: Request, status: int, body: bytes) -> None:
        scheduler, sender = self._scheduler, self._process.name
        scheduler.note(f"{sender} {request.method} {_shown(request)} -> {status}")
        scheduler.requests.record(scheduler.now, sender, request, status, body)

    def _die(self, request: Request, when: str) -> None:
        self._scheduler.note(f"{self._process.name} dies {when}: {request.method} {_shown(request)}")
        self._process.crash()
        raise ProcessDied


class SimulatedStream:
    """A watch as the client sees it: lines in order, each after a delay; silent while the link is cut."""

    def __init__(self, link: Link, served: ServedWatch) -> None:
        self._link = link
        self._served = served
        self._scheduler = link.process.scheduler
        self._arrived: deque[bytes] = deque()
        self._in_flight: deque[tuple[list[bytes], str | None]] = deque()
        self._end: StreamEnded | None = None
        self._reader: tuple[SimulatedTask, int] | None = None
        self._in_order_after = 0.0
        self._open = True
        served.subscribe(self._carry)
        self._carry()

    async def read(self, within: float) -> bytes | StreamSilent | StreamEnded:
        if not self._arrived and self._end is None:
            task = self._link.process.current
            self._reader = (task, task.parking + 1)
            try:
                await task.park(within)
            finally:
                self._reader = None
        if self._arrived:
            chunk = b"".join(self._arrived)
            self._arrived.clear()
            return chunk
        return self._end or StreamSilent()

    def close(self) -> None:
        self._open = False
        self._served.close()

    def break_off(self, why: str) -> None:
        """Break the stream as a network does: immediately, perhaps in the middle of a line."""
        self.close()
        self._end = StreamEnded(clean=False, why=why)
        self._wake_reader()

    def _carry(self) -> None:
        if not self._open:
            return
        lines = self._served.take()
        ended = self._served.ended
        if not lines and ended is None:
            return
        self._in_flight.append((lines, ended))
        when = max(self._scheduler.now + self._link.delay(), self._in_order_after)
        self._in_order_after = when
        self._scheduler.at(when, self._deliver)

    def _deliver(self) -> None:
        """Deliver the oldest batch in flight. Each call delivers one batch, so batches stay in order."""
        if not self._open:
            return
        if not self._link.down:
            # TCP keeps the bytes and retries; the reader sees silence until then.
            self._scheduler.after(1.0, self._deliver)
            return
        lines, ended = self._in_flight.popleft()
        self._arrived.extend(lines)
        if ended is not None:
            self._end = StreamEnded(clean=True, why=ended)
        self._wake_reader()

    def _wake_reader(self) -> None:
        if self._reader is not None:
            task, parking = self._reader
            task.wake(parking, None)
