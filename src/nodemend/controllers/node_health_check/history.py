"""The last remediations of a check, and how each of them ended."""

from typing import Final

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.api.node_health_check import HowEnded, NodeHealthCheck, PastRemediation
from nodemend.controllers.checking.endings import Ending, Endings
from nodemend.controllers.checking.standings import Standing, Standings
from nodemend.controllers.recent import Recent
from nodemend.kube.remediation_record import RemediationRecord

KEPT: Final = 20


class History:
    """One leadership's part of it. What is written in the status already stays as it is written."""

    def __init__(self, endings: Endings, standings: Standings) -> None:
        self._endings = endings
        self._standings = standings
        self._expected: Recent[str, HowEnded] = Recent()
        self._told: Recent[str, PastRemediation] = Recent()

    def expect(self, record: RemediationRecord, how: HowEnded) -> None:
        """We are about to end it. Also when nobody will know whether the write was applied."""
        self._expected.keep(record.uid, how)

    def of(self, check: NodeHealthCheck) -> tuple[PastRemediation, ...]:
        """The status may lag behind what we wrote ourselves: what we told is in both."""
        past = {_key(one): one for one in check.status.history}
        for ending in self._endings.of_check(check.metadata.uid):
            told = self._tell(ending, check)
            past.setdefault(_key(told), told)
        return tuple(sorted(past.values(), key=lambda one: one.ended, reverse=True)[:KEPT])

    def _tell(self, ending: Ending, check: NodeHealthCheck) -> PastRemediation:
        """The same at every report, whatever becomes of the node."""
        record = ending.record
        known = self._told.find(record.uid)
        if known is not None:
            return known
        told = PastRemediation(
            node=record.name,
            kind=record.resource.kind,
            began=record.created,
            ended=ending.at,
            outcome=self._outcome(ending, check),
            ordered_by=record.annotations.get(keys.ORDERED_BY, ""),
        )
        self._told.keep(record.uid, told)
        return told

    def _outcome(self, ending: Ending, check: NodeHealthCheck) -> HowEnded:
        record = ending.record
        if record.contradicted:
            # However it ended. A node that is well again does not undo that its workloads may have run twice.
            return HowEnded.CONTRADICTED
        expected = self._expected.find(record.uid)
        if expected is not None:
            return expected
        if ending.with_node:
            return HowEnded.GONE
        if record.recovers:
            done = record.says("Succeeded") == ConditionStatus.TRUE
            return HowEnded.RECOVERED if done else HowEnded.WITHDRAWN
        # The last leader may have withdrawn it, or a person: how far the node has come, and whether it is
        # well, tell which was meant.
        stands = self._standings.find(record.name)
        if stands is not None and stands.remedy > _rung(check, record):
            return HowEnded.ESCALATED
        well = stands is not None and stands.standing is Standing.HEALTHY
        succeeded = record.says("Succeeded") == ConditionStatus.TRUE
        return HowEnded.HEALED if well or succeeded else HowEnded.WITHDRAWN


def _rung(check: NodeHealthCheck, record: RemediationRecord) -> int:
    """Which remedy of its check it is, counted from 1; beyond the last when it is none of them now."""
    made_from = (record.resource.api_version, f"{record.resource.kind}Template", record.namespace)
    templates = [remedy.template for remedy in check.spec.remedies]
    named = [(template.api_version, template.kind, template.namespace) for template in templates]
    return named.index(made_from) + 1 if made_from in named else len(named) + 1


def _key(past: PastRemediation) -> tuple[str, str, str]:
    return past.node, past.kind, past.began
