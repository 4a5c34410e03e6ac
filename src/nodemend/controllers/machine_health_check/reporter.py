"""Writes what people read: the status of each check that is ours to serve."""

from typing import Protocol

from nodemend.api.timestamps import print_time
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.standings import Tally
from nodemend.controllers.checking.ward import Ward
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.fresh_reads import value_of
from nodemend.controllers.machine_health_check import act, report
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.controllers.machine_health_check.wards import check_facts
from nodemend.kube.machine_dialect import dialect_of
from nodemend.kube.reconcile_loop import Done, Outcome


class Counts(Protocol):
    def counted(self, check: MachineCheckKey, tally: Tally | None) -> None:
        """Where the targets of a check stand; None when the check is gone, or not ours."""
        ...


class MachineReporter:
    def __init__(self, view: MachineView, guarding: Guarding, writer: Writer, counts: Counts) -> None:
        self._view = view
        self._guarding = guarding
        self._writer = writer
        self._counts = counts

    async def report(self, key: MachineCheckKey, moment: Moment) -> Outcome:
        check = self._view.fleet.check(key)
        if check is None or not self._view.fleet.serves(key):
            self._counts.counted(key, None)
            return Done()
        tally = self._guarding.standings.of_check(str(key))
        self._counts.counted(key, tally)
        facts = check_facts(self._view, check, str(key), None, value_of(self._guarding.policy(moment)))
        cluster = f"{check.namespace}/{check.rules.cluster}" if check.rules.cluster else ""
        anybody = Ward(name="", labels={}, check=facts, cluster=cluster)
        guarded = self._guarding.of_check(anybody, moment)
        targets = [name.rpartition("/")[2] for name in self._guarding.standings.targets_of(str(key))]
        status = report.status_of(
            check,
            dialect_of(check.resource),
            tally,
            targets,
            guarded,
            facts.reading,
            now=print_time(moment.wall),
        )
        if not report.differs(status, check.status):
            return Done()
        return await self._writer.write(act.report_status(check, status))
