"""Writes what people and the next leadership read: the statuses of the checks and of the policy."""

from collections.abc import Iterable
from typing import Protocol

from nodemend.api import keys
from nodemend.api.conditions import find_true
from nodemend.api.node_health_check import NodeHealthCheck, NodeHealthCheckStatus, RecoveryReport
from nodemend.api.timestamps import print_time
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.hold_reminders import HoldReminders
from nodemend.controllers.checking.overlaps import CONDITION
from nodemend.controllers.checking.report_pace import WHILE_WAITING, after_report
from nodemend.controllers.checking.rooms import Room, room_of_check, rooms_of_cluster
from nodemend.controllers.checking.standings import Tally
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.node_health_check import act, report
from nodemend.controllers.node_health_check.gather import View
from nodemend.controllers.node_health_check.history import History
from nodemend.controllers.node_health_check.recovery_book import RecoveryBook
from nodemend.controllers.node_health_check.wards import anybody_under
from nodemend.decide.facts import Present
from nodemend.decide.holds import Hold
from nodemend.decide.storm_guard import Go
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter


class Counts(Protocol):
    def counted(self, check: str, tally: Tally | None) -> None:
        """Where the targets of a check stand; None when the check is gone."""
        ...

    def still_held(self, check: NodeHealthCheck, note: str) -> None:
        """Something has been held under a check for long."""
        ...

    def overlapped(self, check: NodeHealthCheck, note: str) -> None:
        """Other checks have come to have nodes that it selects."""
        ...

    def stalled(self, check: NodeHealthCheck, now: NodeHealthCheckStatus) -> None:
        """Whether it could not act, or leaves nodes to others, as is written now; `check` has what was."""
        ...

    def recovering(self, check: NodeHealthCheck, now: tuple[RecoveryReport, ...]) -> None:
        """Its recoveries as they are written now; `check` has those that were before."""
        ...

    def guarded(self, check: str, guarded: Go | Hold, room: Room | None) -> None:
        """Whether anything may begin under a check, and how full its own limit is."""
        ...

    def filled(self, cluster: str, rooms: Iterable[Room]) -> None:
        """How full the limits of the policy are."""
        ...


class Reporter:
    def __init__(
        self,
        view: View,
        guarding: Guarding,
        history: History,
        recoveries: RecoveryBook,
        writer: Writer,
        counts: Counts,
    ) -> None:
        self._view = view
        self._guarding = guarding
        self._history = history
        self._recoveries = recoveries
        self._writer = writer
        self._counts = counts
        self._reminders = HoldReminders("node")

    async def report_check(self, name: str, moment: Moment) -> Outcome:
        check = self._view.checks.get(name)
        if check is None:
            self._counts.counted(name, None)
            self._reminders.forget(name)
            return Done()
        tally = self._guarding.standings.of_check(name)
        self._counts.counted(name, tally)
        anybody = anybody_under(check, moment.wall)
        guarded = self._guarding.of_check(anybody, moment)
        self._counts.guarded(name, guarded, room_of_check(self._guarding.standings, anybody.check))
        outcome = await self._write(check, guarded, moment)
        if outcome != Done():
            return outcome
        note, again_in = self._reminders.look(name, tally, moment.now)
        if note:
            self._counts.still_held(check, note)
        return after_report(guarded, again_in)

    async def write_down(self, check: NodeHealthCheck, moment: Moment) -> Outcome:
        """Done once the status says what is in the book: there the next leadership reads it."""
        guarded = self._guarding.of_check(anybody_under(check, moment.wall), moment)
        return await self._write(check, guarded, moment)

    async def _write(self, check: NodeHealthCheck, guarded: Go | Hold, moment: Moment) -> Outcome:
        tally = self._guarding.standings.of_check(check.metadata.name)
        left = self._guarding.standings.overlaps.of_check(check.metadata.name)
        ability = report.Ability(guarded, self._unusable(check), left)
        past = report.Past(self._history.of(check), self._recoveries.reports(check, moment))
        status = report.status_of(check, tally, ability, past, print_time(moment.wall))
        if status != check.status:
            outcome = await self._writer.write(act.report_status(check, report.as_fields(status)))
            if outcome != Done():
                return outcome
        self._counts.recovering(check, status.recoveries)
        self._counts.stalled(check, status)
        if begun := _begun_overlap(check, status):
            self._counts.overlapped(check, begun)
        return Done()

    def _unusable(self, check: NodeHealthCheck) -> str:
        """The first remedy that cannot be used: better said before a node needs it."""
        remedies = self._view.remedies
        found = ((one.kind, remedies.unusable(one) or remedies.missing(one)) for one in check.spec.templates)
        return next((f"The remedy {kind} cannot be used: {why}." for kind, why in found if why), "")

    async def report_policy(self, moment: Moment) -> Outcome:
        policy = self._view.policies.get(keys.POLICY_NAME)
        if policy is None:
            return Done()
        census, weather = self._guarding.standings.census(), self._guarding.weather(moment)
        known = self._guarding.policy(moment)
        if isinstance(known, Present):
            self._counts.filled("", rooms_of_cluster(self._guarding.standings, known.value, ""))
        doubt = known.value.doubt if isinstance(known, Present) else None
        status = report.policy_status(policy, census, weather, doubt, moment.wall)
        # The history of Machines in it is not ours to write.
        if status != policy.status.but(machine_history=()):
            outcome = await self._writer.write(act.report_policy(policy, report.as_fields(status)))
            if outcome != Done():
                return outcome
        waits = bool(weather) or policy.spec.pause is not None
        return RequeueAfter(WHILE_WAITING) if waits else Done()


def _begun_overlap(check: NodeHealthCheck, now: NodeHealthCheckStatus) -> str:
    """What is said of it where the status before did not say so."""
    was, told = (find_true(one.conditions, CONDITION) for one in (check.status, now))
    return told.message if told is not None and was is None else ""
