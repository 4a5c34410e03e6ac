"""The Lease of an election on the wire: what we ask for, and what came of it."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never

from nodemend.api.group_versions import LEASE
from nodemend.api.keys import LEADER_MEMORY
from nodemend.api.lease import Lease
from nodemend.api.timestamps import print_micro_time
from nodemend.kube.api_outcome import Ok, Reason, Refused, Undecodable, Unknown, judge_write
from nodemend.kube.api_reply import Answer, Reply, Unsent
from nodemend.kube.api_request import Precondition, Request, create, get, merge_patch

FIELD_MANAGER: Final = "nodemend-elector"
_MOST_TRANSITIONS: Final = 2**31 - 1
_REVISION: Final = re.compile(r"[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LeaseAddress:
    """Which Lease an election is about."""

    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Record:
    """One version of the Lease."""

    uid: str
    version: str
    holder: str
    """Empty when nobody holds it."""
    seconds: int
    """How long the record asks to be left alone; 0 when it does not say."""
    transitions: int
    renewed: str = ""
    """`renewTime` as it is written. It is compared, never reckoned with."""
    remembers_from: int = 0
    """What the holder says of itself (leader_memory); 0 when it does not say."""

    @property
    def revision(self) -> int:
        """The version as the number it is: it grows with every write of any Lease, also across deletions."""
        return int(self.version)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who claims or renews, for how long it asks to be left alone, and from where on it remembers."""

    identity: str
    seconds: int
    remembers_from: int

    @property
    def memory(self) -> str:
        """With its name: another program that takes the Lease leaves the annotation as it is."""
        return f"{self.remembers_from} {self.identity}"


@dataclass(frozen=True, slots=True)
class Found:
    """The record as it stands, read or just written by us."""

    record: Record


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no such Lease."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """Somebody wrote first: what we knew is out of date."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Anything else. If it was a write, it may have been applied."""

    why: str
    retry_after: float = 0.0


LeaseNews = Found | Missing | Outdated | Failed


def understand(reply: Reply) -> LeaseNews:
    """What a reply about one Lease says. Whatever is not plainly understood is a failure."""
    outcome = judge_write(reply, Lease)
    match outcome:
        case Ok(lease):
            return _read(lease)
        case Refused(Reason.NOT_FOUND):
            return Missing()
        case Refused(Reason.CONFLICT | Reason.ALREADY_EXISTS):
            return Outdated()
        case Refused(_, message, retry_after):
            return Failed(message, retry_after or 0.0)
        case Unsent(why) | Unknown(why) | Undecodable(why):
            return Failed(why, _asked_patience(reply))
        case _:
            assert_never(outcome)


def ask_record(address: LeaseAddress) -> Request:
    return get(LEASE, address.name, address.namespace)


def place_record(address: LeaseAddress, seconds: int, wall: datetime) -> Request:
    """Create the Lease, held by nobody, to be left alone for `seconds`."""
    body = {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.kind,
        "metadata": {"name": address.name, "namespace": address.namespace},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": seconds, "renewTime": print_micro_time(wall)},
    }
    return create(LEASE, body, address.namespace, manager=FIELD_MANAGER)


def claim_record(address: LeaseAddress, record: Record, holder: Holder, wall: datetime) -> Request:
    """Take the Lease in exactly this version."""
    moment = print_micro_time(wall)
    spec: dict[str, object] = {
        "holderIdentity": holder.identity,
        "leaseDurationSeconds": holder.seconds,
        "acquireTime": moment,
        "renewTime": moment,
        # For people. It starts again at 0 before it would overflow; the epoch does not come from it.
        "leaseTransitions": (record.transitions + 1) % _MOST_TRANSITIONS,
    }
    return _patch(address, record, spec, holder.memory)


def renew_record(address: LeaseAddress, record: Record, holder: Holder, wall: datetime) -> Request:
    spec: dict[str, object] = {
        "holderIdentity": holder.identity,
        "leaseDurationSeconds": holder.seconds,
        "renewTime": print_micro_time(wall),
    }
    return _patch(address, record, spec, holder.memory)


def release_record(address: LeaseAddress, record: Record, wall: datetime) -> Request:
    """Give the Lease up, in the form in which client-go does: held by nobody, for one second."""
    spec: dict[str, object] = {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "renewTime": print_micro_time(wall),
    }
    return _patch(address, record, spec)


def _patch(
    address: LeaseAddress, record: Record, spec: dict[str, object], memory: str | None = None
) -> Request:
    return merge_patch(
        LEASE,
        address.name,
        address.namespace,
        change={"metadata": {"annotations": {LEADER_MEMORY: memory}}, "spec": spec},
        only_if=Precondition(record.uid, record.version),
        manager=FIELD_MANAGER,
    )


def _memory_of(lease: Lease) -> int:
    """What the holder wrote of itself. What a process wrote that holds the Lease no longer says nothing."""
    number, _, writer = lease.metadata.annotations.get(LEADER_MEMORY, "").partition(" ")
    if not writer or writer != lease.spec.holder_identity:
        return 0
    return int(number) if _REVISION.fullmatch(number) else 0


def _asked_patience(reply: Reply) -> float:
    return (reply.retry_after or 0.0) if isinstance(reply, Answer) else 0.0


def _read(lease: Lease) -> LeaseNews:
    uid, version = lease.metadata.uid, lease.metadata.resource_version
    if not uid or not (version.isascii() and version.isdigit()):
        return Failed(f"a Lease with uid {uid!r} and resourceVersion {version!r} gives no epoch")
    spec = lease.spec
    return Found(
        Record(
            uid=uid,
            version=version,
            holder=spec.holder_identity or "",
            seconds=spec.lease_duration_seconds or 0,
            transitions=spec.lease_transitions or 0,
            renewed=spec.renew_time or "",
            remembers_from=_memory_of(lease),
        )
    )
