"""What is done for a Machine whose remediation somebody asks for by an annotation.

Whoever set it has judged; so the annotation takes the place of a check's conditions, and of nothing else. It
is an asking to heal, not to reboot: a node that is well is not touched, and the annotation goes.
"""

from dataclasses import dataclass
from typing import Final, assert_never

from nodemend.api import keys
from nodemend.api.conditions import ConditionStatus
from nodemend.decide import guard_holds, holds, remediation_request
from nodemend.decide.findings import AskedFor
from nodemend.decide.guard_holds import AnnotationServed, OtherRemediation
from nodemend.decide.holds import CannotRead, Hold
from nodemend.decide.machine_health import (
    MachineFacts,
    NodeAwaited,
    NodeFound,
    NodeMissing,
    NodeUnseen,
)
from nodemend.decide.node_health import Healthy, NodeHealth, Suspect, Unhealthy, Unjudged
from nodemend.decide.remediation_request import Create, Escalate, Leave, Open, Wishes, Withdraw, decide_orphan
from nodemend.decide.storm_guard import Go

BELIEVED_FOR: Final = 60.0
"""Seconds for which a node must be seen Ready after the asking before that is taken for settled. Kubernetes
itself calls a kubelet Ready for up to 50 s after its last word."""

STANDS_FOR: Final = 20.0
"""Seconds for which an asking must be seen before it is acted upon. A check's periods give the guard time to
count all that fall sick together; without this, the first of a thousand would seem to be alone."""

QUIET: Final = (
    guard_holds.DryRun,
    guard_holds.Paused,
    guard_holds.ApiUnsettled,
    holds.ViewStale,
    holds.CannotRead,
)
"""Holds under which an annotation is not even cleared: nothing is to be written, or nobody can vouch."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The annotation as it stands. `value` tells one asking from the next."""

    value: str
    served_by: str = ""
    """What shows that another controller acts upon it; empty when nothing does."""
    owner_asked: str = ""
    """Its owner, if that is asked to replace it; empty otherwise."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Our remediation for an asking; `to` is the value that it answers."""

    open: Open
    to: str


@dataclass(frozen=True, slots=True)
class ByAnnotation:
    """`asking` is None while nobody asks; `other` is somebody else's remediation of the machine."""

    asking: Asking | None
    answer: Answer | None
    other: str
    healthy_delay: float


@dataclass(frozen=True, slots=True)
class Clear:
    """Take the annotation off, if it still has this value."""

    value: str


Request = Create | Withdraw | Clear | Leave | Hold


def judge_annotated(machine: MachineFacts) -> NodeHealth:
    """Ready means Healthy. Otherwise Unhealthy if the annotation is set, Unjudged if not.

    While it is set, the node counts as Ready only from then: Kubernetes calls a dead kubelet Ready for some
    time, and the annotation's writer may have noticed first.
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
        return Unjudged("it has no node that is Ready, and nobody asks for its remediation")
    finding = AskedFor(keys.EXTERNAL_REMEDIATION, asked_for, STANDS_FOR)
    return Suspect(finding) if finding.remaining > 0 else Unhealthy(finding)


def decide_annotated(health: NodeHealth, way: ByAnnotation, guarded: Go | Hold) -> Request:
    """`guarded` is what the guard says of beginning with this machine now."""
    asking, answer = way.asking, way.answer
    if asking is None:
        # It was taken back, or we cleared it: what it asked for goes the way of every remediation.
        return Leave() if answer is None else decide_orphan(answer.open)
    if answer is not None:
        return _answered(health, asking, answer, way.healthy_delay)
    match health:
        case Healthy(ready_for):
            return _settled(asking, ready_for, max(way.healthy_delay, BELIEVED_FOR), guarded)
        case Unhealthy():
            return obstacle_to(asking, way.other) or (guarded if isinstance(guarded, Hold) else Create())
        case Unjudged(why):
            return Hold(CannotRead("the Node", why))
        case Suspect(finding):
            return Leave(finding.remaining)
        case _:
            assert_never(health)


def obstacle_to(asking: Asking, other: str) -> Hold | None:
    """Why nothing could be begun for this very machine, whatever the guard says."""
    if other or asking.owner_asked:
        return Hold(OtherRemediation(other or asking.owner_asked))
    return Hold(AnnotationServed(asking.served_by)) if asking.served_by else None


def _answered(health: NodeHealth, asking: Asking, answer: Answer, healthy_delay: float) -> Request:
    """As for a check. But a node that has healed ends the asking first, and by that the remediation."""
    request = remediation_request.decide(health, answer.open, Go(), Wishes((None,), healthy_delay))
    match request:
        case Withdraw() if isinstance(health, Healthy) and answer.to == asking.value:
            return Clear(asking.value)
        case Escalate():
            raise TypeError("an annotation has one remedy: there is nowhere to climb")
        case _:
            return request


def _settled(asking: Asking, ready_for: float | None, needed: float, guarded: Go | Hold) -> Request:
    """Nothing was begun, and the node is well."""
    if ready_for is None or ready_for < needed:
        return Leave(needed - (ready_for or 0.0))
    if isinstance(guarded, Hold) and isinstance(guarded.reason, QUIET):
        return guarded
    return Clear(asking.value)
