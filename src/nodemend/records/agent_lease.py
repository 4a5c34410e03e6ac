"""The agent Lease of a node on the wire: requests, and the meaning of replies."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from nodemend.api.agent import AgentReport, Marker, PeerProposal
from nodemend.api.meta import print_micro_time
from nodemend.api.upstream_types import Lease
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT, MARKER, PEER_PROPOSAL
from nodemend.kube.outcome import (
    DECODE_ERRORS,
    LeaseFailed,
    LeaseFound,
    LeaseResult,
    Reply,
    decoder_of,
    understand_lease,
    unreadable_because,
)
from nodemend.kube.request import LeaseAddress, Precondition, Request, create_lease, get_lease, patch_lease

AGENT: Final = "nodemend-agent"
MANAGER: Final = "nodemend-remediator"

T = TypeVar("T")


def revision_of(version: str) -> int:
    """A resourceVersion as the integer that it is in etcd; 0 if it is not an integer."""
    return int(version) if version.isascii() and version.isdigit() else 0


@dataclass(frozen=True, slots=True)
class UnreadableReport:
    """A value that exists but cannot be decoded. It may mean anything."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLease:
    """One version of an agent Lease."""

    uid: str
    version: str
    report: AgentReport | UnreadableReport | None = None
    proposal: PeerProposal | UnreadableReport | None = None
    marker: Marker | None = None

    @property
    def revision(self) -> int:
        return revision_of(self.version)

    def fences(self, node_uid: str, boot_id: str) -> bool:
        """True if the marker requests the end of this boot."""
        return self.marker is not None and self.marker.fences(node_uid, boot_id)

    @property
    def clean(self) -> bool:
        """True if no boot of this node must end.

        A marker for an earlier boot is no reason to reset this one, and does not let this one continue
        either: its writer may not have known that this boot had started.
        """
        return self.marker is None


AgentLeaseResult = LeaseResult[AgentLease]


def understand(reply: Reply) -> AgentLeaseResult:
    return understand_lease(reply, read_lease)


def ask_lease(node: str) -> Request:
    return get_lease(_address(node))


def place_lease(node: str, report: AgentReport, wall: datetime) -> Request:
    return create_lease(_address(node), _reported(report), _spec(node, report, wall), manager=AGENT)


def renew_lease(node: str, known: AgentLease, report: AgentReport, wall: datetime) -> Request:
    """Renew exactly this version. Fields of other writers stay."""
    change = {"metadata": _reported(report), "spec": _spec(node, report, wall)}
    return patch_lease(_address(node), Precondition(known.uid, known.version), change, manager=AGENT)


def write_marker(node: str, known: Precondition, marker: Marker | None) -> Request:
    """Set the marker on exactly this version, or remove it if `marker` is None."""
    text = None if marker is None else msgspec.json.encode(marker).decode()
    return _note(node, known, {MARKER: text})


def write_proposal(node: str, known: Precondition, proposal: PeerProposal) -> Request:
    """Set the proposal on exactly this version."""
    return _note(node, known, {PEER_PROPOSAL: msgspec.json.encode(proposal).decode()})


def _address(node: str) -> LeaseAddress:
    return LeaseAddress(node, AGENT_NAMESPACE)


def _note(node: str, known: Precondition, annotations: dict[str, str | None]) -> Request:
    change = {"metadata": {"annotations": annotations}}
    return patch_lease(_address(node), known, change, manager=MANAGER)


def _reported(report: AgentReport) -> dict[str, object]:
    return {"annotations": {AGENT_REPORT: msgspec.json.encode(report).decode()}}


def _spec(node: str, report: AgentReport, wall: datetime) -> dict[str, object]:
    """The spec, for people who read it as an ordinary Lease. Nothing depends on it."""
    seconds = max(1, round(report.contact_age))
    return {"holderIdentity": node, "leaseDurationSeconds": seconds, "renewTime": print_micro_time(wall)}


def read_lease(lease: Lease) -> LeaseFound[AgentLease] | LeaseFailed:
    metadata = lease.metadata
    if not metadata.uid or not metadata.resource_version:
        return LeaseFailed("a Lease without a uid or a version")
    marker = _noted(metadata.annotations.get(MARKER), Marker)
    if isinstance(marker, UnreadableReport):
        # The marker may be for this boot or for another, so the Lease is neither clean nor a request to end
        # it.
        return LeaseFailed(f"its marker cannot be read: {marker.why}")
    return LeaseFound(
        AgentLease(
            uid=metadata.uid,
            version=metadata.resource_version,
            report=_noted(metadata.annotations.get(AGENT_REPORT), AgentReport),
            proposal=_noted(metadata.annotations.get(PEER_PROPOSAL), PeerProposal),
            marker=marker,
        )
    )


def _noted(text: str | None, kind: type[T]) -> T | UnreadableReport | None:
    if text is None:
        return None
    try:
        return decoder_of(kind).decode(text)
    except DECODE_ERRORS as error:
        return UnreadableReport(unreadable_because(error))
