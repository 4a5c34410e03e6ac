"""What a fresh look may show that speaks against what an annotation on a Machine seemed to ask for."""

from typing import assert_never

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.annotated_machine import Asking, obstacle_to
from nodemend.decide.facts import Absent, NodeFacts, Present, Seen, Unreadable
from nodemend.decide.guard_holds import AnnotationServed
from nodemend.decide.holds import CannotRead, Hold, NodeReady
from nodemend.decide.neighbour_lease import NeighbourLease


def doubt_need(asking: Asking | None, value: str | None, node: Seen[NodeFacts]) -> Hold | None:
    """A reason not to begin, by a fresh look at the machine and its node. `value` is what we saw before."""
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


def doubt_end(asking: Asking | None, value: str, node: Seen[NodeFacts]) -> Hold | None:
    """A reason not to clear the annotation, by a fresh look: it asks anew, or the node is not well."""
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


def doubt_alone(lease: Seen[NeighbourLease], name: str) -> Hold | None:
    """A reason not to begin: the leader of another controller lives, or may. `name` is its Lease's."""
    match lease:
        case Unreadable(why):
            return Hold(CannotRead(f"the Lease {name}", why))
        case Absent():
            return None
        case Present(found):
            alive = found.holder and not found.is_over
            return Hold(AnnotationServed(f"{found.holder} has the Lease {name}")) if alive else None
        case _:
            assert_never(lease)
