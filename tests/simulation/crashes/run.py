"""One flow with one crash, from its start to its verdict."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from nodemend.api.resources import REMEDIATION_ORDER
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.cluster.replicas import Replica
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, CrashPoint
from tests.simulation.checks.faults import LENIENT
from tests.simulation.checks.invariants import Invariants
from tests.simulation.checks.world import ChecksWorld, Crew
from tests.simulation.crashes.ends import End, differences, end_of, without_history
from tests.simulation.crashes.flow import Flow, Script, Wanted

IN_TIME: Final = 900.0
"""Simulated seconds within which every awaited state must be reached, with or without a crash."""
QUIET: Final = 20.0
"""Seconds without a write after which all reports are complete."""
STAYS: Final = 60.0
"""Seconds for which the final state must persist."""
POLL_INTERVAL: Final = 1.0
CALM: Final = 30.0
"""Seconds after the start from which a checker acts."""
MOST: Final = 100
"""Limit of concurrent remediations: none waits for others, unless a flow changes the limit."""


@dataclass(frozen=True, slots=True)
class Crash:
    """A crash at one write of a flow, counted from 1."""

    write: int
    point: CrashPoint

    def __str__(self) -> str:
        return f"write {self.write} {self.point.name.lower()}"


@dataclass(frozen=True, slots=True)
class Played:
    """Result of a flow."""

    writes: tuple[str, ...]
    """Writes of the flow, in the order in which they were sent."""
    actions: Counter[str]
    """Creations, deletions and requests to owners that the API server committed."""
    end: End


class FlowFailedError(AssertionError):
    """The awaited state was not reached."""


class Journal:
    """Counts the writes of a flow, crashes at one of them, and records all that were committed."""

    def __init__(self, world: ChecksWorld, crash: Crash | None) -> None:
        self.writes: list[str] = []
        self.actions: Counter[str] = Counter()
        self.counting = False
        self.last_write_at = 0.0
        self._world = world
        self._crash = crash
        world.checker.witnesses.append(self._saw_write)
        for replica in world.replicas:
            replica.on_start = self._arm
            self._arm(replica)

    def _arm(self, replica: Replica) -> None:
        replica.link.crash_plan = self._plan

    def _plan(self, request: Request) -> CrashPoint | None:
        if not self.counting or _of_election(request):
            return None
        self.writes.append(f"{request.method} {request.path}")
        crash = self._crash
        return crash.point if crash is not None and crash.write == len(self.writes) else None

    def _saw_write(self, _user: str, request: Request, answer: ApiResponse) -> None:
        if _of_election(request):
            return
        self.last_write_at = self._world.scheduler.now
        if request.method is Method.POST:
            name = msgspec.json.decode(answer.body)["metadata"]["name"]
            self.actions[f"POST {request.path}/{name}"] += 1
        elif request.method is Method.DELETE and REMEDIATION_ORDER.plural not in request.path:
            # One order may be lost and repeated. Remediations that started on orders are counted.
            self.actions[f"DELETE {request.path}"] += 1


def _of_election(request: Request) -> bool:
    """True for writes of the leader election; a separate campaign crashes at these."""
    return "/leases" in request.path


ALONE: Final = Crew(replicas=1)
"""The process that crashes restarts and continues."""
PAIR: Final = Crew(replicas=2, restarted=False)
"""The process that crashes stays down, and the other one takes over."""


def play(
    flow: Flow,
    crew: Crew,
    crash: Crash | None = None,
    wanted: Played | None = None,
    account: type[Account] = Account,
) -> Played:
    """Run a flow. Without a crash it gives the reference; with one, its end must equal `wanted`."""
    policy = {**LENIENT, "maxConcurrent": MOST, **flow.policy}
    world = ChecksWorld(
        flow.name,
        GOOD_LINK,
        policy,
        crew=crew,
        medik8s_leases=flow.medik8s_leases,
        annotation_template=flow.annotation_template,
        account=account,
    )
    try:
        flow.prepare(world)
        return _Play(world, flow, crash).whole(wanted)
    finally:
        world.close()


class _Play:
    """One flow in one world."""

    def __init__(self, world: ChecksWorld, flow: Flow, crash: Crash | None) -> None:
        self._world = world
        self._flow = flow
        self._alone = len(world.replicas) == 1
        self._journal = Journal(world, crash)
        self._invariants = Invariants(world, MOST)

    def whole(self, wanted: Played | None) -> Played:
        journal = self._journal
        journal.counting = self._flow.from_the_start
        self._run(CALM)
        self._until(self._quiet, "quiet")
        self._follow(self._flow.before)
        journal.counting = True
        self._follow(self._flow.script)
        self._until(self._quiet, "quiet")
        if wanted is not None:
            self._until(lambda: not self._wrong(wanted), "the same end", lambda: self._wrong(wanted))
        self._run(STAYS)
        if wanted is not None and (wrong := self._wrong(wanted)):
            raise FlowFailedError(f"it did not stay so: {wrong}")
        for replica in self._world.replicas:
            if failures := replica.process.unjoined_failures:
                raise FlowFailedError(f"a task died unseen: {failures}")
        return Played(tuple(journal.writes), self._actions(), self._end())

    def _follow(self, script: Script) -> None:
        for number, wanted in enumerate(script(self._world), 1):
            self._until(wanted, f"step {number}")
            self._until(self._quiet, "quiet")

    def _until(self, wanted: Wanted, what: str, why: Callable[[], object] = lambda: "") -> None:
        latest = self._world.scheduler.now + IN_TIME
        while not wanted():
            if self._world.scheduler.now >= latest:
                raise FlowFailedError(f"{what} did not come: {why() or self._end()}")
            self._run(POLL_INTERVAL)

    def _quiet(self) -> bool:
        return self._world.scheduler.now - self._journal.last_write_at >= QUIET

    def _wrong(self, wanted: Played) -> list[str]:
        """Return the differences from `wanted`.

        A single replica cannot report what ended during its downtime.
        """
        judged = without_history if self._alone else lambda end: end
        return [
            *differences(dict(wanted.actions), dict(self._actions())),
            *differences(judged(wanted.end), judged(self._end())),
        ]

    def _end(self) -> End:
        return end_of(self._world, self._flow.kinds)

    def _actions(self) -> Counter[str]:
        return self._journal.actions | Counter({"owners asked or remediations begun": self._invariants.begun})

    def _run(self, seconds: float) -> None:
        self._world.run(self._world.scheduler.now + seconds)
