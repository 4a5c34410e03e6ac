"""The one gate: evidence in, a ReleaseTicket out. Nothing frees a workload without a ticket."""

from dataclasses import dataclass

from nodemend.api.evidence import Evidence
from nodemend.decide.facts import NodeFacts
from nodemend.decide.fence_evidence import SeenOff
from nodemend.decide.holds import EvidenceForOther, Hold, HoldReason
from nodemend.decide.human_word import Believed
from nodemend.decide.storm_guard import Go
from nodemend.decide.time_proof import Over


@dataclass(frozen=True, slots=True)
class ReleaseTicket:
    """Leave to release one boot of one node. Made only here.

    It is good for one write: it names the version of the Node it was made on, and that write ends it.
    """

    node: str
    node_uid: str
    node_version: str
    boot_id: str
    epoch: int
    evidence: Evidence


Borne = Believed | SeenOff | Over
"""What bears evidence out: a person's word, a host that is seen off, a boot that is over."""


def open_gate(
    node: NodeFacts, recorded: Evidence, now: Borne | HoldReason, guarded: Go | Hold, epoch: int
) -> ReleaseTicket | Hold:
    """A ticket if the recorded evidence is still borne out now, and the guard agrees.

    All arguments come from the same fresh reads; the ticket carries the Node's version out of them, so that
    whatever happens to the Node after these reads voids it.
    """
    if isinstance(guarded, Hold):
        return guarded
    if not isinstance(now, Borne):
        return Hold(now)
    if recorded.node_uid != node.uid:
        return Hold(EvidenceForOther("node", recorded.node_uid, node.uid))
    if recorded.boot_id != node.boot_id:
        return Hold(EvidenceForOther("boot", recorded.boot_id, node.boot_id))
    return ReleaseTicket(
        node=node.name,
        node_uid=node.uid,
        node_version=node.version,
        boot_id=node.boot_id,
        epoch=epoch,
        evidence=recorded,
    )
