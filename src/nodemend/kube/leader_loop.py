"""Runs work while this process leads, and ends it before anybody else can."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, assert_never

from nodemend.kube import leader_lease as lease
from nodemend.kube.api_request import Request
from nodemend.kube.leader_record import (
    Holder,
    LeaseAddress,
    ask_record,
    claim_record,
    place_record,
    release_record,
    renew_record,
    understand,
)
from nodemend.kube.leader_timing import LeaseTiming
from nodemend.kube.ports import Runtime, Task, Transport

_GLANCE_EVERY: Final = 0.1


class WorkOverranError(RuntimeError):
    """The work still runs, and somebody else may lead by now: the process must exit at once.

    Work that does not end when it is told comes to this, and so does a process that slept through the end of
    its lease: nothing that it knows is worth keeping.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionSettings:
    lease: LeaseAddress
    candidate: str
    """What people know this process by. A random part is added at each start."""
    timing: LeaseTiming = field(default_factory=LeaseTiming)


class Leadership:
    """One term. It grows with each renewal, and ends by itself when renewals stay away."""

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
        """`wake` makes the next renewal come at once."""
        self.epoch = term.epoch
        self.identity = identity
        self.remembers_from = term.remembers_from
        self.remembers_since = term.remembers_since
        self._wake = wake
        self.extend(term)

    @property
    def ends_at(self) -> float:
        """Nothing may be begun at or after this moment (monotonic), nor waited for beyond it."""
        return self._ends_at

    @property
    def safe_until(self) -> float:
        """From this moment on somebody else may lead: the work must have ended."""
        return self._safe_until

    def may_begin(self, now: float, needing: float) -> bool:
        """Whether something that takes `needing` seconds would end within the term as it stands."""
        return now + needing < self._ends_at

    def renewed_since(self, moment: float) -> bool:
        """Whether a renewal that was sent at or after this moment was acknowledged."""
        return self._sent_at >= moment

    def renew_now(self) -> None:
        self._wake()

    def extend(self, term: lease.Term) -> None:
        """For the loop alone: the Lease was renewed."""
        self._ends_at, self._safe_until, self._sent_at = term.ends_at, term.safe_until, term.sent_at

    def end(self) -> None:
        """For the loop alone: over, whatever was promised."""
        self._ends_at = float("-inf")


Work = Callable[[Leadership], Coroutine[Any, Any, None]]


class ElectionObserver(Protocol):
    """Told what happens, for logs and metrics. Must not raise."""

    def began(self, epoch: int) -> None: ...

    def renewed(self, left: float) -> None:
        """`left`: the seconds that the old promise still had."""
        ...

    def ended(self, epoch: int, why: str) -> None:
        """The term is over and its work has ended."""
        ...

    def stumbled(self, why: str) -> None:
        """A request about the Lease failed; another follows."""
        ...


class Unobserved:
    """An observer that does not care."""

    def began(self, epoch: int) -> None: ...

    def renewed(self, left: float) -> None: ...

    def ended(self, epoch: int, why: str) -> None: ...

    def stumbled(self, why: str) -> None: ...


async def lead(
    runtime: Runtime,
    transport: Transport,
    settings: ElectionSettings,
    work: Work,
    observer: ElectionObserver | None = None,
) -> None:
    """Campaign, run `work` in each term, campaign again; for ever, or until `work` ends by itself.

    `work` is cancelled when its term is over. When it returns or raises, or when this is cancelled, the Lease
    is given up once the work has ended, and what the work raised is raised here. Raises WorkOverranError when
    the work was cancelled and still runs when somebody else may lead.
    """
    await _Campaign(runtime, transport, settings, work, observer or Unobserved()).run()


class _Campaign:
    """Performs what the machine commands, one command at a time, beside the work."""

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
        self._told_to_stop = False
        self._work_over = False
        self._wake = runtime.signal()

    async def run(self) -> None:
        try:
            await self._campaign()
        finally:
            # Also when cancelled: first the work, then the Lease. Never the Lease under running work.
            try:
                await self._stop("its work has ended" if self._work_over else "leaving")
            finally:
                if self._task is None:
                    await self._release()

    async def _campaign(self) -> None:
        command = self._machine.step(lease.Begun(), self._runtime.monotonic())
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

    def _follow(self, command: lease.Command) -> None:
        """Bring the leadership in line with the machine, in the same step."""
        term, leadership = self._machine.term, self._leadership
        if isinstance(command, lease.Wait) and command.why:
            self._observer.stumbled(command.why)
        if term is None:
            return  # Nothing to begin. What has to end is ended by the command, before anything else runs.
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

    async def _perform(self, command: lease.Command) -> lease.Event:
        match command:
            case lease.Wait(until, spread):
                seconds = until + spread * self._runtime.random() - self._runtime.monotonic()
                await self._wake.wait(max(seconds, 0.0))
                return lease.Waited()
            case lease.StopWork(why):
                await self._stop(why)
                return lease.WorkStopped()
            case lease.Leave():
                raise AssertionError("nothing is left to do")
            case _:
                return understand(await self._transport.send(self._request(command), command.deadline))

    def _request(
        self, command: lease.Look | lease.Place | lease.Claim | lease.Renew | lease.Release
    ) -> Request:
        wall, seconds = self._runtime.wall(), self._timing.lease_duration
        holder = Holder(self._identity, seconds, self._machine.remembers_from)
        match command:
            case lease.Look():
                return ask_record(self._address)
            case lease.Place():
                return place_record(self._address, seconds, wall)
            case lease.Claim(record):
                return claim_record(self._address, record, holder, wall)
            case lease.Renew(record):
                return renew_record(self._address, record, holder, wall)
            case lease.Release(record):
                return release_record(self._address, record, wall)
            case _:
                assert_never(command)

    async def _stop(self, why: str) -> None:
        """End the work, if there is any. Raises what it raised."""
        leadership, task = self._leadership, self._task
        if leadership is None or task is None:
            return
        leadership.end()
        if not self._told_to_stop:
            # Once only: a second time would break into its tidying up.
            self._told_to_stop = True
            task.cancel()
        while not task.done:
            left = leadership.safe_until - self._runtime.monotonic()
            if left <= 0:
                raise WorkOverranError(f"epoch {leadership.epoch} is over ({why}) and its work still runs")
            # Work that was cancelled before its first step ends without a word.
            await self._wake.wait(min(left, _GLANCE_EVERY))
        self._leadership, self._task = None, None
        self._work_over = self._told_to_stop = False
        self._observer.ended(leadership.epoch, why)
        await task.join()


def _token(runtime: Runtime) -> str:
    return f"{int(runtime.random() * 2**48):012x}"
