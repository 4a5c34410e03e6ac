"""Writes what people and the next leadership read: the statuses of the checks and of the policy."""

from typing import Protocol

from nodemend.api import keys
from nodemend.api.node_health_check import NodeHealthCheck
from nodemend.api.timestamps import print_time
from nodemend.controllers.checking.guarding import Guarding, Moment
from nodemend.controllers.checking.standings import Tally
from nodemend.controllers.checking.writer import Writer
from nodemend.controllers.node_health_check import act, report
from nodemend.controllers.node_health_check.gather import View
from nodemend.controllers.node_health_check.wards import anybody_under
from nodemend.decide.guard_holds import ApiUnsettled, Paused, Settling
from nodemend.decide.holds import Hold, ViewStale
from nodemend.kube.reconcile_loop import Done, Outcome, RequeueAfter

WHILE_WAITING = 10.0
"""Seconds after which a report is looked at again: storms settle and pauses end by time alone."""

_PASSING = (Paused, Settling, ApiUnsettled, ViewStale)
"""Holds that end without a change of anything that we watch."""


class Counts(Protocol):
    def counted(self, check: str, tally: Tally | None) -> None:
        """Where the targets of a check stand; None when the check is gone."""
        ...


class Reporter:
    def __init__(self, view: View, guarding: Guarding, writer: Writer, counts: Counts) -> None:
        self._view = view
        self._guarding = guarding
        self._writer = writer
        self._counts = counts

    async def report_check(self, name: str, moment: Moment) -> Outcome:
        check = self._view.checks.get(name)
        if check is None:
            self._counts.counted(name, None)
            return Done()
        tally = self._guarding.standings.of_check(name)
        self._counts.counted(name, tally)
        guarded = self._guarding.of_check(anybody_under(check, moment.wall), moment)
        ability = report.Ability(guarded, self._unusable(check))
        status = report.status_of(check, tally, ability, print_time(moment.wall))
        if status != check.status:
            outcome = await self._writer.write(act.report_status(check, report.as_fields(status)))
            if outcome != Done():
                return outcome
        waits = isinstance(guarded, Hold) and isinstance(guarded.reason, _PASSING)
        return RequeueAfter(WHILE_WAITING) if waits else Done()

    def _unusable(self, check: NodeHealthCheck) -> str:
        """The first remedy that cannot be used: better said before a node needs it."""
        templates = (remedy.template for remedy in check.spec.remedies)
        found = ((one.kind, self._view.remedies.unusable(one)) for one in templates)
        return next((f"The remedy {kind} cannot be used: {why}." for kind, why in found if why), "")

    async def report_policy(self, moment: Moment) -> Outcome:
        policy = self._view.policies.get(keys.POLICY_NAME)
        if policy is None:
            return Done()
        census, weather = self._guarding.standings.census(), self._guarding.weather(moment)
        status = report.policy_status(policy, census, weather, moment.wall)
        if status != policy.status:
            outcome = await self._writer.write(act.report_policy(policy, report.as_fields(status)))
            if outcome != Done():
                return outcome
        waits = bool(weather) or policy.spec.pause is not None
        return RequeueAfter(WHILE_WAITING) if waits else Done()
