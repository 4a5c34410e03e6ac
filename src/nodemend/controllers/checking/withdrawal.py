"""Taking a remediation back."""

from collections.abc import Callable

from nodemend.controllers.fresh_reads import Reader, seen
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.guard_holds import OtherRemediation
from nodemend.decide.holds import CannotRead, Hold
from nodemend.decide.remediation_request import Open
from nodemend.kube.api_request import Precondition, Request, delete
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record


async def look_before_withdrawal(
    reader: Reader, record: RemediationRecord, as_open: Callable[[RemediationRecord], Open]
) -> Request | Hold:
    """Only what is ours, and only the very version in which nothing was released, or all is over."""
    match seen(await reader.get(record.resource, record.name, RemediationWire, record.namespace)):
        case Present(wire):
            fresh = as_record(record.resource, wire)
            existing = as_open(fresh)
            if not existing.ours or (existing.committed and not existing.finished):
                return Hold(OtherRemediation(existing.holder))
            if existing.ending:
                return Hold(CannotRead("the remediation", "it is ending already"))
            return withdraw_remediation(fresh)
        case Absent():
            return Hold(CannotRead("the remediation", "it is gone already"))
        case Unreadable(why):
            return Hold(CannotRead("the remediation", why))


def withdraw_remediation(record: RemediationRecord) -> Request:
    """Only the very version that the decision was made on."""
    only_if = Precondition(record.uid, record.version)
    return delete(record.resource, record.name, record.namespace, only_if=only_if)
