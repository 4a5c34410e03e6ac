"""The agent Lease of a node on the wire: requests, and the meaning of replies."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar, assert_never

import msgspec

from nodemend.api.agent import AgentReport, Marker, PeerProposal
from nodemend.api.meta import print_micro_time
from nodemend.api.resources import LEASE
from nodemend.api.upstream_types import Lease
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT, MARKER, PEER_PROPOSAL
from nodemend.kube.outcome import (
    DECODE_ERRORS,
    Ok,
    Reason,
    Refused,
    Reply,
    Undecodable,
    Unknown,
    Unsent,
    decoder_of,
    unreadable_because,
    write_outcome,
)
from nodemend.kube.request import Precondition, Request, create, get, merge_patch

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
        """The version as the integer that it is in etcd; 0 if it is not an integer."""
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


@dataclass(frozen=True, slots=True)
class LeaseFound:
    """The current Lease, from a read or from this process's own write."""

    lease: AgentLease


@dataclass(frozen=True, slots=True)
class LeaseMissing:
    """The Lease does not exist, and the server serves the kind."""


@dataclass(frozen=True, slots=True)
class LeaseOutdated:
    """Another client wrote first: the known version is out of date."""


@dataclass(frozen=True, slots=True)
class LeaseFailed:
    """Any other outcome. If it was a write, it may have been applied."""

    why: str


AgentLeaseResult = LeaseFound | LeaseMissing | LeaseOutdated | LeaseFailed


def understand(reply: Reply) -> AgentLeaseResult:
    """The meaning of a reply about one Lease. Any reply that is not clearly understood is Failed."""
    outcome = write_outcome(reply, Lease)
    match outcome:
        case Ok(lease):
            return read_lease(lease)
        case Refused(Reason.NOT_FOUND):
            return LeaseMissing()
        case Refused(Reason.CONFLICT | Reason.ALREADY_EXISTS):
            return LeaseOutdated()
        case Refused(_, message, _):
            return LeaseFailed(message)
        case Unsent(why) | Unknown(why) | Undecodable(why):
            return LeaseFailed(why)
        case _:
            assert_never(outcome)


def ask_lease(node: str) -> Request:
    return get(LEASE, node, AGENT_NAMESPACE)


def place_lease(node: str, report: AgentReport, wall: datetime) -> Request:
    body = {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.kind,
        "metadata": {"name": node, "namespace": AGENT_NAMESPACE, "annotations": _reported(report)},
        "spec": _spec(node, report, wall),
    }
    return create(LEASE, body, AGENT_NAMESPACE, manager=AGENT)


def renew_lease(node: str, known: AgentLease, report: AgentReport, wall: datetime) -> Request:
    """Renew exactly this version. Fields of other writers stay."""
    return merge_patch(
        LEASE,
        node,
        AGENT_NAMESPACE,
        change={"metadata": {"annotations": _reported(report)}, "spec": _spec(node, report, wall)},
        only_if=Precondition(known.uid, known.version),
        manager=AGENT,
    )


def write_marker(node: str, known: Precondition, marker: Marker | None) -> Request:
    """Set the marker on exactly this version, or remove it if `marker` is None."""
    text = None if marker is None else msgspec.json.encode(marker).decode()
    return _note(node, known, {MARKER: text})


def write_proposal(node: str, known: Precondition, proposal: PeerProposal) -> Request:
    """Set the proposal on exactly this version."""
    return _note(node, known, {PEER_PROPOSAL: msgspec.json.encode(proposal).decode()})


def _note(node: str, known: Precondition, annotations: dict[str, str | None]) -> Request:
    change = {"metadata": {"annotations": annotations}}
    return merge_patch(LEASE, node, AGENT_NAMESPACE, change=change, only_if=known, manager=MANAGER)


def _reported(report: AgentReport) -> dict[str, str]:
    return {AGENT_REPORT: msgspec.json.encode(report).decode()}


def _spec(node: str, report: AgentReport, wall: datetime) -> dict[str, object]:
    """The spec, for people who read it as an ordinary Lease. Nothing depends on it."""
    seconds = max(1, round(report.contact_age))
    return {"holderIdentity": node, "leaseDurationSeconds": seconds, "renewTime": print_micro_time(wall)}


def read_lease(lease: Lease) -> LeaseFound | LeaseFailed:
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
