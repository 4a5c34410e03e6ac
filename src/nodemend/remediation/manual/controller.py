"""Drives a ManualRemediation: reads all its facts live, writes each step, and reports steps and holds."""

from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationPhase
from nodemend.api.meta import parse_time
from nodemend.api.resources import MANUAL_REMEDIATION, NODE
from nodemend.api.upstream_types import Node
from nodemend.kube.events import EventText
from nodemend.kube.request import Request
from nodemend.records.live_reads import UnchangedTimer, node_facts, project, value_of
from nodemend.remediation import writes
from nodemend.remediation.manual.decide import ManualFacts, ReportSilence, Step, after, decide, tells
from nodemend.remediation.node_state import NOT_ASKED, remediation_grounds_of, revocation
from nodemend.remediation.reconciler import (
    Driver,
    RemediationRecorder,
    RemediationSubject,
    StepRecorder,
    tell_release,
)
from nodemend.remediation.status import SharedStep
from nodemend.remediation.switch_guard import GuardRequest
from nodemend.remediation.writes import Inputs, held_by, is_ours, read_lock
from nodemend.safety import lifecycle as steps
from nodemend.safety.facts import LeaseFacts, PolicyFacts, ReadResult
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import RecordEvidence
from nodemend.safety.switch_guard import RemediatorGuardFacts, may_release
from nodemend.telemetry import event_reasons, metric_labels


def confirmation_age(
    remediation: ManualRemediation, server_time: float | None, words: UnchangedTimer, now: float
) -> float | None:
    """Return the seconds since the confirmation was given.

    It is the larger of the age by the API server's clock and the time this process has observed it.

    None if there is no confirmation, or if the API server does not report when it was written.
    """
    confirmation = remediation.spec.confirmation
    if confirmation is None:
        return None
    ours = words.unchanged_for(remediation.metadata.uid, confirmation, asked_at=now, answered_at=now)
    given_at = _given_at(remediation)
    if given_at is None or server_time is None:
        return None
    return max(ours, server_time - given_at)


def _given_at(remediation: ManualRemediation) -> float | None:
    """Return the earliest time at which `spec.confirmation` may have been written; None if unknown.

    managedFields has one time per manager: that of its latest write. A manager that owns other fields too may
    have written those later. Then only the creation time of the remediation is a certain lower bound.
    """
    metadata = remediation.metadata
    times = [
        entry.time if _owns_confirmation_alone(bytes(entry.fields_v1)) else metadata.creation_timestamp
        for entry in metadata.managed_fields
        if not entry.subresource and entry.time and b'"f:confirmation"' in bytes(entry.fields_v1)
    ]
    if not all(times):
        return None
    return min((parse_time(time).timestamp() for time in times), default=None)


def _owns_confirmation_alone(fields: bytes) -> bool:
    try:
        owned = msgspec.json.decode(fields, type=dict[str, dict[str, Any]])
    except msgspec.DecodeError:
        return False
    return owned.keys() == {"f:spec"} and owned["f:spec"].keys() <= {".", "f:confirmation"}


@dataclass(frozen=True, slots=True)
class ManualInputs(Inputs[ManualFacts]):
    """Of one pass over a ManualRemediation. A class, as Python 3.11 cannot make a frozen one by an alias."""


ManualRecorder = StepRecorder[ManualRemediation, Step]


@dataclass(slots=True)
class ManualDriver(Driver[ManualRemediation, ManualInputs, Step]):
    """Remediates a node by an operator confirmation.

    Reads the Node first. Node writes are bound to that version, so a release fails if the Node changes later.
    """

    resource = MANUAL_REMEDIATION
    kind = ManualRemediation

    _words: UnchangedTimer = field(default_factory=UnchangedTimer, init=False)

    async def gather(self, remediation: ManualRemediation, server_time: float | None) -> ManualInputs:
        now = self.reader.runtime.monotonic()
        metadata, status = remediation.metadata, remediation.status
        node = await self.reader.node(metadata.name)
        lock = await read_lock(self.reader, self.system_namespace, status.node_uid)
        undecided = remediation.spec.confirmation is not None and not status.released
        lease = await self.around.kubelet_lease(metadata.name)
        held = await held_by(self.reader, lock, metadata)
        policy = await self.reader.policy() if undecided else NOT_ASKED
        facts = ManualFacts(
            remediation=remediation,
            epoch=self.tenure.epoch,
            remembers_from=self.tenure.remembers_from,
            remembers_for=now - self.tenure.remembers_since,
            node=project(node, node_facts),
            revocation=revocation(node),
            lease=lease,
            lock=held,
            policy=policy,
            switch=await self._ask_switch(remediation, value_of(node), lease, policy)
            if undecided and is_ours(held)
            else NOT_ASKED,
            left=await self.around.left(node),
            confirmation_age=confirmation_age(remediation, server_time, self._words, now),
        )
        return ManualInputs(facts, value_of(node), value_of(lock))

    async def _ask_switch(
        self,
        remediation: ManualRemediation,
        node: Node | None,
        lease: ReadResult[LeaseFacts],
        policy: ReadResult[PolicyFacts],
    ) -> ReadResult[RemediatorGuardFacts]:
        """Ask the guard before evidence is recorded.

        The control plane is not read: the machine is off already.
        """
        metadata = remediation.metadata
        if remediation.status.evidence is not None:
            return NOT_ASKED
        question = GuardRequest(
            uid=metadata.uid,
            name=metadata.name,
            node=node,
            lease=lease,
            policy=policy,
            grounds=await remediation_grounds_of(self.reader, metadata, node),
            asks=may_release,
        )
        return await self.switch.ask(question)

    def decide(self, inputs: ManualInputs) -> Step:
        return decide(inputs.facts)

    def tells(self, remediation: ManualRemediation, hold: Hold) -> bool:
        return tells(remediation.status, hold)

    def request_for(self, inputs: ManualInputs, step: Step, now: str) -> Request | None:
        facts = inputs.facts
        metadata, status = facts.remediation.metadata, facts.remediation.status
        if isinstance(step, SharedStep):
            return writes.write_shared(
                MANUAL_REMEDIATION, inputs, step, status.node_uid, self.system_namespace
            )
        wanted = after(status, step, epoch=facts.epoch, generation=metadata.generation, now=now)
        return writes.write_status(MANUAL_REMEDIATION, metadata, status, wanted)

    def begins(self, inputs: ManualInputs, step: Step) -> ReadResult[RemediatorGuardFacts] | None:
        return inputs.facts.switch if isinstance(step, RecordEvidence) else None


class ManualRemediationRecorder(RemediationRecorder[ManualRemediation, Step]):
    resource = MANUAL_REMEDIATION
    controller = metric_labels.MANUAL_REMEDIATION
    only_reports = (steps.RecordEpoch, ReportSilence, steps.ReportRemaining)

    def node_of(self, remediation: ManualRemediation) -> str:
        return remediation.metadata.name

    def subject_of(self, remediation: ManualRemediation) -> RemediationSubject:
        """Name the UID of the Node that owns the remediation until the status names it."""
        owners = (one.uid for one in remediation.metadata.owner_references if one.kind == NODE.kind)
        uid = remediation.status.node_uid or next(owners, "")
        return replace(super().subject_of(remediation), node_uid=uid)

    def tell(self, remediation: ManualRemediation, step: Step) -> EventText | None:
        name, status = remediation.metadata.name, remediation.status
        if isinstance(step, RecordEvidence):
            said = f"{step.evidence.by} confirmed that {name} is down: {step.evidence.reason}"
            return EventText(event_reasons.OPERATOR_CONFIRMED_OFF, said)
        by = status.evidence.by if status.evidence else "an operator"
        return tell_release(
            step,
            name,
            cause=lambda evidence: f"because {evidence.by} confirmed that it is down",
            alive=f"is alive although {by} confirmed that it is down",
            over=status.phase is ManualRemediationPhase.SUCCEEDED,
        )
