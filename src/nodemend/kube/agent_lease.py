"""The Lease that a node has with us, on the wire: what is asked for, and what came of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar, assert_never

import msgspec

from nodemend.api.agent_lease import AgentReport, Marker, PeerProposal
from nodemend.api.group_versions import LEASE
from nodemend.api.keys import AGENT_NAMESPACE, AGENT_REPORT, MARKER, PEER_PROPOSAL
from nodemend.api.lease import Lease
from nodemend.api.timestamps import print_micro_time
from nodemend.kube.api_outcome import Ok, Reason, Refused, Undecodable, Unknown, judge_write
from nodemend.kube.api_reply import Reply, Unsent
from nodemend.kube.api_request import Precondition, Request, create, get, merge_patch
from nodemend.kube.json_decoding import UNREADABLE, decoder_of, unreadable_because

AGENT: Final = "nodemend-agent"
MANAGER: Final = "nodemend-remediator"

T = TypeVar("T")


def revision_of(version: str) -> int:
    """A resourceVersion as the number that it is in etcd; 0 where it is none."""
    return int(version) if version.isascii() and version.isdigit() else 0


@dataclass(frozen=True, slots=True)
class Garbled:
    """There is something, and it cannot be read. It may mean anything."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLease:
    """One version of it."""

    uid: str
    version: str
    report: AgentReport | Garbled | None = None
    proposal: PeerProposal | Garbled | None = None
    marker: Marker | None = None

    @property
    def revision(self) -> int:
        """The version as the number that it is in etcd; 0 where it is none."""
        return revision_of(self.version)

    def condemns(self, node_uid: str, boot_id: str) -> bool:
        """Whether this boot is to end."""
        return self.marker is not None and self.marker.condemns(node_uid, boot_id)

    @property
    def clean(self) -> bool:
        """Whether no boot of this node is to end.

        A marker for an earlier boot is no reason to reset this one, and none to let it go on either: whoever
        wrote it may not have known that this one has begun.
        """
        return self.marker is None


@dataclass(frozen=True, slots=True)
class Found:
    """As it stands, read or just written by us."""

    lease: AgentLease


@dataclass(frozen=True, slots=True)
class Missing:
    """There is none, and the server serves the kind."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """Somebody wrote first: what we knew is out of date."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Anything else. If it was a write, it may have been applied."""

    why: str


LeaseNews = Found | Missing | Outdated | Failed


def understand(reply: Reply) -> LeaseNews:
    """What a reply about one Lease says. Whatever is not plainly understood is a failure."""
    outcome = judge_write(reply, Lease)
    match outcome:
        case Ok(lease):
            return read_lease(lease)
        case Refused(Reason.NOT_FOUND):
            return Missing()
        case Refused(Reason.CONFLICT | Reason.ALREADY_EXISTS):
            return Outdated()
        case Refused(_, message, _):
            return Failed(message)
        case Unsent(why) | Unknown(why) | Undecodable(why):
            return Failed(why)
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
    """On exactly this version. What others wrote on it stays."""
    return merge_patch(
        LEASE,
        node,
        AGENT_NAMESPACE,
        change={"metadata": {"annotations": _reported(report)}, "spec": _spec(node, report, wall)},
        only_if=Precondition(known.uid, known.version),
        manager=AGENT,
    )


def write_marker(node: str, known: Precondition, marker: Marker | None) -> Request:
    """On exactly this version: with this marker, or with none."""
    text = None if marker is None else msgspec.json.encode(marker).decode()
    return _note(node, known, {MARKER: text})


def write_proposal(node: str, known: Precondition, proposal: PeerProposal) -> Request:
    """On exactly this version."""
    return _note(node, known, {PEER_PROPOSAL: msgspec.json.encode(proposal).decode()})


def _note(node: str, known: Precondition, annotations: dict[str, str | None]) -> Request:
    change = {"metadata": {"annotations": annotations}}
    return merge_patch(LEASE, node, AGENT_NAMESPACE, change=change, only_if=known, manager=MANAGER)


def _reported(report: AgentReport) -> dict[str, str]:
    return {AGENT_REPORT: msgspec.json.encode(report).decode()}


def _spec(node: str, report: AgentReport, wall: datetime) -> dict[str, object]:
    """For people, who read a Lease as a Lease. Nothing rests on it."""
    seconds = max(1, round(report.contact_age))
    return {"holderIdentity": node, "leaseDurationSeconds": seconds, "renewTime": print_micro_time(wall)}


def read_lease(lease: Lease) -> Found | Failed:
    metadata = lease.metadata
    if not metadata.uid or not metadata.resource_version:
        return Failed("a Lease without a uid or a version")
    marker = _noted(metadata.annotations.get(MARKER), Marker)
    if isinstance(marker, Garbled):
        # It may be for this boot or for another: neither clean nor condemned.
        return Failed(f"its marker cannot be read: {marker.why}")
    return Found(
        AgentLease(
            uid=metadata.uid,
            version=metadata.resource_version,
            report=_noted(metadata.annotations.get(AGENT_REPORT), AgentReport),
            proposal=_noted(metadata.annotations.get(PEER_PROPOSAL), PeerProposal),
            marker=marker,
        )
    )


def _noted(text: str | None, kind: type[T]) -> T | Garbled | None:
    if text is None:
        return None
    try:
        return decoder_of(kind).decode(text)
    except UNREADABLE as error:
        return Garbled(unreadable_because(error))
