"""All remediations of every kind that is served, straight from the API server."""

from nodemend.controllers.checking.remedies import Remedies, RemedyKind
from nodemend.controllers.fresh_reads import Reader
from nodemend.decide.facts import Unreadable
from nodemend.kube.api_outcome import Ok
from nodemend.kube.paged_list import list_all
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record


async def list_remediations(reader: Reader, remedies: Remedies) -> list[RemediationRecord] | Unreadable:
    """Of every kind: one node, one remediation, whatever its kind."""
    records: list[RemediationRecord] = []
    for kind in list(remedies.kinds.values()):
        if isinstance(kind, RemedyKind):
            resource = kind.remediation
            outcome = await list_all(reader.client, resource, RemediationWire, deadline=reader.deadline)
            if not isinstance(outcome, Ok):
                return Unreadable(str(outcome))
            records += [as_record(resource, wire) for wire in outcome.value.items]
    return records
