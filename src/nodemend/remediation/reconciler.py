"""The reconciler of all remediation kinds: gather, decide, act, report.

A pass makes at most one write, and the next pass reads everything again. Steps and holds are reported by a
log line, a metric and an event on the Node.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from nodemend.api.evidence import Evidence
from nodemend.api.meta import KubernetesObject, ObjectMeta, print_time
from nodemend.api.resources import NODE, Resource
from nodemend.api.upstream_types import reference_to
from nodemend.guard.state import A_MOMENT
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Done, Outcome, RequeueAfter, Retry
from nodemend.kube.events import EventRecord, EventText
from nodemend.kube.outcome import Ok, Reason, Refused, Undecodable, Unknown, Unsent, WriteOutcome
from nodemend.kube.ports import Runtime
from nodemend.kube.request import Request
from nodemend.records.live_reads import WRITE_WITHIN, LiveReader
from nodemend.remediation.node_state import NodeReader
from nodemend.remediation.status import BROKEN_OFF, WritableStatus, is_contradiction, says_contradicted
from nodemend.remediation.switch_guard import RemediatorGuard
from nodemend.safety import guard_holds, holds
from nodemend.safety.facts import ReadResult
from nodemend.safety.holds import Hold, LeadershipLost
from nodemend.safety.lifecycle import (
    Close,
    DropFinalizer,
    ForgetEvidence,
    LeaderTerm,
    MarkReleased,
    RecordEpoch,
    Release,
    RemoveTaint,
    ReportRemaining,
)
from nodemend.safety.switch_guard import RemediatorGuardFacts
from nodemend.telemetry import event_reasons
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import HeldRemediation, Metrics

R = TypeVar("R", bound="ReconciledRemediation")
G = TypeVar("G")
S = TypeVar("S", bound="NamedStep")
R_contra = TypeVar("R_contra", contravariant=True)
S_contra = TypeVar("S_contra", contravariant=True)

AT_ONCE: Final = RequeueAfter(0.0)
RECHECK_INTERVAL: Final = 10.0
RECHECK_SOON: Final = 2.0


class ReconciledRemediation(Protocol):
    """A remediation of any kind."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def status(self) -> WritableStatus: ...


class NamedStep(Protocol):
    @property
    def step(self) -> str: ...


class StepRecorder(Protocol[R_contra, S_contra]):
    """Reports every step taken and every hold, as events, log lines and metrics."""

    def took(self, remediation: R_contra, step: S_contra) -> None: ...

    def held(self, remediation: R_contra, hold: Hold) -> None: ...


@dataclass(slots=True)
class Driver(ABC, Generic[R, G, S]):
    """One remediation kind, for one leader term. `G` is the type of its inputs, `S` of its steps."""

    resource: ClassVar[Resource]
    kind: ClassVar[Any]
    """The type of its objects, R."""

    reader: LiveReader
    around: NodeReader
    switch: RemediatorGuard
    system_namespace: str
    tenure: LeaderTerm

    @abstractmethod
    async def gather(self, remediation: R, server_time: float | None) -> G: ...

    @abstractmethod
    def decide(self, inputs: G) -> S | Hold: ...

    @abstractmethod
    def tells(self, remediation: R, hold: Hold) -> bool:
        """Return whether the remediation's status already shows this hold."""

    @abstractmethod
    def request_for(self, inputs: G, step: S | Hold, now: str) -> Request | None:
        """Return the write that carries out `step`; None for a step without one."""

    @abstractmethod
    def begins(self, inputs: G, step: S) -> ReadResult[RemediatorGuardFacts] | None:
        """Return the facts given to the guard if `step` starts a remediation; else None."""

    def wrote(self, inputs: G, step: S | Hold, version: str) -> None:
        """Handle an acknowledged write; `version` is the version it produced."""

    def refused(self, _remediation: R, _step: S | Hold, _outcome: Refused) -> bool:
        """Handle a refused write.

        True if the refusal was recorded, so that the next pass decides differently.
        """
        return False

    def again_in(self, _hold: Hold) -> float:
        """Return the seconds after which a hold that only this kind has is checked again."""
        return RECHECK_INTERVAL


class RemediationController(Generic[R, G, S]):
    """Serves one leader term. `client` must refuse writes after the term ends. All kinds share one guard."""

    def __init__(self, driver: Driver[R, G, S], client: ApiClient, recorder: StepRecorder[R, S]) -> None:
        self._driver = driver
        self._client = client
        self._recorder = recorder

    async def reconcile(self, key: tuple[str, str]) -> Outcome:
        namespace, name = key
        kind: type[R] = self._driver.kind
        match await self._driver.reader.get(self._driver.resource, name, kind, namespace):
            case Ok(remediation, server_time):
                with self._driver.switch.in_progress.reservation(remediation.metadata.uid):
                    inputs = await self._driver.gather(remediation, server_time)
                    return await self._act(remediation, inputs, self._driver.decide(inputs))
            case Refused(reason=Reason.NOT_FOUND):
                return Done()
            case failure:
                return Retry(str(failure))

    async def _act(self, remediation: R, inputs: G, wanted: S | Hold) -> Outcome:
        step = self._claim(remediation.metadata.uid, inputs, wanted)
        if isinstance(step, Hold):
            self._recorder.held(remediation, step)
            if isinstance(step.reason, holds.LeadershipLost):
                return Done()
            if self._driver.tells(remediation, step):
                return RequeueAfter(self._again_in(step))
        now = print_time(self._driver.reader.runtime.wall())
        request = self._driver.request_for(inputs, step, now)
        if request is None:
            return Done()
        deadline = self._driver.reader.runtime.monotonic() + WRITE_WITHIN
        outcome = await self._client.write(request, KubernetesObject, deadline=deadline)
        if isinstance(outcome, Ok):
            self._driver.wrote(inputs, step, outcome.value.metadata.resource_version)
        if isinstance(outcome, Unknown) and not isinstance(step, Hold):
            self._driver.switch.in_progress.unanswered(remediation.metadata.uid)
        self._driver.switch.answered(remediation.metadata.uid, refused=isinstance(outcome, Refused | Unsent))
        return self._evaluate(remediation, step, outcome)

    def _claim(self, uid: str, inputs: G, step: S | Hold) -> S | Hold:
        """Claim the start interval before a step that starts a remediation; returns the step, or a hold.

        Nothing may be awaited between this and the write: a concurrent pass could claim the same start.
        """
        begins = None if isinstance(step, Hold) else self._driver.begins(inputs, step)
        return step if begins is None else self._driver.switch.claim(uid, begins) or step

    def _evaluate(self, remediation: R, step: S | Hold, outcome: WriteOutcome[KubernetesObject]) -> Outcome:
        match outcome:
            case Ok():
                if isinstance(step, Hold):
                    return RequeueAfter(self._again_in(step))
                self._recorder.took(remediation, step)
                return AT_ONCE
            case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS | Reason.NOT_FOUND):
                # The object changed, so the decision is out of date. Never retry it: read everything again.
                return AT_ONCE
            case Refused() if self._driver.refused(remediation, step, outcome):
                return AT_ONCE
            case Unknown(why) | Undecodable(why) | Unsent(why) | Refused(message=why):
                return Retry(why)

    def _again_in(self, hold: Hold) -> float:
        """Return the seconds until the next pass. Watches requeue watched objects; the rest is polled."""
        match hold.reason:
            case holds.KubeletActive(silent_for, needed):
                return min(RECHECK_INTERVAL, max(needed - silent_for, RECHECK_SOON))
            case holds.WorkloadsLeaving() | holds.TaintedByAnother() | holds.CannotRead():
                return RECHECK_SOON
            case guard_holds.StartInterval(remaining) | guard_holds.CoolingDown(remaining):
                return _when_over(remaining)
            case guard_holds.RecentApiErrors(passed, needed) | guard_holds.NotReadyBriefly(passed, needed):
                return _when_over(needed - passed)
            case _:
                return self._driver.again_in(hold)


def _when_over(remaining: float) -> float:
    """Return a delay that ends with the wait itself, but no later than the usual recheck."""
    return min(RECHECK_INTERVAL, max(0.0, remaining) + A_MOMENT)


def spell_taint(stays: str) -> str:
    """Return the sentence to add if another owner's taint stays on a node whose workloads are gone."""
    return (
        f" The taint {stays} is from another writer, and stays until that writer removes it." if stays else ""
    )


def tell_release(
    step: NamedStep, node: str, *, cause: Callable[[Evidence], str], alive: str, over: bool
) -> EventText | None:
    """Return the event of a step that several kinds share; None if it has none.

    `cause` spells why evidence allows a release, and `alive` what a contradicted one shows about the node.
    `over` if the remediation has ended by itself.
    """
    match step:
        case ForgetEvidence(why) if why is not None:
            return EventText(event_reasons.EVIDENCE_REVOKED, str(why.explain()))
        case Release(ticket):
            said = f"Set the out-of-service taint on {node}, {cause(ticket.evidence)}"
            return EventText(event_reasons.RELEASE_STARTED, f"{said}: its pods and volumes are released.")
        case MarkReleased(taint_stays):
            said = f"All pods and volumes that must leave {node} have left.{spell_taint(taint_stays)}"
            return EventText(event_reasons.WORKLOADS_RELEASED, said)
        case RemoveTaint(contradicted=True):
            said = f"{node} {alive}. Its workloads may run twice."
            return EventText(event_reasons.NODE_CONTRADICTED_EVIDENCE, said)
        case RemoveTaint():
            said = f"Removed the out-of-service taint from {node}."
            return EventText(event_reasons.OUT_OF_SERVICE_TAINT_REMOVED, said)
        case Close(node_gone):
            said = f"The Node {node} is gone." if node_gone else f"{node} is back on a new boot."
            return EventText(event_reasons.REMEDIATION_SUCCEEDED, said)
        case DropFinalizer() if not over:
            said = "The remediation was deleted before it succeeded, and has ended."
            return EventText(event_reasons.REMEDIATION_STOPPED, said)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class RemediationSubject:
    """A remediation and its node; `node` is the remediation's own name if the node is not known."""

    resource: Resource
    metadata: ObjectMeta
    node: str
    node_uid: str
    released: bool = False
    """The node's workloads run elsewhere by now."""
    contradicted: bool = False
    """The status says that workloads may run twice."""


class RemediationRecorder(ABC, Generic[R, S]):
    """Reports steps and holds of one kind, as log lines, metrics and events.

    `record` takes an event, and never blocks or raises.
    """

    resource: ClassVar[Resource]
    controller: ClassVar[str]
    """Labels the metrics."""
    only_reports: ClassVar[tuple[type[NamedStep], ...]] = (RecordEpoch, ReportRemaining)
    """Steps after which the previous hold continues."""

    def __init__(
        self, log: Log, metrics: Metrics, record: Callable[[EventRecord], None], runtime: Runtime
    ) -> None:
        self._log = log
        self._metrics = metrics
        self._record = record
        self._runtime = runtime

    @abstractmethod
    def node_of(self, remediation: R) -> str:
        """Return the name of the node; that of the remediation if the node is not known."""

    @abstractmethod
    def tell(self, remediation: R, step: S) -> EventText | None:
        """Return the event of a step; None if it has none."""

    def subject_of(self, remediation: R) -> RemediationSubject:
        metadata, status = remediation.metadata, remediation.status
        twice = says_contradicted(status.conditions)
        node = self.node_of(remediation)
        return RemediationSubject(self.resource, metadata, node, status.node_uid, status.released, twice)

    def took(self, remediation: R, step: S) -> None:
        subject, reported = self.subject_of(remediation), self.tell(remediation, step)
        if isinstance(step, ForgetEvidence | MarkReleased) and step.contradicted:
            # The release ended because its evidence no longer held.
            self.contradicted(subject, BROKEN_OFF, first=True)
        self._metrics.decisions.labels(self.controller, step.step).inc()
        if not isinstance(step, self.only_reports):
            self._metrics.holds.remove(_held(subject))
        note = reported.note if reported else ""
        self._log.info("step taken", step=step.step, note=note, **_named(subject))
        self._remember(subject)
        if reported is not None and reported.reason is event_reasons.NODE_CONTRADICTED_EVIDENCE:
            self.contradicted(subject, reported.note, first=True)
        elif reported is not None:
            self._record(_event_record(subject, reported))

    def contradicted(self, subject: RemediationSubject, note: str, *, first: bool) -> None:
        """Report that workloads may run twice: one log error, and a metric that outlives the remediation."""
        self._metrics.contradictions.note(_held(subject), self._runtime.wall().timestamp())
        if first:
            self._log.error("evidence contradicted", note=note, **_named(subject))
        self._record(_event_record(subject, EventText(event_reasons.NODE_CONTRADICTED_EVIDENCE, note)))

    def _remember(self, subject: RemediationSubject) -> None:
        """Keep the contradiction metric while the remediation lasts, across leaders."""
        if subject.contradicted:
            self._metrics.contradictions.note(_held(subject), self._runtime.wall().timestamp())

    def held(self, remediation: R, hold: Hold) -> None:
        """Report a hold.

        It repeats every few seconds: the log has it once, and its event keeps the first message.
        """
        subject = self.subject_of(remediation)
        reason, sentence = hold.reason.reason, str(hold.reason.explain())
        self._metrics.decisions.labels(self.controller, reason).inc()
        holds, held = self._metrics.holds, _held(subject)
        before = holds.find(held)
        held_status = holds.note(
            held,
            reason,
            sentence,
            wall=self._runtime.wall().timestamp(),
            now=self._runtime.monotonic(),
            released=subject.released,
        )
        first = before is None or before.since != held_status.since
        if first:
            self._log.info("held", reason=reason, note=sentence, **_named(subject))
        self._remember(subject)
        if is_contradiction(hold.reason, released=subject.released):
            self.contradicted(subject, held_status.sentence, first=first)
        elif not isinstance(hold.reason, LeadershipLost):
            # A leader that lost leadership only logs it; the current leader reports the hold.
            self._record(
                _event_record(subject, EventText(event_reasons.REMEDIATION_HELD, held_status.sentence))
            )


def _event_record(subject: RemediationSubject, reported: EventText) -> EventRecord:
    metadata = subject.metadata
    return reported.about(
        regarding=reference_to(NODE, subject.node, uid=subject.node_uid),
        related=reference_to(subject.resource, metadata.name, metadata.namespace, metadata.uid),
    )


def _held(subject: RemediationSubject) -> HeldRemediation:
    return HeldRemediation(subject.resource.kind, subject.metadata.namespace, subject.metadata.name)


def _named(subject: RemediationSubject) -> dict[str, object]:
    metadata = subject.metadata
    return {
        "node": subject.node,
        "namespace": metadata.namespace,
        "resource_version": metadata.resource_version,
    }
