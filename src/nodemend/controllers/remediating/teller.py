"""Tells of the steps and holds of remediations: a log line, a metric, an event on the Node."""

from collections.abc import Callable
from dataclasses import dataclass

from nodemend.api.event import ObjectReference
from nodemend.api.group_versions import NODE, Resource
from nodemend.api.object_meta import ObjectMeta
from nodemend.decide.contradiction import BROKEN_OFF, is_contradiction
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Deposed, Hold
from nodemend.kube.event_book import Happening
from nodemend.kube.ports import Runtime
from nodemend.telemetry import event_reasons
from nodemend.telemetry.event_reasons import EventReason
from nodemend.telemetry.hold_book import Held
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.printable import printable


@dataclass(frozen=True, slots=True)
class Told:
    """What people should hear of a step."""

    reason: EventReason
    note: str


def spell_taint(stays: str) -> str:
    """What to add where another's taint stays on a node whose workloads are gone."""
    return f" The taint {stays} is not ours, and stays until its owner removes it." if stays else ""


@dataclass(frozen=True, slots=True)
class Subject:
    """A remediation, and the node that it is about; its own name where it has none."""

    resource: Resource
    metadata: ObjectMeta
    node: str
    node_uid: str
    released: bool = False
    """Whether the node's workloads run elsewhere by now."""
    contradicted: bool = False
    """Whether its status says that they may run twice."""


class Teller:
    """`record` takes an event, and never waits or fails. `controller` is its name in metrics."""

    def __init__(
        self,
        controller: str,
        log: Log,
        metrics: Metrics,
        record: Callable[[Happening], None],
        runtime: Runtime,
    ) -> None:
        self._controller = controller
        self._log = log
        self._metrics = metrics
        self._record = record
        self._runtime = runtime

    def took(self, subject: Subject, step: str, told: Told | None, *, ends_hold: bool) -> None:
        """`ends_hold` unless the step only reports: then what held before it holds after it."""
        self._metrics.decisions.labels(self._controller, step).inc()
        if ends_hold:
            self._metrics.holds.strike(_held(subject))
        self._log.info("step taken", step=step, note=told.note if told else "", **_named(subject))
        self._remember(subject)
        if told is not None and told.reason is event_reasons.NODE_CONTRADICTED_EVIDENCE:
            self.contradicted(subject, told.note, first=True)
        elif told is not None:
            self._record(_happening(subject, told))

    def broke_off(self, subject: Subject) -> None:
        """A release ended because its evidence no longer held."""
        self.contradicted(subject, BROKEN_OFF, first=True)

    def contradicted(self, subject: Subject, note: str, *, first: bool) -> None:
        """Workloads may run twice: an error in the log, once, and a time in the metrics that outlives it."""
        self._metrics.contradictions.note(_held(subject), self._runtime.wall().timestamp())
        if first:
            self._log.error("evidence contradicted", note=note, **_named(subject))
        self._record(_happening(subject, Told(event_reasons.NODE_CONTRADICTED_EVIDENCE, note)))

    def _remember(self, subject: Subject) -> None:
        """For as long as it goes on, whoever leads."""
        if subject.contradicted:
            self._metrics.contradictions.note(_held(subject), self._runtime.wall().timestamp())

    def held(self, subject: Subject, hold: Hold) -> None:
        """The same hold is seen every few seconds: it is logged once, and its event keeps its first words."""
        reason, sentence = type(hold.reason).__name__, str(explain(hold.reason))
        self._metrics.decisions.labels(self._controller, reason).inc()
        holds, held = self._metrics.holds, _held(subject)
        before = holds.find(held)
        standing = holds.note(
            held,
            reason,
            sentence,
            wall=self._runtime.wall().timestamp(),
            now=self._runtime.monotonic(),
            released=subject.released,
        )
        first = before is None or before.since != standing.since
        if first:
            self._log.info("held", reason=reason, note=sentence, **_named(subject))
        self._remember(subject)
        if is_contradiction(hold.reason, released=subject.released):
            self.contradicted(subject, standing.sentence, first=first)
        elif not isinstance(hold.reason, Deposed):
            # Who was deposed says so in its log. The one at work tells what holds.
            self._record(_happening(subject, Told(event_reasons.REMEDIATION_HELD, standing.sentence)))


def _happening(subject: Subject, told: Told) -> Happening:
    metadata, resource = subject.metadata, subject.resource
    return Happening(
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
        type=told.reason.type,
        reason=told.reason.word,
        action=told.reason.action,
        note=printable(told.note),
    )


def _held(subject: Subject) -> Held:
    return Held(subject.resource.kind, subject.metadata.namespace, subject.metadata.name)


def _named(subject: Subject) -> dict[str, object]:
    metadata = subject.metadata
    return {
        "node": subject.node,
        "namespace": metadata.namespace,
        "resource_version": metadata.resource_version,
    }
