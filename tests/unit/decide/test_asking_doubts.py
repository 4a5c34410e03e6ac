"""Before anything is begun or cleared that an annotation asks for, a fresh look must show the same."""

import pytest

from nodemend.api.conditions import ConditionStatus
from nodemend.decide import guard_holds
from nodemend.decide.annotated_machine import Asking
from nodemend.decide.asking_doubts import doubt_alone, doubt_end, doubt_need
from nodemend.decide.facts import Absent, NodeFacts, Present, Seen, Unreadable
from nodemend.decide.holds import CannotRead, Hold, NodeReady
from nodemend.decide.neighbour_lease import NeighbourLease

ASKED = Asking("")
SERVED = Asking("", served_by="somebody")


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
        (Asking("8"), Absent(), CHANGED),
        (SERVED, Absent(), Hold(guard_holds.AnnotationServed("somebody"))),
    ],
)
def test_nothing_is_begun_unless_a_fresh_look_shows_the_same_asking_and_a_sick_node(
    asking: Asking | None, node: Seen[NodeFacts], expected: Hold | None
) -> None:
    assert doubt_need(asking, "", node) == expected


@pytest.mark.parametrize(
    ("asking", "node", "expected"),
    [
        (ASKED, a_node(ConditionStatus.TRUE), None),
        (ASKED, a_node(ConditionStatus.UNKNOWN), Hold(CannotRead("the Node", "it is not Ready any more"))),
        (ASKED, Absent(), Hold(CannotRead("the Node", "it is not Ready any more"))),
        (ASKED, DARK, UNREAD),
        (None, a_node(ConditionStatus.TRUE), CHANGED),
        (Asking("8"), a_node(ConditionStatus.TRUE), CHANGED),
    ],
)
def test_nothing_is_cleared_unless_a_fresh_look_shows_the_same_asking_and_a_ready_node(
    asking: Asking | None, node: Seen[NodeFacts], expected: Hold | None
) -> None:
    assert doubt_end(asking, "", node) == expected


@pytest.mark.parametrize(
    ("lease", "expected"),
    [
        (Absent(), None),
        (DARK, Hold(CannotRead("the Lease a/b", "no route"))),
        (Present(NeighbourLease("b", "", 120, 0.0)), None),
        (Present(NeighbourLease("b", "pod-1", 120, 120.0)), None),
        (
            Present(NeighbourLease("b", "pod-1", 120, 119.0)),
            Hold(guard_holds.AnnotationServed("pod-1 has the Lease a/b")),
        ),
        (
            Present(NeighbourLease("b", "pod-1", None, 9999.0)),
            Hold(guard_holds.AnnotationServed("pod-1 has the Lease a/b")),
        ),
    ],
)
def test_the_leader_of_another_controller_holds_for_as_long_as_it_may_live(
    lease: Seen[NeighbourLease], expected: Hold | None
) -> None:
    assert doubt_alone(lease, "a/b") == expected
