"""Before an annotation starts or clears anything, a live read must confirm the same state."""

import pytest

from nodemend.api.meta import ConditionStatus
from nodemend.health.machine import annotation
from nodemend.health.machine.annotation import (
    RemediationAnnotation,
    check_ended,
    check_needed,
    check_no_other,
)
from nodemend.rules.request import ExternalLease
from nodemend.safety.facts import Absent, NodeFacts, Present, ReadResult, Unreadable
from nodemend.safety.holds import CannotRead, Hold, NodeReady

ASKED = RemediationAnnotation("")
SERVED = RemediationAnnotation("", served_by="somebody")


def a_node(status: ConditionStatus) -> Present[NodeFacts]:
    return Present(NodeFacts("n1", "u1", "7", "boot-1", status))


DARK = Unreadable("no route")
CHANGED = Hold(CannotRead("the annotation", "it has changed"))
UNREAD = Hold(CannotRead("the Node", "no route"))


@pytest.mark.parametrize(
    ("asking", "node", "expected"),
    [
        (ASKED, a_node(ConditionStatus.UNKNOWN), None),
        (ASKED, a_node(ConditionStatus.FALSE), None),
        (ASKED, Absent(), None),
        (ASKED, a_node(ConditionStatus.TRUE), Hold(NodeReady("n1"))),
        (ASKED, DARK, UNREAD),
        (None, Absent(), CHANGED),
        (RemediationAnnotation("8"), Absent(), CHANGED),
        (SERVED, Absent(), Hold(annotation.AnnotationServedByAnother("somebody"))),
    ],
)
def test_nothing_starts_unless_a_live_read_shows_the_same_annotation_and_an_unhealthy_node(
    asking: RemediationAnnotation | None, node: ReadResult[NodeFacts], expected: Hold | None
) -> None:
    assert check_needed(asking, "", node) == expected


@pytest.mark.parametrize(
    ("asking", "node", "expected"),
    [
        (ASKED, a_node(ConditionStatus.TRUE), None),
        (ASKED, a_node(ConditionStatus.UNKNOWN), Hold(CannotRead("the Node", "it is not Ready any more"))),
        (ASKED, Absent(), Hold(CannotRead("the Node", "it is not Ready any more"))),
        (ASKED, DARK, UNREAD),
        (None, a_node(ConditionStatus.TRUE), CHANGED),
        (RemediationAnnotation("8"), a_node(ConditionStatus.TRUE), CHANGED),
    ],
)
def test_nothing_is_cleared_unless_a_live_read_shows_the_same_annotation_and_a_ready_node(
    asking: RemediationAnnotation | None, node: ReadResult[NodeFacts], expected: Hold | None
) -> None:
    assert check_ended(asking, "", node) == expected


@pytest.mark.parametrize(
    ("lease", "expected"),
    [
        (Absent(), None),
        (DARK, Hold(CannotRead("the Lease a/b", "no route"))),
        (Present(ExternalLease("b", "", 120, 0.0)), None),
        (Present(ExternalLease("b", "pod-1", 120, 120.0)), None),
        (
            Present(ExternalLease("b", "pod-1", 120, 119.0)),
            Hold(annotation.AnnotationServedByAnother("pod-1 has the Lease a/b")),
        ),
        (
            Present(ExternalLease("b", "pod-1", None, 9999.0)),
            Hold(annotation.AnnotationServedByAnother("pod-1 has the Lease a/b")),
        ),
    ],
)
def test_the_leader_of_another_controller_holds_for_as_long_as_it_may_live(
    lease: ReadResult[ExternalLease], expected: Hold | None
) -> None:
    assert check_no_other(lease, "a/b") == expected
