"""Runs a simulation: from one thing that happens to the next, never by the second.

At every moment first all that happens does, then everybody concerned is judged, then the guard is asked: once
for each queue, and again for as long as it lets somebody begin.
"""

from collections.abc import Collection, Iterable
from math import ceil
from typing import Final, assert_never

from nodemend.cli.simulate.agenda import Agenda, Look, Over, Wake
from nodemend.cli.simulate.checker import Case, SimulatedChecker
from nodemend.cli.simulate.happenings import Happenings
from nodemend.cli.simulate.plan import Plan
from nodemend.cli.simulate.queues import Alike, Queues
from nodemend.cli.simulate.scribe import Scribe
from nodemend.cli.simulate.snapshot import Snapshot, pause_ends
from nodemend.cli.simulate.spells import sort_of
from nodemend.cli.simulate.story import Story
from nodemend.cli.simulate.turns import Turns
from nodemend.cli.simulate.world import World
from nodemend.controllers.checking.guarding import Moment
from nodemend.controllers.checking.remedies import NotServed, RemedyKind
from nodemend.controllers.checking.standings import Place
from nodemend.controllers.node_health_check.gather import Target
from nodemend.decide.guard_holds import OtherRemediation, Pacing, Settling
from nodemend.decide.holds import CannotRead, Hold, HoldReason
from nodemend.decide.remediation_request import Create, Escalate, Leave, Request, Withdraw

AT_LEAST: Final = 1.0
"""All times are whole seconds: a deadline nearer than that is a rounding error, and not asked for twice."""


def simulate(snapshot: Snapshot, plan: Plan, *, thorough: bool = False) -> Story:
    """Raises NobodyError when the plan speaks of nodes that there are not.

    `thorough` asks the guard also where its answer cannot have changed. The story is the same, and later.
    """
    return _Engine(snapshot, plan, thorough=thorough).run()


class _Engine:
    def __init__(self, snapshot: Snapshot, plan: Plan, *, thorough: bool) -> None:
        self._plan = plan
        self._story = Story()
        self._scribe = Scribe(self._story)
        self._agenda = Agenda()
        self._happenings = Happenings(plan, snapshot.nodes, self._agenda, self._story)
        self._world = World(snapshot, plan.symptom)
        self._checker = SimulatedChecker(self._world)
        self._queues = Queues()
        self._turns = Turns(self._queues, self._checker, thorough=thorough)
        for record in snapshot.remediations:
            self._agenda.note(plan.remediation_takes, Over(record))
        for ends in pause_ends(snapshot):
            self._agenda.wake(ends)

    def run(self) -> Story:
        for name in self._checker.count_everybody(self._world.moment(0.0)):
            self._agenda.note(0.0, Look(name))
        self._story.watched = self._checker.census.total
        self._agenda.wake(0.0)
        while (now := self._agenda.next_at) is not None and now <= self._plan.lasts:
            concerned, woken = set[str](), False
            while (event := self._agenda.take(now)) is not None:
                concerned.update(self._happenings.happen(event, self._world, now))
                woken = woken or isinstance(event, Wake)
            self._decide(sorted(concerned), self._world.moment(now), woken=woken)
        return self._story

    def _decide(self, concerned: Iterable[str], moment: Moment, *, woken: bool) -> None:
        # One of each place is enough to notice a storm there, once all are counted.
        places = {case.place: case for name in concerned if (case := self._judge(name, moment)) is not None}
        for case in places.values():
            self._checker.look_around(case, moment)
        weather = self._checker.weather(moment)
        if self._scribe.weather(weather, self._checker.census, moment.now) and weather == "Settling":
            self._agenda.wake(moment.now + self._checker.settle_time(moment))
        while (begun := self._let_somebody_begin(moment, places.keys(), woken=woken)) is not None:
            places[begun.place] = begun

    def _judge(self, name: str, moment: Moment) -> Case | None:
        """Until nothing more is to be withdrawn."""
        while (case := self._checker.case_of(name, moment)) is not None:
            request = self._checker.wish(case)
            waits = isinstance(request, Create) or _is_anothers(request)
            self._checker.note(case, request)
            self._scribe.judged(case, moment.now)
            if waits:
                self._queues.join(name, self._alike(case), moment.now)
                return case
            self._queues.leave(name)
            if not self._carry_out(case, request, moment):
                return case
        return None

    def _carry_out(self, case: Case, request: Request, moment: Moment) -> bool:
        """True when that changes what the target is to be judged by."""
        name, now = case.target.node.name, moment.now
        match request:
            case Withdraw() | Escalate():
                if case.found is None:
                    raise ValueError("there is nothing to withdraw")
                self._world.remediations.withdraw(case.found.record, now)
                self._scribe.withdrawn(case.found.record, request, now)
                return True
            case Leave(again_in):
                self._scribe.freed(name, now)
                if again_in is not None:
                    self._agenda.note(now + max(ceil(again_in), AT_LEAST), Look(name))
            case Hold(reason):
                self._scribe.held([name], reason, now)
            case Create():
                raise ValueError("whoever wants a remediation waits for the guard")
            case _:
                assert_never(request)
        return False

    def _let_somebody_begin(
        self, moment: Moment, happened_in: Collection[Place], *, woken: bool
    ) -> Case | None:
        """Whoever did. When nobody may, those who wait are told why."""
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
            self._scribe.held(queue.tell(sort_of(reason)), reason, moment.now)
        if self._queues:
            # Also those who were not asked wait for what holds everybody.
            self._wake_after([*self._turns.for_all.values(), *(reason for _, reason in answers)], moment)
        self._turns.all_told()
        return None

    def _wake_after(self, reasons: Iterable[HoldReason | None], moment: Moment) -> None:
        for reason in reasons:
            if isinstance(reason, Settling | Pacing):
                self._agenda.wake(moment.now + max(ceil(reason.remaining), AT_LEAST))

    def _next_remedy(self, target: Target) -> tuple[int, RemedyKind | NotServed]:
        index = self._checker.next_remedy(target)
        return index, self._world.view.remedies.kind_of(target.check.spec.remedies[index].template)

    def _begin(self, case: Case, index: int, kind: RemedyKind, moment: Moment) -> None:
        target, now = case.target, moment.now
        record = self._world.remediations.open(target, kind, index, now)
        self._checker.begin(case, moment)
        since = self._queues.leave(target.node.name)
        waited = now - since if since is not None else 0.0
        self._scribe.begun(case, record, index + 1, waited=waited, now=now)
        self._story.most_at_once = max(self._story.most_at_once, self._checker.at_work)
        self._agenda.note(now + self._plan.remediation_takes, Over(record))
        self._judge(target.node.name, moment)

    def _alike(self, case: Case) -> Alike:
        name = case.target.node.name
        alone = case.existing is not None or self._checker.is_control_plane(name)
        return Alike(
            place=case.place,
            excluded_by=case.ward.excluded_by,
            maintained_by=case.ward.maintained_by,
            remedy=self._checker.next_remedy(case.target),
            alone=name if alone else "",
        )


def _is_anothers(request: Request) -> bool:
    return isinstance(request, Hold) and isinstance(request.reason, OtherRemediation)
