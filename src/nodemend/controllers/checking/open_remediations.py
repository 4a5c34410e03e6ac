"""All remediations of every kind that is served, straight from the API server."""

from nodemend.controllers.checking.remedies import Remedies, RemedyKind
from nodemend.controllers.fresh_reads import Reader
from nodemend.decide.facts import Unreadable
from nodemend.kube.api_outcome import Ok
from nodemend.kube.at_once import at_once
from nodemend.kube.paged_list import list_all
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record


async def list_remediations(reader: Reader, remedies: Remedies) -> list[RemediationRecord] | Unreadable:
    """Of every kind: one node, one remediation, whatever its kind."""
    resources = [kind.remediation for kind in remedies.kinds.values() if isinstance(kind, RemedyKind)]
    async with at_once(reader.runtime) as questions:
        lists = [
            questions.ask(list_all(reader.client, resource, RemediationWire, deadline=reader.deadline))
            for resource in resources
        ]
    records: list[RemediationRecord] = []
    for resource, listed in zip(resources, lists, strict=True):
        if not isinstance(listed.answer, Ok):
            return Unreadable(str(listed.answer))
        records += [as_record(resource, wire) for wire in listed.answer.value.items]
    return records
