"""Reasons not to believe, by a fresh look, what our caches said."""

from nodemend.api.conditions import ConditionStatus
from nodemend.api.node import Node
from nodemend.api.node_health_check import NodeHealthCheck, RecoveryPhase
from nodemend.controllers.checking.node_checks import meets_threshold
from nodemend.controllers.node_exclusion import excluded_by
from nodemend.controllers.node_health_check import gather
from nodemend.controllers.node_health_check.gather import Target
from nodemend.decide.facts import Absent, Present, Seen, Unreadable
from nodemend.decide.guard_holds import Excluded
from nodemend.decide.holds import CannotRead, Hold, NodeReady


def doubt_sickness(target: Target, fresh: Seen[Node], *, ordered: bool) -> Hold | None:
    """That the node is unhealthy; not `ordered` for long, but that it is not well."""
    match fresh:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Absent():
            return Hold(CannotRead("the Node", "it is gone"))
        case Present(node):
            if by := excluded_by(node.metadata.labels, node.metadata.annotations):
                return Hold(Excluded(by))
            unready = ordered and node.ready is not ConditionStatus.TRUE
            unwell = meets_threshold(target.check, node.status.conditions) or unready
            return None if _is_same(target, node) and unwell else Hold(NodeReady(target.node.name))


def doubt_health(target: Target, fresh: Seen[Node]) -> Hold | None:
    """That the node is well."""
    match fresh:
        case Present(node) if by := excluded_by(node.metadata.labels, node.metadata.annotations):
            return Hold(Excluded(by))
        case Present(node) if _is_same(target, node):
            well = node.ready is ConditionStatus.TRUE and not meets_threshold(
                target.check, node.status.conditions
            )
            return None if well else Hold(CannotRead("the Node", "it is not well any more"))
        case Present() | Absent():
            return Hold(CannotRead("the Node", "it is gone"))
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))


def doubt_check(target: Target, fresh: Seen[NodeHealthCheck], *, owed: bool = False) -> Hold | None:
    """That the check is as it was: somebody may have paused or changed it just now.

    `owed`: a recovery of the target must be, by what stands there now.
    """
    known = target.check.metadata
    what = f"the check {known.name}"
    match fresh:
        case Present(check):
            same = (check.metadata.uid, check.metadata.generation) == (known.uid, known.generation)
            written = gather.recovery_written(check, target.node.uid)
            if same and owed and written is not RecoveryPhase.OWED:
                return Hold(CannotRead(what, "it owes no recovery any more"))
            return None if same else Hold(CannotRead(what, "it has just changed"))
        case Absent():
            return Hold(CannotRead(what, "it is gone"))
        case Unreadable(why):
            return Hold(CannotRead(what, why))


def _is_same(target: Target, node: Node) -> bool:
    return node.metadata.uid == target.node.uid
