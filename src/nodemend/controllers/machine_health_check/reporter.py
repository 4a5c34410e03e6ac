"""Writes what people read: the status of each check that is ours to serve."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol

from nodemend.api import keys
from nodemend.api.timestamps import print_time
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.hold_reminders import HoldReminders
from nodemend.controllers.checking.overlaps import CONDITION
from nodemend.controllers.checking.report_pace import WHILE_WAITING, after_report
from nodemend.controllers.checking.rooms import Room, room_of_check, rooms_of_cluster
from nodemend.controllers.checking.standings import Tally
from nodemend.controllers.checking.ward import Ward
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.fresh_reads import value_of
from nodemend.controllers.machine_health_check import act, report
from nodemend.controllers.machine_health_check.annotated_machine import is_annotation
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey
from nodemend.controllers.machine_health_check.history import MachineHistory
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.controllers.machine_health_check.wards import check_facts
from nodemend.decide.facts import Present
from nodemend.decide.holds import Hold
from nodemend.decide.storm_guard import Go
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_dialect import dialect_of
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter


class Counts(Protocol):
    def counted(self, check: MachineCheckKey, tally: Tally | None) -> None:
        """Where the targets of a check stand; None when the check is gone, or not ours."""
        ...

    def still_held(self, check: MachineCheckRecord, note: str) -> None:
        """Something has been held under a check for long."""
        ...

    def still_held_by_annotation(self, key: MachineCheckKey, note: str) -> None:
        """Something that an annotation asks for has been held for long, in the namespace of this."""
        ...

    def overlapped(self, check: MachineCheckRecord, note: str) -> None:
        """Other checks have come to have Machines that it selects."""
        ...

    def guarded(self, check: MachineCheckKey, guarded: Go | Hold, room: Room | None) -> None:
        """Whether anything may begin under a check, and how full its own limit is."""
        ...

    def filled(self, cluster: str, rooms: Iterable[Room]) -> None:
        """How full the limits of the policy are in a cluster."""
        ...


class MachineReporter:
    def __init__(
        self, view: MachineView, guarding: Guarding, history: MachineHistory, writer: Writer, counts: Counts
    ) -> None:
        self._view = view
        self._guarding = guarding
        self._history = history
        self._writer = writer
        self._counts = counts
        self._reminders = HoldReminders("machine")
        self._clusters: dict[MachineCheckKey, str] = {}
        """Of every check that was served: what it leaves in its cluster is told when it is gone."""

    async def report(self, key: MachineCheckKey, moment: Moment) -> Outcome:
        if is_annotation(key):
            return self._tell_annotation(key, moment)
        check = self._view.fleet.check(key)
        if check is None or not self._view.fleet.serves(key):
            self._counts.counted(key, None)
            self._reminders.forget(str(key))
            self._tell_cluster(key, moment)
            return Done()
        tally = self._guarding.standings.of_check(str(key))
        self._counts.counted(key, tally)
        facts = check_facts(self._view, check, str(key), None, value_of(self._guarding.policy(moment)))
        cluster = f"{check.namespace}/{check.rules.cluster}" if check.rules.cluster else ""
        self._clusters[key] = cluster
        self._tell_cluster(key, moment)
        anybody = Ward(name="", labels={}, check=facts, cluster=cluster)
        guarded = self._guarding.of_check(anybody, moment)
        self._counts.guarded(key, guarded, room_of_check(self._guarding.standings, facts))
        status = report.status_of(
            check,
            dialect_of(check.resource),
            tally,
            self._targets_of(key, check),
            guarded,
            facts.reading,
            left=self._left_by(key),
            now=print_time(moment.wall),
        )
        if report.differs(status, check.status):
            outcome = await self._writer.write(act.report_status(check, status))
            if outcome != Done():
                return outcome
            told = next((one for one in status["conditions"] if one["type"] == CONDITION), None)
            if told is not None and check.condition(CONDITION) is None:
                self._counts.overlapped(check, told["message"])
        note, again_in = self._reminders.look(str(key), tally, moment.now)
        if note:
            self._counts.still_held(check, note)
        return after_report(guarded, again_in)

    def _tell_annotation(self, key: MachineCheckKey, moment: Moment) -> Outcome:
        """It has no status to be written: what is held is in the metrics, in the log and on each Machine."""
        tally = self._guarding.standings.of_check(str(key))
        self._counts.counted(key, tally if len(tally) else None)
        note, again_in = self._reminders.look(str(key), tally, moment.now)
        if note:
            self._counts.still_held_by_annotation(key, note)
        return Done() if again_in is None else RequeueAfter(again_in)

    def _left_by(self, key: MachineCheckKey) -> Mapping[str, int]:
        """Checks of two projects may have one name: together they are told."""
        left: Counter[str] = Counter()
        for check, number in self._guarding.standings.overlaps.of_check(str(key)).items():
            left[f"mhc/{check.rpartition('/')[2]}"] += number
        return left

    def _targets_of(self, key: MachineCheckKey, check: MachineCheckRecord) -> list[str]:
        """By name. Looked for where the check looks: a thousand clusters have a hundred thousand in all."""
        under, place_of = str(key), self._guarding.standings.place_of
        places = ((machine.name, place_of(str(machine))) for machine in self._view.fleet.in_reach(check))
        return [name for name, place in places if place is not None and place.check == under]

    async def report_history(self, moment: Moment) -> Outcome:
        """Only while all that is served is in sight: who is not seen is not gone."""
        policy = self._view.policies.get(keys.POLICY_NAME)
        if policy is None:
            return Done()
        if not self._view.fleet.settled:
            return RequeueAfter(WHILE_WAITING)
        written = policy.status.machine_history
        history = self._history.look(written, print_time(moment.wall))
        return Done() if history == written else await self._writer.write(act.report_history(policy, history))

    def _tell_cluster(self, key: MachineCheckKey, moment: Moment) -> None:
        cluster, policy = self._clusters.get(key), self._guarding.policy(moment)
        if cluster is not None and isinstance(policy, Present):
            rooms = rooms_of_cluster(self._guarding.standings, policy.value, cluster)
            self._counts.filled(cluster, rooms)
