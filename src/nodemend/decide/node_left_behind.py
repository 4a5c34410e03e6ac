"""How a remediation ends that releases once, by our taint: nothing of ours stays on the Node."""

from typing import Protocol

from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.holds import CannotRead, Hold
from nodemend.decide.remediation_life import OUR_TAINT, LifeFacts, Remediation, Standing, is_marked, void
from nodemend.decide.remediation_steps import ClearVoidMark, ForgetEvidence, Untaint, VoidOnNode


class Releasing(Standing, Protocol):
    @property
    def node_uid(self) -> str: ...


class ReleasingRemediation(Remediation, Protocol):
    @property
    def status(self) -> Releasing: ...


class EndingFacts(LifeFacts, Protocol):
    """Of a remediation that releases once, and ends."""

    @property
    def remediation(self) -> ReleasingRemediation: ...


def leave_node(facts: EndingFacts) -> Untaint | VoidOnNode | ForgetEvidence | ClearVoidMark | Hold | None:
    """At the end: nothing of ours on the Node, and nothing that could still land. None when that is so."""
    status = facts.remediation.status
    match facts.node:
        case Unreadable(why):
            return Hold(CannotRead("the Node", why))
        case Present(node) if status.evidence is not None and node.uid == status.node_uid:
            if OUR_TAINT in node.taints:
                return Untaint(node)
            if not status.released:
                return void(facts, node, None)
            return ClearVoidMark(node) if is_marked(facts) else None
        case Present(node) if is_marked(facts):
            return ClearVoidMark(node)
        case Present() | Absent():
            return None
