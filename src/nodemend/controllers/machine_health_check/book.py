"""Where every machine stands, and who is told when that changes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from nodemend.controllers.checking.entries import entry_of
from nodemend.controllers.checking.first_sights import FirstSights
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.report_pace import REPORT_AT_MOST_EVERY
from nodemend.controllers.checking.standings import Entry, Place, Standing
from nodemend.controllers.checking.turn import Turn
from nodemend.controllers.checking.ward import Ward
from nodemend.controllers.fresh_reads import value_of
from nodemend.controllers.machine_health_check import gather
from nodemend.controllers.machine_health_check.clusters import ClusterNodes
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey, MachineKey
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.machine_observations import MachineObservations
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.controllers.machine_health_check.wards import ward_of
from nodemend.decide.holds import Hold
from nodemend.decide.machine_request import Way
from nodemend.decide.node_health import Healthy, NodeHealth
from nodemend.decide.storm_guard import Go, guard
from nodemend.kube.ports import Runtime

COUNTED_AT_A_TIME: Final = 200


class Judgements(Protocol):
    def judged(self, target: Target, before: Entry | None, now: Entry) -> None: ...


@dataclass(frozen=True, slots=True)
class Case:
    """A target with all that was found about it. `before` is where it stood."""

    target: Target
    ward: Ward
    place: Place
    health: NodeHealth
    way: Way
    guarded: Go | Hold
    before: tuple[MachineCheckKey, Entry] | None


class MachineBook:
    """One leadership's standings of machines."""

    def __init__(
        self,
        view: MachineView,
        seen: MachineObservations,
        guarding: Guarding,
        runtime: Runtime,
        judgements: Judgements,
        ask_for_report: Callable[[MachineCheckKey, float], None],
    ) -> None:
        self._view = view
        self._seen = seen
        self._guarding = guarding
        self._runtime = runtime
        self._judgements = judgements
        self._ask_for_report = ask_for_report
        self.first_sights = FirstSights()
        self._counted_by: object = None
        self._checks: dict[str, MachineCheckKey] = {}
        """By the names under which they are in the standings."""
        self._sightings: dict[str, int] = {}
        self._counting = Turn(runtime)

    def moment(self) -> Moment:
        return Moment(self._runtime.monotonic(), self._runtime.wall())

    def look(self, target: Target) -> Case:
        """Judge it, count it, and ask the guard."""
        moment = self.moment()
        health, ward, place = self._place(target, moment)
        self.first_sights.note(ward.name, health, moment.now)
        before = self._guarding.standings.stood(ward.name)
        self._count_in(ward.name, place, health)
        if isinstance(self._view.clusters.nodes_of(target.machine), ClusterNodes):
            # What nobody can see is no storm: there would be nothing that could settle.
            self._guarding.look_around(ward, place, moment)
        guarded = guard(self._guarding.facts_of(ward, place, moment))
        way = gather.way_of(self._view, target, value_of(self._guarding.policy(moment)), moment.now)
        stood = (self._checks[before[0].check], before[1]) if before is not None else None
        return Case(target, ward, place, health, way, guarded, stood)

    def enter(self, case: Case, entry: Entry) -> None:
        self._guarding.standings.enter(case.ward.name, case.place, entry)
        here, before = case.target.check_key, case.before
        if before == (here, entry):
            return
        self._judgements.judged(case.target, before[1] if before else None, entry)
        self._ask_for_report(here, REPORT_AT_MOST_EVERY)
        if before is not None and before[0] != here:
            self._ask_for_report(before[0], REPORT_AT_MOST_EVERY)

    def strike(self, key: MachineKey) -> None:
        self.first_sights.forget(str(key))
        place = self._guarding.standings.strike(str(key))
        if place is not None:
            self._ask_for_report(self._checks[place.check], REPORT_AT_MOST_EVERY)
        self._report(self._guarding.standings.overlaps.forget(str(key)))

    def _report(self, checks: Iterable[str]) -> None:
        for check in checks:
            self._ask_for_report(self._checks[check], REPORT_AT_MOST_EVERY)

    async def count_everybody(self) -> None:
        """Before anybody is judged by new rules: a storm is a share of all, not of the first few."""
        while (rules := self._view.rules_in_force()) != self._counted_by:
            # One of the workers counts, and the others wait for it.
            async with self._counting.taken():
                if rules == self._counted_by:
                    continue
                await self._for_each(self._view.fleet.machine_keys(), self._count)
                self._counted_by = rules
            for check in list(self._view.fleet.check_keys()):
                self._ask_for_report(check, REPORT_AT_MOST_EVERY)

    async def _for_each(self, keys: Iterable[MachineKey], act: Callable[[MachineKey], None]) -> None:
        """So many at a time: whoever leads has a Lease to renew in between."""
        for number, key in enumerate(list(keys), start=1):
            act(key)
            if number % COUNTED_AT_A_TIME == 0:
                await self._runtime.sleep(0)

    async def count_cluster(self, cluster: str) -> None:
        """Before anybody is judged in a cluster that comes into sight: else the first would meet a storm."""
        sightings = self._view.clusters.sightings(cluster)
        if sightings == self._sightings.get(cluster, 0):
            return
        await self._for_each(self._view.fleet.in_cluster(cluster), self._judge_anew)
        self._sightings[cluster] = sightings

    def _judge_anew(self, key: MachineKey) -> None:
        """Whoever could not be judged."""
        target = gather.find_target(self._view, key)
        known = self._guarding.standings.find(str(key))
        if target is None or known is None or known.standing is not Standing.UNJUDGED:
            return
        health, ward, place = self._place(target, self.moment())
        entry = entry_of(health, None, remediating=False)
        if self._guarding.standings.enter(ward.name, place, entry):
            self._judgements.judged(target, known, entry)
            self._ask_for_report(target.check_key, REPORT_AT_MOST_EVERY)

    def _count(self, key: MachineKey) -> None:
        target = gather.find_target(self._view, key)
        if target is None:
            self.strike(key)
            return
        health, ward, place = self._place(target, self.moment())
        marked = target.machine.marks.asks_owner
        remediating = marked or gather.find_remediation(self._view, target) is not None
        entry = self._guarding.standings.find(ward.name) or entry_of(health, None, remediating=remediating)
        self._guarding.standings.enter(ward.name, place, entry)

    def _place(self, target: Target, moment: Moment) -> tuple[NodeHealth, Ward, Place]:
        self._checks.update((str(one), one) for one in (target.check_key, *target.overlapping))
        others = tuple([str(one) for one in target.overlapping])
        self._report(self._guarding.standings.overlaps.note(str(target.key), str(target.check_key), others))
        facts = gather.machine_facts(self._view, target, self._seen, moment.now)
        ward = ward_of(self._view, target, value_of(self._guarding.policy(moment)))
        return gather.judge(target, facts), ward, self._guarding.place_of(ward, moment)

    def _count_in(self, name: str, place: Place, health: NodeHealth) -> None:
        """Count a target among the unwell before the guard is asked about it, if it is one."""
        known = self._guarding.standings.find(name)
        if isinstance(health, Healthy) or (known is not None and known.standing is not Standing.HEALTHY):
            return
        self._guarding.standings.enter(name, place, Entry(Standing.UNHEALTHY))
