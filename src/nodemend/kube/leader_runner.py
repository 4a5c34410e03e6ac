"""Runs work while this process leads, and ends it before another process can lead.

Writes of the work pass only while this process leads. Reads always pass.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, assert_never

from nodemend.kube import leader_election as lease
from nodemend.kube.leader_election import (
    Holder,
    LeaseTiming,
    claim_record,
    place_record,
    release_record,
    renew_record,
    understand,
)
from nodemend.kube.outcome import Reply, Unsent
from nodemend.kube.ports import Runtime, Stream, Task, Transport
from nodemend.kube.request import LeaseAddress, Request, get_lease

_POLL_INTERVAL: Final = 0.1


class WorkOverranError(RuntimeError):
    """The work still runs although another process may lead by now: the process must exit at once.

    The causes are work that does not end when it is cancelled, and a process that slept through the end of
    its lease. None of its state is worth keeping.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionSettings:
    lease: LeaseAddress
    candidate: str
    """Name of this process for people. Each start adds a random part."""
    timing: LeaseTiming = field(default_factory=LeaseTiming)


class Leadership:
    """One leader term. Each renewal extends it; without renewals it ends by itself."""

    __slots__ = (
        "_ends_at",
        "_safe_until",
        "_sent_at",
        "_wake",
        "epoch",
        "identity",
        "remembers_from",
        "remembers_since",
    )

    def __init__(self, term: lease.Term, identity: str, wake: Callable[[], None]) -> None:
        """`wake` triggers the next renewal at once."""
        self.epoch = term.epoch
        self.identity = identity
        self.remembers_from = term.remembers_from
        self.remembers_since = term.remembers_since
        self._wake = wake
        self.extend(term)

    @property
    def ends_at(self) -> float:
        """Start nothing at or after this time (monotonic), and wait for nothing beyond it."""
        return self._ends_at

    @property
    def safe_until(self) -> float:
        """From this time on (monotonic) another process may lead: the work must have ended."""
        return self._safe_until

    def may_begin(self, now: float, needing: float) -> bool:
        """True if an action that takes `needing` seconds would end within the current term."""
        return now + needing < self._ends_at

    def renewed_since(self, moment: float) -> bool:
        """True if a renewal that was sent at or after `moment` was acknowledged."""
        return self._sent_at >= moment

    def renew_now(self) -> None:
        self._wake()

    def extend(self, term: lease.Term) -> None:
        """Record a renewal of the Lease. Only for the campaign."""
        self._ends_at, self._safe_until, self._sent_at = term.ends_at, term.safe_until, term.sent_at

    def end(self) -> None:
        """End the term now, regardless of its `ends_at`. Only for the campaign."""
        self._ends_at = float("-inf")


Work = Callable[[Leadership], Coroutine[Any, Any, None]]


class ElectionObserver(Protocol):
    """Receives events of the election, for logs and metrics. Must not raise."""

    def began(self, epoch: int) -> None: ...

    def renewed(self, left: float) -> None:
        """`left`: the seconds that the term had left before this renewal."""
        ...

    def ended(self, epoch: int, why: str) -> None:
        """The term is over and its work has ended."""
        ...

    def stumbled(self, why: str) -> None:
        """A request for the Lease failed; another follows."""
        ...


async def lead(
    runtime: Runtime,
    transport: Transport,
    settings: ElectionSettings,
    work: Work,
    observer: ElectionObserver,
) -> None:
    """Campaign, run `work` in each term, and campaign again, until `work` ends by itself.

    `work` is cancelled when its term is over. When it returns or raises, or when this coroutine is cancelled,
    the Lease is released after the work has ended, and the work's exception is raised here. Raises
    WorkOverranError if the work was cancelled and still runs when another process may lead.
    """
    await _Campaign(runtime, transport, settings, work, observer).run()


class _Campaign:
    """Performs the commands of the state machine, one at a time, beside the work."""

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        settings: ElectionSettings,
        work: Work,
        observer: ElectionObserver,
    ) -> None:
        self._runtime = runtime
        self._transport = transport
        self._address = settings.lease
        self._timing = settings.timing
        self._work = work
        self._observer = observer
        self._identity = f"{settings.candidate}_{_token(runtime)}{_token(runtime)}"
        self._machine = lease.LeaderLease(self._identity, settings.timing)
        self._leadership: Leadership | None = None
        self._task: Task | None = None
        self._stop_requested = False
        self._work_over = False
        self._wake = runtime.signal()

    async def run(self) -> None:
        try:
            await self._campaign()
        finally:
            # Also when cancelled: first end the work, then release the Lease, never in the other order.
            try:
                await self._stop("its work has ended" if self._work_over else "leaving")
            finally:
                if self._task is None:
                    await self._release()

    async def _campaign(self) -> None:
        command = self._machine.step(lease.CampaignStarted(), self._runtime.monotonic())
        while not self._work_over:
            event = await self._perform(command)
            if not self._work_over:
                command = self._machine.step(event, self._runtime.monotonic())
                self._follow(command)

    async def _release(self) -> None:
        command = self._machine.step(lease.Resigned(), self._runtime.monotonic())
        while not isinstance(command, lease.Leave):
            event = await self._perform(command)
            command = self._machine.step(event, self._runtime.monotonic())

    def _follow(self, command: lease.ElectionCommand) -> None:
        """Update the leadership from the state machine, without an await in between."""
        term, leadership = self._machine.term, self._leadership
        if isinstance(command, lease.WaitFor) and command.why:
            self._observer.stumbled(command.why)
        if term is None:
            return  # Nothing to start. Work that must end is ended by the command, before anything else runs.
        if leadership is None:
            self._begin(term)
        elif term.ends_at != leadership.ends_at:
            left = leadership.ends_at - self._runtime.monotonic()
            leadership.extend(term)
            self._observer.renewed(left)

    def _begin(self, term: lease.Term) -> None:
        self._leadership = Leadership(term, self._identity, self._wake.set)
        self._observer.began(term.epoch)
        self._task = self._runtime.spawn(self._run_work(self._leadership), f"lead in epoch {term.epoch}")

    async def _run_work(self, leadership: Leadership) -> None:
        try:
            await self._work(leadership)
        finally:
            self._work_over = True
            self._wake.set()

    async def _perform(self, command: lease.ElectionCommand) -> lease.ElectionEvent:
        match command:
            case lease.WaitFor(until, spread):
                seconds = until + spread * self._runtime.random() - self._runtime.monotonic()
                await self._wake.wait(max(seconds, 0.0))
                return lease.WaitOver()
            case lease.StopWork(why):
                await self._stop(why)
                return lease.WorkStopped()
            case lease.Leave():
                raise AssertionError("nothing is left to do")
            case _:
                return understand(await self._transport.send(self._request(command), command.deadline))

    def _request(
        self,
        command: lease.ReadLeaderLease | lease.Place | lease.Claim | lease.Renew | lease.ReleaseLeadership,
    ) -> Request:
        wall, seconds = self._runtime.wall(), self._timing.lease_duration
        holder = Holder(self._identity, seconds, self._machine.remembers_from)
        match command:
            case lease.ReadLeaderLease():
                return get_lease(self._address)
            case lease.Place():
                return place_record(self._address, seconds, wall)
            case lease.Claim(record):
                return claim_record(self._address, record, holder, wall)
            case lease.Renew(record):
                return renew_record(self._address, record, holder, wall)
            case lease.ReleaseLeadership(record):
                return release_record(self._address, record, wall)
            case _:
                assert_never(command)

    async def _stop(self, why: str) -> None:
        """End the work, if there is any. Raises the work's exception, or WorkOverranError."""
        leadership, task = self._leadership, self._task
        if leadership is None or task is None:
            return
        leadership.end()
        if not self._stop_requested:
            # Cancel only once: a second cancellation would interrupt the work's cleanup.
            self._stop_requested = True
            task.cancel()
        while not task.done:
            left = leadership.safe_until - self._runtime.monotonic()
            if left <= 0:
                raise WorkOverranError(f"epoch {leadership.epoch} is over ({why}) and its work still runs")
            # Work that was cancelled before its first step ends without setting the signal.
            await self._wake.wait(min(left, _POLL_INTERVAL))
        self._leadership, self._task = None, None
        self._work_over = self._stop_requested = False
        self._observer.ended(leadership.epoch, why)
        await task.join()


def _token(runtime: Runtime) -> str:
    return f"{int(runtime.random() * 2**48):012x}"


NOT_LEADING: Final = Unsent("not leading")
NOT_CONFIRMED: Final = Unsent("the leader's Lease was not renewed after this was decided")
_TERM_POLL_INTERVAL: Final = 0.05


class LeaderTransport:
    """The Transport for the work of one leader term.

    A write is started only if the term has `needing` seconds left, and its deadline is within the term. The
    clock is read in the same step that passes the request on, so a process that slept through the end of its
    term starts nothing when it wakes. Requests in flight at that time meet their preconditions and the epoch
    rule.

    A write that releases workloads, or by which a leader certifies what other processes recorded, is started
    only after one more renewal of the Lease. That renewal names the version that this process last wrote. If
    etcd was restored to a state from before the data that this write is based on, that version does not
    exist, and nothing is released or certified on the basis of a backup.
    """

    def __init__(
        self, runtime: Runtime, transport: Transport, leadership: Leadership, *, needing: float = 1.0
    ) -> None:
        self._runtime = runtime
        self._transport = transport
        self._leadership = leadership
        self._needing = needing

    async def send(self, request: Request, deadline: float) -> Reply:
        if request.confirmed and not await self._confirm(deadline):
            return NOT_CONFIRMED
        limit = self._limit(request, deadline)
        return NOT_LEADING if limit is None else await self._transport.send(request, limit)

    async def open(self, request: Request, deadline: float) -> Stream | Reply:
        limit = self._limit(request, deadline)
        return NOT_LEADING if limit is None else await self._transport.open(request, limit)

    async def _confirm(self, deadline: float) -> bool:
        """True once a renewal of the Lease is acknowledged that was sent after this call."""
        asked_at, leadership = self._runtime.monotonic(), self._leadership
        leadership.renew_now()
        while not leadership.renewed_since(asked_at):
            if self._runtime.monotonic() >= min(deadline, leadership.ends_at):
                return False
            await self._runtime.sleep(_TERM_POLL_INTERVAL)
        return True

    def _limit(self, request: Request, deadline: float) -> float | None:
        """The deadline for the request. None: it must not be sent."""
        if not request.writes:
            return deadline
        if not self._leadership.may_begin(self._runtime.monotonic(), self._needing):
            return None
        return min(deadline, self._leadership.ends_at)
