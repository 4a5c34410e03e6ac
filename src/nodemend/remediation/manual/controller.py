"""The driver of ManualRemediation.

The age of an operator confirmation.

All facts about one ManualRemediation, read live.

The write request of each step.

Log lines, metrics and events about steps and holds of ManualRemediations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import msgspec

from nodemend.api.manual_remediation import ManualRemediation, ManualRemediationPhase
from nodemend.api.meta import parse_time
from nodemend.api.resources import MANUAL_REMEDIATION, NODE, Resource
from nodemend.api.upstream_types import Lease, Node
from nodemend.kube.events import EventRecord
from nodemend.kube.outcome import Refused
from nodemend.kube.ports import Runtime
from nodemend.kube.request import Request
from nodemend.records.live_reads import LiveReader, UnchangedTimer, node_facts, project, value_of
from nodemend.remediation import writes
from nodemend.remediation.manual.decide import ManualFacts, ReportSilence, Step, after, decide, tells
from nodemend.remediation.node_state import NOT_ASKED, NodeReader, remediation_grounds_of, revocation
from nodemend.remediation.reconciler import (
    EventText,
    RemediationController,
    RemediationEvents,
    RemediationSubject,
    StepRecorder,
    spell_taint,
)
from nodemend.remediation.status import says_contradicted
from nodemend.remediation.switch_guard import GuardRequest, RemediatorGuard
from nodemend.remediation.writes import held_by, is_ours, read_lock
from nodemend.safety import lifecycle as steps
from nodemend.safety.facts import LeaseFacts, PolicyFacts, ReadResult
from nodemend.safety.holds import Hold
from nodemend.safety.lifecycle import LeaderTerm, RecordEvidence
from nodemend.safety.switch_guard import RemediatorGuardFacts, may_release
from nodemend.telemetry import event_reasons, metric_labels
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import Metrics


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
class ManualInputs:
    """The facts, and the objects whose versions the writes will name."""

    facts: ManualFacts
    node: Node | None
    lock: Lease | None


class ManualInputReader:
    """Reads the Node first.

    Node writes are bound to that version, so a release fails if the Node changes later.
    """

    def __init__(
        self, reader: LiveReader, around: NodeReader, switch: RemediatorGuard, system_namespace: str
    ) -> None:
        self._reader = reader
        self._switch = switch
        self._system_namespace = system_namespace
        self._around = around
        self._words = UnchangedTimer()

    async def gather(
        self, remediation: ManualRemediation, server_time: float | None, tenure: LeaderTerm
    ) -> ManualInputs:
        now = self._reader.runtime.monotonic()
        metadata, status = remediation.metadata, remediation.status
        node = await self._reader.node(metadata.name)
        lock = await read_lock(self._reader, self._system_namespace, status.node_uid)
        undecided = remediation.spec.confirmation is not None and not status.released
        lease = await self._around.kubelet_lease(metadata.name)
        held = await held_by(self._reader, lock, metadata)
        policy = await self._reader.policy() if undecided else NOT_ASKED
        facts = ManualFacts(
            remediation=remediation,
            epoch=tenure.epoch,
            remembers_from=tenure.remembers_from,
            remembers_for=now - tenure.remembers_since,
            node=project(node, node_facts),
            revocation=revocation(node),
            lease=lease,
            lock=held,
            policy=policy,
            switch=await self._ask_switch(remediation, value_of(node), lease, policy)
            if undecided and is_ours(held)
            else NOT_ASKED,
            left=await self._around.left(node),
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
            grounds=await remediation_grounds_of(self._reader, metadata, node),
            asks=may_release,
        )
        return await self._switch.ask(question)


def request_for(inputs: ManualInputs, step: Step, *, namespace: str, now: str) -> Request | None:
    """Return the write that carries out `step`; None for a step without one."""
    facts = inputs.facts
    metadata, status = facts.remediation.metadata, facts.remediation.status
    match step:
        case steps.AddFinalizer() | steps.DropFinalizer():
            return writes.write_finalizer(MANUAL_REMEDIATION, metadata, step)
        case steps.TakeLock():
            return writes.take_lock(MANUAL_REMEDIATION, metadata, status.node_uid, inputs.lock, namespace)
        case steps.DropLock():
            return writes.drop_lock(inputs.lock)
        case steps.Release() | steps.RemoveTaint() | steps.RevokeRelease() | steps.ClearRevocation():
            return writes.write_node(inputs.node, step)
        case steps.NothingLeft():
            return None
        case _:
            wanted = after(status, step, epoch=facts.epoch, generation=metadata.generation, now=now)
            return writes.write_status(MANUAL_REMEDIATION, metadata, status, wanted)


ManualRecorder = StepRecorder[ManualRemediation, Step]
ManualController = RemediationController[ManualRemediation, ManualInputs, Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualDriver:
    """Remediates a node by an operator confirmation."""

    resource: ClassVar[Resource] = MANUAL_REMEDIATION
    type: ClassVar = ManualRemediation

    gatherer: ManualInputReader
    tenure: LeaderTerm
    system_namespace: str

    async def gather(self, remediation: ManualRemediation, server_time: float | None) -> ManualInputs:
        return await self.gatherer.gather(remediation, server_time, self.tenure)

    def decide(self, inputs: ManualInputs) -> Step:
        return decide(inputs.facts)

    def tells(self, remediation: ManualRemediation, hold: Hold) -> bool:
        return tells(remediation.status, hold)

    def request_for(self, inputs: ManualInputs, step: Step, now: str) -> Request | None:
        return request_for(inputs, step, namespace=self.system_namespace, now=now)

    def begins(self, inputs: ManualInputs, step: Step) -> ReadResult[RemediatorGuardFacts] | None:
        return inputs.facts.switch if isinstance(step, RecordEvidence) else None

    def wrote(self, _inputs: ManualInputs, _step: Step, _version: str) -> None:
        """Do nothing: every pass reads everything again."""

    def refused(self, _remediation: ManualRemediation, _step: Step, _outcome: Refused) -> bool:
        return False

    def again_in(self, _hold: Hold) -> float | None:
        return None


CONTROLLER: Final = metric_labels.MANUAL_REMEDIATION
_ONLY_REPORTS = steps.RecordEpoch | ReportSilence | steps.ReportRemaining


class ManualRemediationRecorder:
    """Reports steps and holds of ManualRemediations. `record` takes an event, and never blocks or raises."""

    def __init__(
        self, log: Log, metrics: Metrics, record: Callable[[EventRecord], None], runtime: Runtime
    ) -> None:
        self._events = RemediationEvents(CONTROLLER, log, metrics, record, runtime)

    def took(self, remediation: ManualRemediation, step: Step) -> None:
        reported = _tell(remediation, step)
        if isinstance(step, steps.ForgetEvidence | steps.MarkReleased) and step.contradicted:
            self._events.broke_off(_subject(remediation))
        ends_hold = not isinstance(step, _ONLY_REPORTS)
        self._events.took(_subject(remediation), step.step, reported, ends_hold=ends_hold)

    def held(self, remediation: ManualRemediation, hold: Hold) -> None:
        self._events.held(_subject(remediation), hold)


def _subject(remediation: ManualRemediation) -> RemediationSubject:
    metadata = remediation.metadata
    owners = (owner.uid for owner in metadata.owner_references if owner.kind == NODE.kind)
    uid = remediation.status.node_uid or next(owners, "")
    status = remediation.status
    twice = says_contradicted(status.conditions)
    return RemediationSubject(MANUAL_REMEDIATION, metadata, metadata.name, uid, status.released, twice)


def _tell(remediation: ManualRemediation, step: Step) -> EventText | None:
    """Return the event of a step; None if it has none."""
    name, status = remediation.metadata.name, remediation.status
    match step:
        case steps.RecordEvidence(evidence):
            said = f"{evidence.by} confirmed that {name} is down: {evidence.reason}"
            return EventText(event_reasons.OPERATOR_CONFIRMED_OFF, said)
        case steps.ForgetEvidence(why) if why is not None:
            return EventText(event_reasons.EVIDENCE_REVOKED, str(why.explain()))
        case steps.Release(ticket):
            cause = f"because {ticket.evidence.by} confirmed that it is down"
            said = f"Set the out-of-service taint on {name}, {cause}: its pods and volumes are released."
            return EventText(event_reasons.RELEASE_STARTED, said)
        case steps.MarkReleased(taint_stays):
            said = f"All pods and volumes that must leave {name} have left.{spell_taint(taint_stays)}"
            return EventText(event_reasons.WORKLOADS_RELEASED, said)
        case steps.RemoveTaint(contradicted=True):
            by = status.evidence.by if status.evidence else "an operator"
            said = f"{name} is alive although {by} confirmed that it is down. Its workloads may run twice."
            return EventText(event_reasons.NODE_CONTRADICTED_EVIDENCE, said)
        case steps.RemoveTaint():
            said = f"Removed the out-of-service taint from {name}."
            return EventText(event_reasons.OUT_OF_SERVICE_TAINT_REMOVED, said)
        case steps.Close(node_gone):
            said = f"The Node {name} is gone." if node_gone else f"{name} is back on a new boot."
            return EventText(event_reasons.REMEDIATION_SUCCEEDED, said)
        case steps.DropFinalizer() if status.phase is not ManualRemediationPhase.SUCCEEDED:
            return EventText(
                event_reasons.REMEDIATION_STOPPED,
                "The remediation was deleted before it succeeded, and has ended.",
            )
        case _:
            return None
