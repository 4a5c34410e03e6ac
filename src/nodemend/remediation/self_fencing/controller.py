"""Drives a SelfRemediation: reads all its facts live, writes each step, and reports steps and holds.

It also measures since when the reports of each agent have been observed.
"""

from dataclasses import dataclass, field
from typing import Final, Protocol

from nodemend.api.agent import AgentReport
from nodemend.api.evidence import Evidence
from nodemend.api.resources import LEASE, SELF_REMEDIATION
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationPhase
from nodemend.api.upstream_types import Lease, Node
from nodemend.api.well_known import AGENT_NAMESPACE
from nodemend.kube.events import EventText
from nodemend.kube.outcome import LeaseFound
from nodemend.kube.request import Precondition, Request
from nodemend.kube.tasks import ConcurrentReads
from nodemend.protocol.timing import TwoClocks, TwoClockTime
from nodemend.records.agent_lease import AgentLease, UnreadableReport, read_lease, write_marker
from nodemend.records.live_reads import BoundedMap, LiveReader, UnchangedTimer, node_facts, project, value_of
from nodemend.remediation import writes
from nodemend.remediation.node_state import NOT_ASKED, named_node, remediation_grounds_of, revocation
from nodemend.remediation.reconciler import (
    RECHECK_INTERVAL,
    RECHECK_SOON,
    Driver,
    RemediationRecorder,
    StepRecorder,
    tell_release,
)
from nodemend.remediation.self_fencing.decide import (
    AccumulatingProof,
    PlaceMarker,
    RecordProgress,
    RecordProof,
    RemoveMarker,
    SelfFacts,
    StartFencing,
    Step,
    decide,
)
from nodemend.remediation.self_fencing.status import after, tells
from nodemend.remediation.status import SharedStep
from nodemend.remediation.switch_guard import GuardRequest
from nodemend.remediation.writes import Inputs, held_by, is_ours, read_lock
from nodemend.safety import lifecycle as steps
from nodemend.safety import time_proof
from nodemend.safety.facts import Absent, LeaseFacts, PolicyFacts, Present, ReadResult, Unreadable
from nodemend.safety.holds import Hold
from nodemend.safety.switch_guard import RemediatorGuardFacts
from nodemend.safety.time_proof import (
    DEFAULT_ASSUMPTIONS,
    AgentFacts,
    PeerObservation,
    SequenceHistory,
    contact_of,
    covered_until,
    is_pinned,
)
from nodemend.telemetry import event_reasons, metric_labels

READ_AT_ONCE: Final = 16
SHARED_FOR: Final = 1.0
"""Seconds. Nodes lost together share peers, so each peer is read once, not once for each node."""

_ANYBODYS: Final = (
    "another agent could have written it, for when it was last written the admission policy "
    "nodemend-agent-leases was not in force, or not as it is now"
)


@dataclass(frozen=True, slots=True)
class _Boot:
    node: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class _Shared:
    observation: PeerObservation
    asked_at: float


class AgentReader:
    """Agent reports as one manager observes them, by its own clocks only. Evicts the least recently read.

    It uses the upper bound of elapsed time, so no peer counts as covered for longer than it is.
    """

    def __init__(self, reader: LiveReader) -> None:
        self._reader = reader
        self._clocks = TwoClocks()
        self._histories: BoundedMap[_Boot, SequenceHistory] = BoundedMap()
        self._shared: BoundedMap[str, _Shared] = BoundedMap()
        self._anybodys: BoundedMap[str, tuple[str, int]] = BoundedMap()
        """By node: boot ID and sequence of a report that another agent could have written."""

    def moment(self) -> TwoClockTime:
        runtime = self._reader.runtime
        return self._clocks.read(runtime.monotonic(), runtime.unslewed())

    async def at_node(self, node: str) -> ReadResult[AgentFacts]:
        asked_at = self.moment().most
        found = await self._reader.read(LEASE, node, Lease, AGENT_NAMESPACE)
        if not isinstance(found, Present):
            return found
        news = read_lease(found.value)
        if not isinstance(news, LeaseFound):
            return Unreadable(news.why)
        lease, report = news.lease, news.lease.report
        if not self._reports_for_itself(node, lease):
            return Present(AgentFacts(lease.uid, lease.version, None, lease.marker, _ANYBODYS))
        if isinstance(report, AgentReport):
            self._note(_Boot(node, report.boot_id), report.sequence, asked_at)
            return Present(AgentFacts(lease.uid, lease.version, report, lease.marker))
        problem = report.why if isinstance(report, UnreadableReport) else "it has reported nothing"
        return Present(AgentFacts(lease.uid, lease.version, None, lease.marker, problem))

    def _reports_for_itself(self, node: str, lease: AgentLease) -> bool:
        """Return whether only the node's own agent could have written its report.

        Removing Nodemend's marker makes such a Lease newer, but its report no more trustworthy.
        """
        report = lease.report
        says = (report.boot_id, report.sequence) if isinstance(report, AgentReport) else None
        if is_pinned(lease.revision, self._reader.reports_from()):
            return says is None or self._anybodys.find(node) != says
        if says is not None:
            self._anybodys.keep(node, says)
        return False

    async def at_peers(self, names: tuple[str, ...], since: float) -> dict[str, PeerObservation]:
        """Return the reads of peers, none older than `since`; a peer that cannot be read is left out.

        The node itself names its peers: a report limits their number, and only a few are read concurrently.
        """
        shared = {name: self._read_shared(name, since) for name in names}
        observations = {name: observation for name, observation in shared.items() if observation is not None}
        unread = [name for name in names if name not in observations]
        for start in range(0, len(unread), READ_AT_ONCE):
            async with ConcurrentReads(self._reader.runtime) as reads:
                batch = unread[start : start + READ_AT_ONCE]
                asked = {name: reads.ask(self._read_again(name)) for name in batch}
            observations |= {
                name: observation for name, one in asked.items() if (observation := one.answer) is not None
            }
        return observations

    def _read_shared(self, name: str, since: float) -> PeerObservation | None:
        shared, now = self._shared.find(name), self.moment().most
        if shared is None or shared.asked_at < max(since, now - SHARED_FOR):
            return None
        return shared.observation

    async def _read_again(self, name: str) -> PeerObservation | None:
        asked_at = self.moment().most
        found = await self.at_node(name)
        if not isinstance(found, Present) or found.value.report is None:
            return None
        newest = _Shared(self._observe(name, found.value.report), asked_at)
        known = self._shared.find(name)
        if known is not None and known.asked_at > asked_at:
            # A concurrent read that was sent later returned first. Keep it.
            newest = known
        self._shared.keep(name, newest)
        return newest.observation

    def _observe(self, name: str, report: AgentReport) -> PeerObservation:
        contact = contact_of(report)
        history = self._histories.find(_Boot(name, report.boot_id)) or SequenceHistory()
        return PeerObservation(contact, covered_until(contact, history, DEFAULT_ASSUMPTIONS.clock_error))

    def _note(self, boot: _Boot, sequence: int, asked_at: float) -> None:
        known = self._histories.find(boot) or SequenceHistory()
        self._histories.keep(boot, known.seen(sequence, asked_at))


@dataclass(frozen=True, slots=True)
class SelfFencingInputs(Inputs[SelfFacts]):
    counted_until: float
    """Time of these reads by the slower clock: elapsed time is counted up to here."""


class FencingRecorder(StepRecorder[SelfRemediation, Step], Protocol):
    def agents_seen(self, reporting: int, silent: int) -> None:
        """Report how many agents report, and how many are silent on Ready nodes."""
        ...


@dataclass(slots=True)
class SelfFencingDriver(Driver[SelfRemediation, SelfFencingInputs, Step]):
    """Remediates a node by the node's own watchdog.

    Reads the Node first. Node writes are bound to that version, so a release fails if the Node changes later.

    It reads the node's own agent Lease before those of its peers, so that the peers' reports were read after
    the marker was observed.
    """

    resource = SELF_REMEDIATION
    kind = SelfRemediation

    _agents: AgentReader = field(init=False)
    _markers: UnchangedTimer = field(default_factory=UnchangedTimer, init=False)
    _since: BoundedMap[str, tuple[str, float]] = field(default_factory=BoundedMap, init=False)
    """Per remediation UID: a version of it, and the time up to which its status counts elapsed time."""

    def __post_init__(self) -> None:
        self._agents = AgentReader(self.reader)

    async def gather(self, remediation: SelfRemediation, _server_time: float | None) -> SelfFencingInputs:
        metadata, status = remediation.metadata, remediation.status
        since = self._counted_until(remediation)
        node = await named_node(self.reader, metadata, status.node_name)
        name = node.value.metadata.name if isinstance(node, Present) else status.node_name
        lock = await read_lock(self.reader, self.system_namespace, status.node_uid)
        undecided = not status.released and not metadata.deleting
        asked_at = self._agents.moment().most
        agent = await self._agents.at_node(name) if name else Absent()
        observations = await self._peers(remediation, agent, asked_at)
        now = self._agents.moment()
        lease = await self.around.kubelet_lease(name)
        held = await held_by(self.reader, lock, metadata)
        policy = await self.reader.policy() if undecided else NOT_ASKED
        facts = SelfFacts(
            remediation=remediation,
            epoch=self.tenure.epoch,
            remembers_from=self.tenure.remembers_from,
            node=project(node, node_facts),
            revocation=revocation(node),
            lease=lease,
            lock=held,
            policy=policy,
            switch=await self._ask_switch(remediation, node, agent, lease, policy)
            if is_ours(held)
            else NOT_ASKED,
            left=await self.around.left(node),
            agent=agent,
            observations=observations,
            passed=now.least - since,
            now=now.most,
        )
        return SelfFencingInputs(facts, value_of(node), value_of(lock), now.least)

    def _counted_until(self, remediation: SelfRemediation) -> float:
        """Return the time up to which the status counts elapsed time.

        A version from another writer counts at most up to this first read of it, so no second counts twice.
        """
        metadata, now = remediation.metadata, self._agents.moment().least
        known = self._since.find(metadata.uid)
        if known is None or known[0] != metadata.resource_version:
            known = (metadata.resource_version, now)
        self._since.keep(metadata.uid, known)
        return known[1]

    async def _ask_switch(
        self,
        remediation: SelfRemediation,
        node: ReadResult[Node],
        agent: ReadResult[AgentFacts],
        lease: ReadResult[LeaseFacts],
        policy: ReadResult[PolicyFacts],
    ) -> ReadResult[RemediatorGuardFacts]:
        """Ask the guard, only while the marker may still be placed."""
        metadata, status = remediation.metadata, remediation.status
        marked = isinstance(agent, Present) and agent.value.marked_for(metadata.uid, status.boot_id)
        if marked or status.evidence is not None or metadata.deleting or not isinstance(node, Present):
            return NOT_ASKED
        question = GuardRequest(
            uid=metadata.uid,
            name=node.value.metadata.name,
            node=node.value,
            lease=lease,
            policy=policy,
            grounds=await remediation_grounds_of(self.reader, metadata, node.value, drills=True),
            begun=status.phase is not SelfRemediationPhase.PENDING,
            members=self.around.control_plane,
        )
        return await self.switch.ask(question)

    async def _peers(
        self, remediation: SelfRemediation, agent: ReadResult[AgentFacts], asked_at: float
    ) -> dict[str, PeerObservation]:
        """Read the peers only if their time counts: with the marker on the node, before there is evidence."""
        status = remediation.status
        if status.evidence is not None or not isinstance(agent, Present):
            return {}
        found = agent.value
        if found.report is None or not found.marked_for(remediation.metadata.uid, status.boot_id):
            return {}
        names = {name for names in found.report.peers for name in names}
        now = self._agents.moment().most
        marked_for = self._markers.unchanged_for(
            remediation.metadata.uid, found.marker, asked_at=asked_at, answered_at=now
        )
        return await self._agents.at_peers(tuple(sorted(names)), since=now - marked_for)

    def decide(self, inputs: SelfFencingInputs) -> Step:
        return decide(inputs.facts)

    def tells(self, remediation: SelfRemediation, hold: Hold) -> bool:
        return tells(remediation.status, hold)

    def request_for(self, inputs: SelfFencingInputs, step: Step, now: str) -> Request | None:
        facts = inputs.facts
        metadata, status = facts.remediation.metadata, facts.remediation.status
        if isinstance(step, SharedStep):
            return writes.write_shared(SELF_REMEDIATION, inputs, step, status.node_uid, self.system_namespace)
        match step:
            case PlaceMarker(agent, marker):
                return write_marker(status.node_name, Precondition(agent.uid, agent.version), marker)
            case RemoveMarker(agent):
                return write_marker(status.node_name, Precondition(agent.uid, agent.version), None)
            case _:
                wanted = after(status, step, epoch=facts.epoch, generation=metadata.generation, now=now)
                return writes.write_status(SELF_REMEDIATION, metadata, status, wanted)

    def begins(self, inputs: SelfFencingInputs, step: Step) -> ReadResult[RemediatorGuardFacts] | None:
        return inputs.facts.switch if isinstance(step, StartFencing) else None

    def wrote(self, inputs: SelfFencingInputs, step: Step, version: str) -> None:
        if isinstance(step, RecordProgress):
            # This version, written now, counts time up to the reads of `inputs`.
            self._since.keep(inputs.facts.uid, (version, inputs.counted_until))

    def again_in(self, hold: Hold) -> float:
        """Recheck time proofs soon.

        A peer counts as covered only for seconds after each read, and no watch reports a new boot.
        """
        if isinstance(hold.reason, AccumulatingProof | time_proof.NoTimeProof):
            return RECHECK_SOON
        return RECHECK_INTERVAL


class SelfRemediationRecorder(RemediationRecorder[SelfRemediation, Step]):
    """Also reports how many agents report."""

    resource = SELF_REMEDIATION
    controller = metric_labels.SELF_REMEDIATION
    only_reports = (steps.RecordEpoch, steps.ReportRemaining, RecordProgress)

    def agents_seen(self, reporting: int, silent: int) -> None:
        agents = self._metrics.agents
        agents.labels(metric_labels.REPORTING).set(reporting)
        agents.labels(metric_labels.SILENT).set(silent)

    def node_of(self, remediation: SelfRemediation) -> str:
        return remediation.status.node_name or remediation.metadata.name

    def tell(self, remediation: SelfRemediation, step: Step) -> EventText | None:
        name = self.node_of(remediation)
        return _tell_fencing(name, step) or tell_release(
            step,
            name,
            cause=lambda evidence: f"because of evidence {evidence.class_}",
            alive="is alive although its boot was proven to have ended",
            over=remediation.status.phase is SelfRemediationPhase.SUCCEEDED,
        )


def _tell_fencing(name: str, step: Step) -> EventText | None:
    """Return the event about fencing, up to recorded evidence; None if the step has none."""
    match step:
        case PlaceMarker(_, marker):
            said = f"Nodemend set the marker for boot {marker.boot_id} of {name}"
            stops = "its agent stops feeding the watchdog, which resets the node."
            return EventText(event_reasons.SELF_FENCING_REQUESTED, f"{said}: {stops}")
        case RecordProof(_, evidence):
            return EventText(event_reasons.BOOT_END_PROVEN, _ended(name, evidence))
        case steps.RecordEvidence(evidence):
            return EventText(event_reasons.NEW_BOOT_OBSERVED, _ended(name, evidence))
        case RemoveMarker():
            said = f"Removed the marker of {name}: its boot gate lets the kubelet start."
            return EventText(event_reasons.MARKER_REMOVED, said)
        case _:
            return None


def _ended(name: str, evidence: Evidence) -> str:
    ended = f"Boot {evidence.boot_id} of {name} has ended"
    if evidence.class_ == "E2":
        return f"{ended}: {evidence.by} {evidence.reason.removeprefix('it ')}."
    return f"{ended} ({evidence.by}): {evidence.reason}."
