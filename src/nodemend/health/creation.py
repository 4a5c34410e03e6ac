"""Deletion of a remediation that is no longer needed.

Shared dependencies for creating remediations; one instance per leader term.

Sends one write and maps its outcome to a reconcile result.
"""

from collections.abc import Callable
from dataclasses import dataclass

from nodemend.health.remediation_index import RemediationListCache
from nodemend.kube.client import ApiClient
from nodemend.kube.controller import Done, Outcome, RequeueAfter, Retry
from nodemend.kube.outcome import Acknowledged, Ok, Reason, Refused, Undecodable, Unknown, Unsent
from nodemend.kube.ports import Runtime
from nodemend.kube.request import Precondition, Request, delete
from nodemend.kube.tasks import FairSemaphore
from nodemend.records.external_lease import ExternalLeases
from nodemend.records.live_reads import WRITE_WITHIN, LiveReader, read_result
from nodemend.records.remediation import RemediationRecord, RemediationWire, as_record
from nodemend.rules.request import ExistingRemediation
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import CannotRead, Hold


@dataclass(frozen=True, slots=True)
class CreationContext:
    turn: FairSemaphore
    """Serializes creations: the guard counts open remediations, so two could both see one free slot."""
    external_leases: ExternalLeases
    open_remediations: RemediationListCache


async def check_before_deletion(
    reader: LiveReader, record: RemediationRecord, as_open: Callable[[RemediationRecord], ExistingRemediation]
) -> Request | Hold:
    """Read the remediation live and return its deletion, or a Hold.

    Deletes only a remediation of this target, in exactly the version that was read, and only if it has
    released nothing or is finished.
    """
    match read_result(await reader.get(record.resource, record.name, RemediationWire, record.namespace)):
        case Present(wire):
            fresh = as_record(record.resource, wire)
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


class Writer:
    """Sends writes. `client` must refuse them after the leader term."""

    def __init__(self, client: ApiClient, runtime: Runtime) -> None:
        self._client = client
        self._runtime = runtime

    async def write(self, request: Request) -> Outcome:
        """Send a write. Done if it was applied; watches deliver the result."""
        deadline = self._runtime.monotonic() + WRITE_WITHIN
        match await self._client.write(request, Acknowledged, deadline=deadline):
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
