"""The release gate: turns evidence into a ReleaseTicket. No code releases a workload without a ticket."""

from dataclasses import dataclass
from typing import assert_never

from nodemend.api.evidence import Evidence
from nodemend.safety.confirmation import Confirmed
from nodemend.safety.facts import NodeFacts
from nodemend.safety.guard import Allowed
from nodemend.safety.holds import EvidenceForOther, Hold, HoldReason
from nodemend.safety.power_off import SeenOff
from nodemend.safety.time_proof import BootOver


@dataclass(frozen=True, slots=True)
class ReleaseTicket:
    """Permission to release one boot of one node. Only this module creates it.

    It allows one write: it names the version of the Node that it was issued for, and that write changes it.
    """

    node: str
    node_uid: str
    node_version: str
    boot_id: str
    epoch: int
    evidence: Evidence


Proof = Confirmed | SeenOff | BootOver
"""Proof that recorded evidence is valid now: an operator confirmation, a host observed off, a boot that is
over."""


def open_gate(
    node: NodeFacts, recorded: Evidence, now: Proof | HoldReason, guarded: Allowed | Hold, epoch: int
) -> ReleaseTicket | Hold:
    """Return a ticket if the recorded evidence is still valid now and the guard allows the release.

    All arguments come from the same live reads. The ticket carries the Node's version from those reads, so
    any later change of the Node invalidates it.
    """
    if isinstance(guarded, Hold):
        return guarded
    match now:
        case HoldReason():
            return Hold(now)
        case Confirmed() | SeenOff() | BootOver():
            pass
        case _:
            assert_never(now)
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
