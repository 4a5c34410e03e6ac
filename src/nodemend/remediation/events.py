"""Reports steps and holds of remediations: a log line, a metric, an event on the Node."""

from collections.abc import Callable
from dataclasses import dataclass

from nodemend.api.meta import ObjectMeta
from nodemend.api.resources import NODE, Resource
from nodemend.api.upstream_types import ObjectReference
from nodemend.kube.events import EventRecord
from nodemend.kube.ports import Runtime
from nodemend.safety.holds import Hold, LeadershipLost
from nodemend.safety.lifecycle import BROKEN_OFF, is_contradiction
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import HeldRemediation, Metrics
from nodemend.telemetry.printable import printable


@dataclass(frozen=True, slots=True)
class EventText:
    """The event of a step."""

    reason: EventReason
    note: str


def spell_taint(stays: str) -> str:
    """Return the sentence to add if another owner's taint stays on a node whose workloads are gone."""
    return f" The taint {stays} is not ours, and stays until its owner removes it." if stays else ""


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


class RemediationEvents:
    """Writes the reports.

    `record` takes an event, and never blocks or raises; `controller` labels the metrics.
    """

    def __init__(
        self,
        controller: str,
        log: Log,
        metrics: Metrics,
        record: Callable[[EventRecord], None],
        runtime: Runtime,
    ) -> None:
        self._controller = controller
        self._log = log
        self._metrics = metrics
        self._record = record
        self._runtime = runtime

    def took(
        self, subject: RemediationSubject, step: str, reported: EventText | None, *, ends_hold: bool
    ) -> None:
        """Report a step. Set `ends_hold` unless the step only reports: then the previous hold continues."""
        self._metrics.decisions.labels(self._controller, step).inc()
        if ends_hold:
            self._metrics.holds.remove(_held(subject))
        self._log.info("step taken", step=step, note=reported.note if reported else "", **_named(subject))
        self._remember(subject)
        if reported is not None and reported.reason is event_reasons.NODE_CONTRADICTED_EVIDENCE:
            self.contradicted(subject, reported.note, first=True)
        elif reported is not None:
            self._record(_event_record(subject, reported))

    def broke_off(self, subject: RemediationSubject) -> None:
        """Report a release that ended because its evidence no longer held."""
        self.contradicted(subject, BROKEN_OFF, first=True)

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

    def held(self, subject: RemediationSubject, hold: Hold) -> None:
        """Report a hold.

        It repeats every few seconds: the log has it once, and its event keeps the first message.
        """
        reason, sentence = hold.reason.reason, str(hold.reason.explain())
        self._metrics.decisions.labels(self._controller, reason).inc()
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
    metadata, resource = subject.metadata, subject.resource
    return EventRecord(
        regarding=ObjectReference(
            api_version=NODE.api_version, kind=NODE.kind, name=subject.node, uid=subject.node_uid
        ),
        related=ObjectReference(
            api_version=resource.api_version,
            kind=resource.kind,
            name=metadata.name,
            namespace=metadata.namespace,
            uid=metadata.uid,
        ),
        type=reported.reason.type,
        reason=reported.reason.name,
        action=reported.reason.action,
        note=printable(reported.note),
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
