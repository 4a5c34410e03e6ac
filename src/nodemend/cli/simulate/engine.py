"""Runs a simulation from event to event, not second by second.

At each time it first applies all events, then evaluates every affected target, and then asks the guard once
per queue, again as long as it allows a remediation.

A storm can leave thousands of nodes in hundreds of failure domains waiting for hours. If each queue asked
every time, a simulation of them would take minutes. So a queue asks only if its answer can have changed.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from math import ceil
from operator import itemgetter
from typing import Final, assert_never

from nodemend.api import condition_reasons
from nodemend.cli.simulate.input import Snapshot, pause_ends
from nodemend.cli.simulate.log import HoldKind, LogWriter, RunLog, StepKind, hold_kind_of
from nodemend.cli.simulate.scenario import Choice, FailureSpec, Plan, members, moments, share, spread
from nodemend.cli.simulate.world import SimulatedChecker, SimulatedCluster, SimulatedEvaluation
from nodemend.guard.evaluator import Clocks
from nodemend.guard.state import CountScope
from nodemend.health.node.targets import NodeTarget
from nodemend.health.remediation_index import NotServed, RemedyKind
from nodemend.records.node import NodeRecord
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.request import UNSERVED_AFTER, Create, DeleteRemediation, Escalate, NoAction, Request
from nodemend.safety.guard_holds import CoolingDown, OtherRemediation, StartInterval
from nodemend.safety.holds import CannotRead, Hold, HoldReason

Event = Callable[[float], Iterable[str]]
"""Applies a change at this time and returns the nodes that must be evaluated because of it."""


def only_time_passes(_now: float) -> Iterable[str]:
    """Change nothing. The guard's answer may change by time alone."""
    return ()


class EventQueue:
    """A heap of events. Events of one time keep the order in which they were added."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Event]] = []
        self._noted = 0
        self._wakes: set[float] = set()

    def note(self, at: float, event: Event) -> None:
        self._noted += 1
        heappush(self._heap, (at, self._noted, event))

    def evaluate(self, at: float, node: str) -> None:
        """Have the node evaluated at this time, for example at a deadline."""
        self.note(at, lambda _now: (node,))

    def wake(self, at: float) -> None:
        """Have the guard asked at this time."""
        if at not in self._wakes:
            self._wakes.add(at)
            self.note(at, only_time_passes)

    @property
    def next_at(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def take(self, now: float) -> Event | None:
        """Remove and return the next event of this time; None if all were taken."""
        return heappop(self._heap)[2] if self.next_at == now else None


class FailureInjector:
    """Changes the simulated world at the times of the plan.

    Raises NoNodesError at once if the plan names nodes that do not exist.
    """

    def __init__(self, plan: Plan, world: SimulatedCluster, agenda: EventQueue, story: RunLog) -> None:
        self._world = world
        self._agenda = agenda
        self._story = story
        nodes = {node.name: node for node in world.view.nodes.all()}
        choices = [one.choice for one in (*plan.fails, *plan.heals)]
        self._members: dict[Choice, tuple[str, ...]] = {one: members(one, nodes) for one in choices}
        self._stays_unhealthy = frozenset(
            name for one in plan.stays_unhealthy for name in _chosen(one, nodes)
        )
        for invention in plan.fails:
            agenda.note(invention.when.begins, partial(self._choose_failing, invention))
        for invention in plan.heals:
            agenda.note(invention.when.begins, partial(self._choose_healing, invention))

    def _choose_failing(self, invention: FailureSpec, _now: float) -> Iterable[str]:
        """Choose among the nodes that do not fail yet. A percentage refers to all matching nodes."""
        all_nodes = self._members[invention.choice]
        well = [name for name in all_nodes if not self._world.is_sick(name)]
        chosen = spread(well, share(invention.choice.how_many, len(all_nodes)))
        return self._plan(invention, chosen, self._fail)

    def _choose_healing(self, invention: FailureSpec, _now: float) -> Iterable[str]:
        """Choose among the nodes that fail now."""
        sick = [name for name in self._members[invention.choice] if self._world.is_sick(name)]
        chosen = spread(sick, share(invention.choice.how_many, len(sick)))
        return self._plan(invention, chosen, self._heal)

    def _plan(
        self, invention: FailureSpec, chosen: tuple[str, ...], change: Callable[[str, float], Iterable[str]]
    ) -> Iterable[str]:
        """Note the change of each chosen node at its own time."""
        for at, name in zip(moments(invention.when, len(chosen)), chosen, strict=True):
            self._agenda.note(at, partial(change, name))
        return ()

    def _fail(self, node: str, now: float) -> Iterable[str]:
        if self._world.is_sick(node):
            return ()
        self._world.fail(node, now)
        self._story.tell(now, StepKind.FAIL, node)
        return (node,)

    def _heal(self, node: str, now: float) -> Iterable[str]:
        if not self._world.is_sick(node):
            return ()
        self._world.heal(node, now)
        self._story.tell(now, StepKind.HEAL, node)
        return (node,)

    def end(self, record: RemediationRecord, now: float) -> Iterable[str]:
        """End a remediation that has run for its full duration."""
        found = self._world.remediations.find(record)
        if found is None:
            return ()
        node, healed = record.name, record.name not in self._stays_unhealthy
        if healed and self._world.is_sick(node):
            self._world.heal(node, now)
            self._story.tell(now, StepKind.BACK, node)
        elif not healed:
            self._story.tell(now, StepKind.STILL_UNHEALTHY, node)
        self._world.remediations.end(found, succeeded=healed, now=now)
        return (node,)


def _chosen(choice: Choice, nodes: Mapping[str, NodeRecord]) -> tuple[str, ...]:
    all_nodes = members(choice, nodes)
    return spread(all_nodes, share(choice.how_many, len(all_nodes)))


@dataclass(frozen=True, slots=True)
class QueueKey:
    """All properties by which the guard, or the steps after it, can distinguish waiting targets."""

    place: CountScope
    excluded_by: str
    maintained_by: str
    remedy: int
    alone: str = ""
    """Name of a target with its own queue: a control-plane node, or one with another active remediation."""


@dataclass(slots=True)
class Queue:
    """Waiting targets by name, each with the time at which it joined. The longest waiting target is first."""

    waiting: dict[str, float] = field(default_factory=dict)
    newcomers: list[str] = field(default_factory=list)
    reported: HoldKind | None = None
    """The hold last recorded for all targets except those that joined since."""

    def tell(self, sort: HoldKind) -> list[str]:
        """Return the targets for which this hold is not recorded yet, and mark it as recorded."""
        news = self.newcomers if self.reported == sort else list(self.waiting)
        self.newcomers, self.reported = [], sort
        return [name for name in news if name in self.waiting]

    @property
    def first(self) -> tuple[float, str]:
        name, since = next(iter(self.waiting.items()))
        return since, name


class Queues:
    """All queues. Targets that join at the same time must join in the order of their names."""

    def __init__(self) -> None:
        self._queues: dict[QueueKey, Queue] = {}
        self._where: dict[str, QueueKey] = {}
        self._near: defaultdict[tuple[str, str], set[QueueKey]] = defaultdict(set)

    def __len__(self) -> int:
        """Number of waiting targets."""
        return len(self._where)

    def join(self, name: str, alike: QueueKey, now: float) -> None:
        """Add a target. A target that is already in the same queue keeps its position."""
        if self._where.get(name) == alike:
            return
        self.leave(name)
        self._where[name] = alike
        queue = self._queues.setdefault(alike, Queue())
        queue.waiting[name] = now
        queue.newcomers.append(name)
        self._near[_where(alike)].add(alike)

    def leave(self, name: str) -> float | None:
        """Remove a target. Returns the time at which it joined, or None if it was not waiting."""
        alike = self._where.pop(name, None)
        if alike is None:
            return None
        queue = self._queues[alike]
        since = queue.waiting.pop(name)
        if not queue.waiting:
            del self._queues[alike]
            self._near[_where(alike)].discard(alike)
        return since

    def all(self) -> Iterable[QueueKey]:
        return self._queues

    def near(self, places: Iterable[CountScope]) -> Iterable[QueueKey]:
        """Return the queues in these places or their failure domains, and all queues of single targets."""
        here = {_scopes_of(place) for place in places}
        return {alike for where in (*here, _ALONE) for alike in self._near.get(where, ())}

    def reported(self, reason_name: str) -> Iterable[QueueKey]:
        """Return the queues whose last recorded hold has this reason."""
        return [
            alike
            for alike, queue in self._queues.items()
            if queue.reported and queue.reported[0] == reason_name
        ]

    def in_order(self, chosen: Iterable[QueueKey]) -> list[tuple[str, Queue]]:
        """Return the queues, each with its first target, the longest waiting target first."""
        firsts = ((*self._queues[alike].first, alike) for alike in chosen)
        return [(name, self._queues[alike]) for _, name, alike in sorted(firsts, key=itemgetter(0, 1))]


_ALONE: Final = ("", "")


def _where(alike: QueueKey) -> tuple[str, str]:
    return _ALONE if alike.alone else _scopes_of(alike.place)


def _scopes_of(place: CountScope) -> tuple[str, str]:
    """Return the key of a place: its failure domain, which checks share, or otherwise its check."""
    return ("domain", place.domain) if place.domain else ("check", place.check)


class Turns:
    """Selects the queues that must ask.

    A reason that holds a whole check also holds each of its queues, and a queue can only have more reasons.
    So a queue asks if something happened in its place or if its cooldown may have ended. All queues ask if a
    check's common answer has changed.
    """

    def __init__(self, queues: Queues, checker: SimulatedChecker, *, thorough: bool) -> None:
        self._queues = queues
        self._checker = checker
        self._thorough = thorough
        self._reported: dict[str, HoldKind | None] = {}
        self._now: dict[str, HoldKind | None] = {}
        self.for_all: dict[str, HoldReason | None] = {}
        """The last answers that hold for whole checks, by check."""

    def to_ask(
        self, moment: Clocks, happened_in: Collection[CountScope], *, woken: bool
    ) -> Iterator[tuple[str, Queue]]:
        """Yield each queue that must ask, with its first target, the longest waiting first."""
        self.for_all = self._checker.ask_for_all(moment)
        self._now = {check: hold_kind_of(held) if held else None for check, held in self.for_all.items()}
        chosen = set(self._queues.near(happened_in))
        if self._thorough or self._now != self._reported:
            chosen.update(self._queues.all())
        elif woken:
            # The cooldown of a failure domain ends by time alone.
            chosen.update(self._queues.reported(CoolingDown.reason))
        yield from self._queues.in_order(chosen)

    def reported_all(self) -> None:
        """Record that no remediation may start now and that all reasons are logged."""
        self._reported = self._now


AT_LEAST: Final = 1.0
"""Seconds.

All times are whole seconds, so a nearer deadline is a rounding error and is not evaluated twice.
"""


def simulate(snapshot: Snapshot, plan: Plan, *, thorough: bool = False) -> RunLog:
    """Run the plan. Raises NoNodesError if it names nodes that do not exist.

    With `thorough`, the guard is also asked if its answer cannot have changed. The result is the same, but
    slower.
    """
    return _Engine(snapshot, plan, thorough=thorough).run()


class _Engine:
    def __init__(self, snapshot: Snapshot, plan: Plan, *, thorough: bool) -> None:
        self._plan = plan
        self._story = RunLog()
        self._log_writer = LogWriter(self._story)
        self._agenda = EventQueue()
        self._world = SimulatedCluster(snapshot, plan.symptom)
        self._failure_injector = FailureInjector(plan, self._world, self._agenda, self._story)
        self._checker = SimulatedChecker(self._world)
        self._queues = Queues()
        self._turns = Turns(self._queues, self._checker, thorough=thorough)
        for record in snapshot.remediations:
            self._agenda.note(plan.remediation_takes, partial(self._failure_injector.end, record))
            if record.untouched:
                # By then it is unserved, and takes no slot any more.
                self._agenda.wake(UNSERVED_AFTER)
        for ends in pause_ends(snapshot):
            self._agenda.wake(ends)

    def run(self) -> RunLog:
        for name in self._checker.rebuild_counts(self._world.moment(0.0)):
            self._agenda.evaluate(0.0, name)
        self._story.watched = self._checker.evaluator.target_index.health_counts().total
        self._agenda.wake(0.0)
        while (now := self._agenda.next_at) is not None and now <= self._plan.lasts:
            pending, woken = set[str](), False
            while (event := self._agenda.take(now)) is not None:
                pending.update(event(now))
                woken = woken or event is only_time_passes
            self._decide(sorted(pending), self._world.moment(now), woken=woken)
        return self._story

    def _decide(self, pending: Iterable[str], moment: Clocks, *, woken: bool) -> None:
        # After all targets are counted, one target per place is enough to detect a storm there.
        cases = (self._evaluate(name, moment) for name in pending)
        places = {case.placed.place: case for case in cases if case is not None}
        evaluator = self._checker.evaluator
        for case in places.values():
            evaluator.update_storms(case.placed, moment)
        storm_state, counts = evaluator.storm_state(moment), evaluator.target_index.health_counts()
        changed = self._log_writer.storm_state(storm_state, counts, moment.now)
        if changed and storm_state == condition_reasons.COOLING_DOWN:
            self._agenda.wake(moment.now + evaluator.settle_time(moment))
        while (begun := self._let_somebody_begin(moment, places.keys(), woken=woken)) is not None:
            places[begun.placed.place] = begun

    def _evaluate(self, name: str, moment: Clocks) -> SimulatedEvaluation | None:
        """Evaluate a node and carry out its actions, until none of them changes its evaluation."""
        while (case := self._checker.case_of(name, moment)) is not None:
            request = self._checker.wish(case)
            waits = isinstance(request, Create) or _is_anothers(request)
            self._checker.note(case, request)
            self._log_writer.judged(case, moment.now)
            if waits:
                self._queues.join(name, self._alike(case), moment.now)
                return case
            self._queues.leave(name)
            if not self._carry_out(case, request, moment):
                return case
        return None

    def _carry_out(self, case: SimulatedEvaluation, request: Request, moment: Clocks) -> bool:
        """Carry out a request. Returns True if the target must then be evaluated again."""
        name, now = case.target.node.name, moment.now
        match request:
            case DeleteRemediation() | Escalate():
                if case.found is None:
                    raise ValueError("there is nothing to withdraw")
                self._world.remediations.withdraw(case.found.record, now)
                self._log_writer.withdrawn(case.found.record, request, now)
                return True
            case NoAction(again_in):
                self._log_writer.freed(name, now)
                if again_in is not None:
                    self._agenda.evaluate(now + max(ceil(again_in), AT_LEAST), name)
            case Hold(reason):
                self._log_writer.held([name], reason, now)
            case Create():
                raise ValueError("a request to create a remediation must wait for the guard")
            case _:
                assert_never(request)
        return False

    def _let_somebody_begin(
        self, moment: Clocks, happened_in: Collection[CountScope], *, woken: bool
    ) -> SimulatedEvaluation | None:
        """Start one remediation and return its target.

        If the guard allows none, record the reasons for the waiting targets and return None.
        """
        answers = []
        for name, queue in self._turns.to_ask(moment, happened_in, woken=woken):
            case = self._checker.case_of(name, moment)
            if case is None:
                raise ValueError(f"{name} waits, and is no target")
            request = self._checker.ask(case, moment)
            if isinstance(request, Create):
                index, kind = self._next_remedy(case.target)
                if isinstance(kind, RemedyKind):
                    self._begin(case, index, kind, moment)
                    return case
                request = Hold(CannotRead("the template", kind.why))
            if isinstance(request, Hold):
                answers.append((queue, request.reason))
        for queue, reason in answers:
            self._log_writer.held(queue.tell(hold_kind_of(reason)), reason, moment.now)
        if self._queues:
            # Queues that were not asked wait for a reason that holds their whole check.
            self._wake_after([*self._turns.for_all.values(), *(reason for _, reason in answers)], moment)
        self._turns.reported_all()
        return None

    def _wake_after(self, reasons: Iterable[HoldReason | None], moment: Clocks) -> None:
        for reason in reasons:
            if isinstance(reason, CoolingDown | StartInterval):
                self._agenda.wake(moment.now + max(ceil(reason.remaining), AT_LEAST))

    def _next_remedy(self, target: NodeTarget) -> tuple[int, RemedyKind | NotServed]:
        index = self._checker.escalation.next_of(target)
        return index, self._world.view.remedies.kind_of(target.check.spec.remedies[index].template)

    def _begin(self, case: SimulatedEvaluation, index: int, kind: RemedyKind, moment: Clocks) -> None:
        target, now = case.target, moment.now
        record = self._world.remediations.open(target, kind, index, now)
        self._checker.begin(case, moment)
        since = self._queues.leave(target.node.name)
        waited = now - since if since is not None else 0.0
        self._log_writer.begun(case, record, index + 1, waited=waited, now=now)
        self._story.most_at_once = max(self._story.most_at_once, self._checker.in_progress)
        self._agenda.note(now + self._plan.remediation_takes, partial(self._failure_injector.end, record))
        self._evaluate(target.node.name, moment)

    def _alike(self, case: SimulatedEvaluation) -> QueueKey:
        name = case.target.node.name
        alone = case.existing is not None or self._world.seen.control_plane_index.has(name)
        return QueueKey(
            place=case.placed.place,
            excluded_by=case.placed.target.excluded_by,
            maintained_by=case.placed.target.maintained_by,
            remedy=self._checker.escalation.next_of(case.target),
            alone=name if alone else "",
        )


def _is_anothers(request: Request) -> bool:
    return isinstance(request, Hold) and isinstance(request.reason, OtherRemediation)
