"""Where every node stands, and who is told when that changes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from nodemend.controllers.checking.entries import entry_of
from nodemend.controllers.checking.first_sights import FirstSights
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.observations import Observations
from nodemend.controllers.checking.standings import HEALTHY, Entry, Place, Standing, Stood
from nodemend.controllers.checking.turn import Turn
from nodemend.controllers.checking.vanished import Vanished
from nodemend.controllers.fresh_reads import POLICY_OF_DEFAULTS
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Found, Target, View
from nodemend.controllers.node_health_check.orders import Orders, Warrant, Weighed
from nodemend.controllers.node_health_check.quick_judge import QuickJudge
from nodemend.controllers.node_health_check.recovery_book import RecoveryBook
from nodemend.controllers.node_health_check.rungs import Rungs
from nodemend.controllers.node_health_check.wards import ward_of
from nodemend.decide.dry_run import tell_dry_run
from nodemend.decide.guard_facts import GuardFacts
from nodemend.decide.holds import Hold
from nodemend.decide.node_health import Healthy, NodeHealth, Unhealthy
from nodemend.decide.remediation_request import Open
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube.ports import Runtime

COUNTED_AT_A_TIME: Final = 500


class Judgements(Protocol):
    def judged(self, target: Target, before: Entry | None, now: Entry) -> None: ...


@dataclass(frozen=True, slots=True)
class Case:
    """A target with all that was found about it. `before` is where it stood."""

    target: Target
    place: Place
    health: NodeHealth
    found: Found | None
    """The remediation that is there for it."""
    existing: Open | None
    weighed: Weighed
    """What a person has ordered for it."""
    warrant: Warrant | None
    guarded: Go | Hold
    before: Stood | None

    @property
    def ours(self) -> Found | None:
        return self.found if self.existing is not None and self.existing.ours else None


class NodeBook:
    """One leadership's standings of nodes."""

    def __init__(  # noqa: PLR0913 - what it sees, what it remembers, whom it tells
        self,
        view: View,
        seen: Observations,
        guarding: Guarding,
        orders: Orders,
        *,
        runtime: Runtime,
        judgements: Judgements,
        ask_for_look: Callable[[str], None],
        ask_for_reports: Callable[[str], None],
        rungs: Rungs,
    ) -> None:
        self._view = view
        self._seen = seen
        self._guarding = guarding
        self._orders = orders
        self._runtime = runtime
        self._judgements = judgements
        self._ask_for_look = ask_for_look
        self._ask_for_reports = ask_for_reports
        self._rungs = rungs
        self.first_sights = FirstSights()
        self.recoveries = RecoveryBook(view, seen.remediations, ask_for_reports)
        self._vanished = Vanished(guarding.standings)
        self._counted_by: object = None
        self._counting = Turn(runtime)

    def moment(self) -> Moment:
        return Moment(self._runtime.monotonic(), self._runtime.wall())

    def look(self, target: Target) -> Case:
        """Judge it, count it, and ask the guard if it wants something."""
        moment, name = self.moment(), target.node.name
        self._vanished.forget(name)
        self._note_overlap(target)
        health = gather.judge_target(target, self._seen.ages, moment.now)
        self.first_sights.note(name, health, moment.now)
        found = gather.find_remediation(self._view, target)
        existing = self._as_open(found, target, moment) if found is not None else None
        ward = ward_of(target, moment.wall)
        place = self._guarding.place_of(ward, moment)
        before = self._guarding.standings.stood(name)
        weighed = self._orders.weigh(target, health, existing, moment.now)
        self._count_in(name, place, health, ordered=weighed.stands)
        self._guarding.look_around(ward, place, moment)
        asks = existing is None and (weighed.stands or isinstance(health, Unhealthy))
        facts = self._guarding.facts_of(ward, place, moment) if asks else None
        warrant = weighed.warrant(facts)
        guarded = self._ask_guard(target, facts, warrant) if facts else Go()
        return Case(target, place, health, found, existing, weighed, warrant, guarded, before)

    def _ask_guard(self, target: Target, facts: GuardFacts, warrant: Warrant | None) -> Go | Hold:
        passing = warrant.passing if warrant else ()
        wish = gather.wish_for(target, self._rungs.next_of(target), self._view.remedies)
        return tell_dry_run(facts, guard(facts, passing), wish, POLICY_OF_DEFAULTS, passing)

    def enter(self, case: Case, entry: Entry) -> None:
        place, before = case.place, case.before
        self._guarding.standings.enter(case.target.node.name, place, entry)
        if before == (place, entry):
            return
        self._judgements.judged(case.target, before[1] if before else None, entry)
        self._ask_for_reports(place.check)
        if before is not None and before[0].check != place.check:
            self._ask_for_reports(before[0].check)

    def leave(self, name: str) -> float | None:
        """Not a target any more. For how many seconds it counts on, if its Node is gone and was not well."""
        gone = self._view.nodes.get(name) is None
        counts_for = self._vanished.count_on(name, self.moment().now) if gone else None
        self._forget(name, counts_on=counts_for is not None)
        return counts_for

    async def count_everybody(self) -> None:
        """Before anybody is judged by new rules: a storm is a share of all, not of the first few."""
        if gather.rules_in_force(self._view) == self._counted_by:
            return
        async with self._counting.taken():
            rules = gather.rules_in_force(self._view)
            if rules != self._counted_by:
                await self._count_by(rules)

    def concerned(self) -> list[str]:
        """Whoever may want something, by name. All others are well and have nothing open, once counted."""
        names = set(self._guarding.standings.unwell())
        names.update(record.name for record in self._view.remedies.all())
        names.update(order.metadata.name for order in self._view.orders.all())
        for check in self._view.checks.all():
            names.update(one.node for one in check.status.recoveries)
        return sorted(names)

    async def _count_by(self, rules: object) -> None:
        names, judge = list(self._view.nodes.keys()), QuickJudge(self._seen.ages)
        for first in range(0, len(names), COUNTED_AT_A_TIME):
            moment = self.moment()
            for name in names[first : first + COUNTED_AT_A_TIME]:
                self._count(name, judge, moment)
            await self._runtime.sleep(0)
        self._recount_vanished()
        self._counted_by = rules
        for check in self._view.checks.all():
            self._ask_for_reports(check.metadata.name)

    def _recount_vanished(self) -> None:
        for name in self._vanished.names:
            place = self._guarding.standings.place_of(name)
            if place is None or self._view.checks.get(place.check) is None:
                self._vanished.forget(name)
                self._forget(name)

    def _forget(self, name: str, *, counts_on: bool = False) -> None:
        self.first_sights.forget(name)
        self.recoveries.forget(name)
        standings = self._guarding.standings
        place = standings.place_of(name) if counts_on else standings.strike(name)
        if place is not None:
            self._ask_for_reports(place.check)
        for check in standings.overlaps.forget(name):
            self._ask_for_reports(check)

    def _note_overlap(self, target: Target) -> None:
        overlaps = self._guarding.standings.overlaps
        for check in overlaps.note(target.node.name, target.check.metadata.name, target.overlapping):
            self._ask_for_reports(check)

    def _count(self, name: str, judge: QuickJudge, moment: Moment) -> None:
        target = gather.find_target(self._view, name)
        if target is None:
            self._forget(name)
            return
        well = judge.finds_well(target, moment.now)
        entry = self._guarding.standings.find(name) or self._first_entry(target, moment, well=well)
        if rung := self._rungs.of(name):
            entry = replace(entry, remedy=rung)
        elif entry == HEALTHY and not well:
            # It is told of when it is looked at.
            self._ask_for_look(name)
        place = self._guarding.place(target.check.metadata.name, target.node, moment)
        self._guarding.standings.enter(name, place, entry)
        self._guarding.standings.overlaps.note(name, target.check.metadata.name, target.overlapping)

    def _first_entry(self, target: Target, moment: Moment, *, well: bool) -> Entry:
        remediating = gather.find_remediation(self._view, target) is not None
        if well and not remediating:
            return HEALTHY
        health = gather.judge_target(target, self._seen.ages, moment.now)
        return entry_of(health, None, remediating=remediating)

    def _as_open(self, found: Found, target: Target, moment: Moment) -> Open:
        since = self._seen.remediations.get(found.record.uid, moment.now)
        return gather.as_open(found, target, self._view, moment.now - since)

    def _count_in(self, name: str, place: Place, health: NodeHealth, *, ordered: bool) -> None:
        """Count a target among the unwell before the guard is asked about it, if it is one."""
        known = self._guarding.standings.find(name)
        healthy = isinstance(health, Healthy) and not ordered
        if healthy or (known is not None and known.standing is not Standing.HEALTHY):
            return
        self._guarding.standings.enter(name, place, Entry(Standing.UNHEALTHY))
