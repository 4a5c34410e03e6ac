"""One Lease, of a leader or of an agent, on the wire: requests, and the meaning of replies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar, assert_never

from nodemend.api.resources import LEASE
from nodemend.api.upstream_types import Lease
from nodemend.kube.outcome import (
    ApiResponse,
    Ok,
    Reason,
    Refused,
    Reply,
    Undecodable,
    Unknown,
    Unsent,
    write_outcome,
)
from nodemend.kube.request import Precondition, Request, create, get, merge_patch

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class LeaseAddress:
    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class LeaseFound(Generic[L]):
    """The current Lease, from a read or from this process's own write."""

    lease: L


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
    retry_after: float = 0.0


LeaseResult: TypeAlias = LeaseFound[L] | LeaseMissing | LeaseOutdated | LeaseFailed


def understand_lease(reply: Reply, read: Callable[[Lease], LeaseFound[L] | LeaseFailed]) -> LeaseResult[L]:
    """The meaning of a reply about one Lease. Any reply that is not clearly understood is Failed."""
    outcome = write_outcome(reply, Lease)
    match outcome:
        case Ok(lease):
            return read(lease)
        case Refused(Reason.NOT_FOUND):
            return LeaseMissing()
        case Refused(Reason.CONFLICT | Reason.ALREADY_EXISTS):
            return LeaseOutdated()
        case Refused(_, message, retry_after):
            return LeaseFailed(message, retry_after or 0.0)
        case Unsent(why) | Unknown(why) | Undecodable(why):
            return LeaseFailed(why, (reply.retry_after or 0.0) if isinstance(reply, ApiResponse) else 0.0)
        case _:
            assert_never(outcome)


def get_lease(address: LeaseAddress) -> Request:
    return get(LEASE, address.name, address.namespace)


def create_lease(
    address: LeaseAddress, metadata: Mapping[str, object], spec: Mapping[str, object], *, manager: str
) -> Request:
    """Create the Lease, with its address and `metadata`."""
    body = {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.kind,
        "metadata": {"name": address.name, "namespace": address.namespace, **metadata},
        "spec": spec,
    }
    return create(LEASE, body, address.namespace, manager=manager)


def patch_lease(
    address: LeaseAddress, only_if: Precondition, change: Mapping[str, object], *, manager: str
) -> Request:
    """Change the named fields of exactly this version. Fields of other writers stay."""
    return merge_patch(
        LEASE, address.name, address.namespace, change=change, only_if=only_if, manager=manager
    )
