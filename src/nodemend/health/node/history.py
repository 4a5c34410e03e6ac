"""The last remediations of a check and their outcomes."""

from typing import Final

from nodemend.api import condition_types, well_known
from nodemend.api.meta import ConditionStatus
from nodemend.api.node_health_check import HowEnded, NodeHealthCheck, PastRemediation
from nodemend.guard.state import TargetIndex, TargetState
from nodemend.health.conditions import CompletedRemediation, CompletedRemediations
from nodemend.records.live_reads import BoundedMap
from nodemend.records.remediation import RemediationRecord

KEPT: Final = 20


class History:
    """Outcomes that one leader term observed. Entries already in the status stay as they are written."""

    def __init__(self, completed: CompletedRemediations, target_index: TargetIndex) -> None:
        self._completed = completed
        self._target_index = target_index
        self._expected: BoundedMap[str, HowEnded] = BoundedMap()
        self._reported: BoundedMap[str, PastRemediation] = BoundedMap()

    def expect(self, record: RemediationRecord, how: HowEnded) -> None:
        """Record the outcome before the deletion is sent: the result of the write may never be known."""
        self._expected.keep(record.uid, how)

    def of(self, check: NodeHealthCheck) -> tuple[PastRemediation, ...]:
        """Return the newest `KEPT` entries, newest first.

        The cached status may lag behind the last write, so entries reported in this term are merged in.
        """
        past = {_key(one): one for one in check.status.history}
        for ending in self._completed.of_check(check.metadata.uid):
            reported = self._tell(ending, check)
            past.setdefault(_key(reported), reported)
        return tuple(sorted(past.values(), key=lambda one: one.ended, reverse=True)[:KEPT])

    def _tell(self, ending: CompletedRemediation, check: NodeHealthCheck) -> PastRemediation:
        """Return the entry of an ended remediation; the first result is kept, so every report is equal."""
        record = ending.record
        known = self._reported.find(record.uid)
        if known is not None:
            return known
        reported = PastRemediation(
            node=record.name,
            kind=record.resource.kind,
            began=record.created,
            ended=ending.at,
            outcome=self._outcome(ending, check),
            ordered_by=record.annotations.get(well_known.ORDERED_BY, ""),
        )
        self._reported.keep(record.uid, reported)
        return reported

    def _outcome(self, ending: CompletedRemediation, check: NodeHealthCheck) -> HowEnded:
        record = ending.record
        if record.contradicted:
            # Contradicted wins over every other outcome: workloads may have run twice, even if the node is
            # healthy again.
            return HowEnded.CONTRADICTED
        expected = self._expected.find(record.uid)
        if expected is not None:
            return expected
        if ending.with_node:
            return HowEnded.GONE
        if record.recovers:
            done = record.says(condition_types.SUCCEEDED) == ConditionStatus.TRUE
            return HowEnded.RECOVERED if done else HowEnded.WITHDRAWN
        # The last leader or a user may have deleted it. The node's escalation step and its health show
        # whether it was escalated, healed or withdrawn.
        stands = self._target_index.find(record.name)
        if stands is not None and stands.remedy > _remedy_number(check, record):
            return HowEnded.ESCALATED
        well = stands is not None and stands.state is TargetState.HEALTHY
        succeeded = record.says(condition_types.SUCCEEDED) == ConditionStatus.TRUE
        return HowEnded.HEALED if well or succeeded else HowEnded.WITHDRAWN


def _remedy_number(check: NodeHealthCheck, record: RemediationRecord) -> int:
    """Return the remedy it was made from, counted from 1; one past the last if the check names none."""
    made_from = (record.resource.api_version, f"{record.resource.kind}Template", record.namespace)
    templates = [remedy.template for remedy in check.spec.remedies]
    named = [(template.api_version, template.kind, template.namespace) for template in templates]
    return named.index(made_from) + 1 if made_from in named else len(named) + 1


def _key(past: PastRemediation) -> tuple[str, str, str]:
    return past.node, past.kind, past.began
