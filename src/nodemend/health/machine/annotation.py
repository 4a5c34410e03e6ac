"""Decides on the remediation of a Machine that is requested by an annotation.

The writer of the annotation has judged the machine unhealthy, so the annotation replaces a check's
conditions, and nothing else. It requests healing, not a reboot: a healthy node is not touched, and the
annotation is removed. Before a remediation starts or the annotation is removed, live reads may contradict
the request.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, assert_never

from nodemend.api import well_known
from nodemend.api.meta import ConditionStatus
from nodemend.rules.machine import MachineFacts, NodeAwaited, NodeFound, NodeMissing, NodeUnseen
from nodemend.rules.node import AskedFor, Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.rules.request import (
    Create,
    DeleteRemediation,
    ExistingRemediation,
    ExternalLease,
    NoAction,
    decide_one_remedy,
    decide_orphan,
)
from nodemend.safety import guard_holds, holds
from nodemend.safety.facts import Absent, NodeFacts, Present, ReadResult, Unreadable
from nodemend.safety.guard import Allowed
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import CannotRead, Explanation, Hold, HoldReason, NodeReady


@dataclass(frozen=True, slots=True)
class AnnotationServedByAnother(HoldReason):
    """Another controller acts on the annotation that requests this remediation."""

    reason: ClassVar[str] = "AnnotationServedByAnother"
    by: str

    def explain(self) -> Explanation:
        return Explanation(
            f"Another controller acts on the annotation that requests it: {self.by}.",
            "Let only one of the two serve it: stop that controller, or switch this off in Nodemend.",
        )


ACCEPTED_FOR: Final = 60.0
"""Seconds for which a node must be observed Ready after the request before the request counts as done.
Kubernetes itself reports a kubelet as Ready for up to 50 s after its last heartbeat."""

STANDS_FOR: Final = 20.0
"""Seconds for which a request must be observed before it is acted on. The periods of a check give the
guard time to count all nodes that fail together; without this, the first of a thousand would seem to be
the only one."""

QUIET: Final = (
    guard_holds.DryRun,
    guard_holds.Paused,
    guard_holds.RecentApiErrors,
    holds.CacheStale,
    holds.CannotRead,
)
"""Holds under which an annotation is not even cleared: writes are not allowed, or data cannot be trusted."""


@dataclass(frozen=True, slots=True)
class RemediationAnnotation:
    """The annotation as it is set. `value` distinguishes one request from the next."""

    value: str
    served_by: str = ""
    """Evidence that another controller acts on it; empty if there is no such controller."""
    owner_asked: str = ""
    """The machine's owner if it is requested to replace the machine; else empty."""


@dataclass(frozen=True, slots=True)
class AnnotationRemediation:
    """Nodemend's remediation for a request; `to` is the value that it answers."""

    open: ExistingRemediation
    to: str


@dataclass(frozen=True, slots=True)
class ByAnnotation:
    """An annotated machine. `asking` is None if the annotation is not set.

    `other` is another controller's remediation of the machine.
    """

    asking: RemediationAnnotation | None
    answer: AnnotationRemediation | None
    other: str
    healthy_delay: float


@dataclass(frozen=True, slots=True)
class Clear:
    """Remove the annotation, if it still has this value."""

    request: ClassVar[str] = "Clear"
    value: str


AnnotationRequest = Create | DeleteRemediation | Clear | NoAction | Hold


def evaluate_annotated(machine: MachineFacts) -> NodeHealth:
    """Return Healthy if Ready; otherwise Unhealthy if the annotation is set, Unjudged if not.

    While it is set, the node counts as Ready only from then: Kubernetes reports a dead kubelet as Ready for
    some time, and the annotation's writer may have noticed first.
    """
    asked_for = machine.asked_externally_for
    if machine.deleting:
        return Unjudged("it is being deleted")
    match machine.node:
        case NodeUnseen(why):
            return Unjudged(why)
        case NodeFound(conditions):
            ready = next((one for one in conditions if one.type == "Ready"), None)
            if ready is not None and ready.status is ConditionStatus.TRUE:
                return Healthy(ready.seen_for if asked_for is None else min(ready.seen_for, asked_for))
        case NodeMissing() | NodeAwaited():
            pass
        case _:
            assert_never(machine.node)
    if asked_for is None:
        return Unjudged("it has no node that is Ready, and no annotation requests its remediation")
    finding = AskedFor(well_known.EXTERNAL_REMEDIATION, asked_for, STANDS_FOR)
    return Suspect(finding) if finding.remaining > 0 else Unhealthy(finding)


def decide_annotated(health: NodeHealth, way: ByAnnotation, guarded: Allowed | Hold) -> AnnotationRequest:
    """Return the request. `guarded` is the guard's decision on starting with this machine now."""
    asking, answer = way.asking, way.answer
    if asking is None:
        # The annotation was withdrawn, or Nodemend cleared it: its remediation ends like any other.
        return NoAction() if answer is None else decide_orphan(answer.open)
    if answer is not None:
        return _answered(health, asking, answer, way.healthy_delay)
    match health:
        case Healthy(ready_for):
            return _settled(asking, ready_for, max(way.healthy_delay, ACCEPTED_FOR), guarded)
        case Unhealthy():
            return obstacle_to(asking, way.other) or (guarded if isinstance(guarded, Hold) else Create())
        case Unjudged(why):
            return Hold(CannotRead("the Node", why))
        case Suspect(finding):
            return NoAction(finding.remaining)
        case _:
            assert_never(health)


def obstacle_to(asking: RemediationAnnotation, other: str) -> Hold | None:
    """Return why no remediation of this machine may start, regardless of the guard."""
    if other or asking.owner_asked:
        return Hold(OtherRemediation(other or asking.owner_asked))
    return Hold(AnnotationServedByAnother(asking.served_by)) if asking.served_by else None


def _answered(
    health: NodeHealth, asking: RemediationAnnotation, answer: AnnotationRemediation, healthy_delay: float
) -> AnnotationRequest:
    """Return the request as for a check. But if the node has healed, clear the annotation first.

    That ends the remediation.
    """
    request = decide_one_remedy(health, answer.open, Allowed(), healthy_delay)
    heals = isinstance(request, DeleteRemediation) and isinstance(health, Healthy)
    return Clear(asking.value) if heals and answer.to == asking.value else request


def _settled(
    asking: RemediationAnnotation, ready_for: float | None, needed: float, guarded: Allowed | Hold
) -> AnnotationRequest:
    """Return the request when the node is healthy and no remediation was started."""
    if ready_for is None or ready_for < needed:
        return NoAction(needed - (ready_for or 0.0))
    if isinstance(guarded, Hold) and isinstance(guarded.reason, QUIET):
        return guarded
    return Clear(asking.value)


def check_needed(
    asking: RemediationAnnotation | None, value: str | None, node: ReadResult[NodeFacts]
) -> Hold | None:
    """Return a reason not to start, from live reads of machine and node. `value` is the value seen before."""
    if asking is None or asking.value != value:
        return Hold(CannotRead("the annotation", "it has changed"))
    match node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Present(found) if found.ready is ConditionStatus.TRUE:
            return Hold(NodeReady(found.name))
        case Present() | Absent():
            return obstacle_to(asking, other="")
        case _:
            assert_never(node)


def check_ended(asking: RemediationAnnotation | None, value: str, node: ReadResult[NodeFacts]) -> Hold | None:
    """Return a reason not to clear the annotation: it has another value, or the node is not Ready."""
    if asking is None or asking.value != value:
        return Hold(CannotRead("the annotation", "it has changed"))
    match node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Present(found) if found.ready is ConditionStatus.TRUE:
            return None
        case Present() | Absent():
            return Hold(CannotRead("the Node", "it is not Ready any more"))
        case _:
            assert_never(node)


def check_no_other(lease: ReadResult[ExternalLease], name: str) -> Hold | None:
    """Return a reason not to start if another controller's leader holds its Lease `name`, or may hold it."""
    match lease:
        case Unreadable(why):
            return Hold(CannotRead(f"the Lease {name}", why))
        case Absent():
            return None
        case Present(found):
            alive = found.holder and not found.is_over
            return Hold(AnnotationServedByAnother(f"{found.holder} has the Lease {name}")) if alive else None
        case _:
            assert_never(lease)
