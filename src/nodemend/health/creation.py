"""Shared dependencies for creating and deleting remediations; one instance per leader term.

A remediation is created only while no other operator holds the node's Lease. A remediation that is no longer
needed is deleted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from nodemend.api.resources import Resource
from nodemend.api.upstream_types import ObjectReference
from nodemend.health.remediation_index import RemediationListCache
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Done, Outcome, RequeueAfter, Retry
from nodemend.kube.outcome import Acknowledged, Ok, Reason, Refused, Undecodable, Unknown, Unsent
from nodemend.kube.ports import Runtime
from nodemend.kube.request import Precondition, Request, create, delete
from nodemend.kube.tasks import FairSemaphore
from nodemend.records.live_reads import WRITE_WITHIN, ExternalLeaseReader, LiveReader, project
from nodemend.records.remediation import RemediationRecord, RemediationWire, as_record
from nodemend.rules.request import ExistingRemediation, held_externally
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import CannotRead, Hold

_PREFIX: Final = "node-"
"""Precedes the node's name. Nodemend's own Leases have its UID there, and another namespace (decision 13)."""


class ExternalLeases:
    """The Leases of medik8s, for one leader term.

    `namespace` is empty if the checker ignores them.
    """

    def __init__(self, reader: LiveReader, namespace: str) -> None:
        self._leases = ExternalLeaseReader(reader)
        self._namespace = namespace

    async def hold_on(self, node: str) -> Hold | None:
        """Return a hold if another operator holds the Lease of a node of this cluster.

        A missing namespace means that no operator works on the node: medik8s creates it with the first Lease.
        """
        if not self._namespace:
            return None
        return held_externally(await self._leases.read(f"{_PREFIX}{node}", self._namespace))


@dataclass(frozen=True, slots=True)
class CreationContext:
    turn: FairSemaphore
    """Serializes creations: the guard counts open remediations, so two could both see one free slot."""
    external_leases: ExternalLeases
    open_remediations: RemediationListCache


FIELD_MANAGER: Final = "nodemend-checker"


def create_remediation(
    resource: Resource,
    namespace: str,
    owner: ObjectReference,
    *,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    spec: Mapping[str, Any],
) -> Request:
    """Return the create request of a remediation with its owner's name, which is deleted with its owner."""
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}
    metadata = {
        "name": owner.name,
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [reference],
    }
    return create(resource, {"metadata": metadata, "spec": spec}, namespace, manager=FIELD_MANAGER)


async def read_remediation(reader: LiveReader, known: RemediationRecord) -> ReadResult[RemediationRecord]:
    """Read the remediation of this kind, namespace and name live. It may have another UID."""
    wire = await reader.read(known.resource, known.name, RemediationWire, known.namespace)
    return project(wire, lambda found: as_record(known.resource, found))


async def check_before_deletion(
    reader: LiveReader, record: RemediationRecord, as_open: Callable[[RemediationRecord], ExistingRemediation]
) -> Request | Hold:
    """Read the remediation live and return its deletion, or a Hold.

    Deletes only a remediation of this target, in exactly the version that was read, and only if it has
    released nothing or is finished.
    """
    match await read_remediation(reader, record):
        case Present(fresh):
            existing = as_open(fresh)
            if not existing.ours or (existing.committed and not existing.finished):
                return Hold(OtherRemediation(existing.holder))
            if existing.ending:
                return Hold(CannotRead("the remediation", "it is ending already"))
            return delete_remediation(fresh)
        case Absent():
            return Hold(CannotRead("the remediation", "it is gone already"))
        case Unreadable(why):
            return Hold(CannotRead("the remediation", why))


def delete_remediation(record: RemediationRecord) -> Request:
    """Return the deletion, valid only for exactly the version on which the decision was made."""
    only_if = Precondition(record.uid, record.version)
    return delete(record.resource, record.name, record.namespace, only_if=only_if)


AFTER_A_CONFLICT = 1.0


@dataclass(frozen=True, slots=True)
class Writer:
    """Sends writes. `client` must refuse them after the leader term."""

    client: ApiClient
    runtime: Runtime

    async def write(self, request: Request) -> Outcome:
        """Send a write. Done if it was applied; watches deliver the result."""
        deadline = self.runtime.monotonic() + WRITE_WITHIN
        match await self.client.write(request, Acknowledged, deadline=deadline):
            case Ok() | Undecodable():
                return Done()
            case Refused(reason=Reason.CONFLICT | Reason.ALREADY_EXISTS | Reason.NOT_FOUND):
                return RequeueAfter(AFTER_A_CONFLICT)
            case Refused(reason=Reason.THROTTLED, retry_after=seconds):
                # Expected at the start of a leader term, when a thousand statuses are due at once.
                return RequeueAfter(max(seconds or 0.0, AFTER_A_CONFLICT))
            case Unknown(why) | Unsent(why):
                return Retry(why)
            case Refused(message=why):
                return Retry(why, refused=True)
