"""Who else is at work on a node."""

from collections.abc import Iterable

from nodemend.controllers.node_health_check.gather import View
from nodemend.decide.guard_holds import OtherRemediation
from nodemend.decide.holds import Hold
from nodemend.kube.remediation_record import RemediationRecord


def find_rival(view: View, node: str, records: Iterable[RemediationRecord]) -> Hold | None:
    """Who is at work on the node already: by its own name, or by that of the Machine behind it."""
    machines = view.machines
    behind = machines.uids_behind(node) if machines is not None else frozenset()
    for record in records:
        if record.name == node or not behind.isdisjoint(record.owners):
            return Hold(OtherRemediation(str(record)))
    asked = machines.asked_behind(node) if machines is not None else ""
    return Hold(OtherRemediation(asked)) if asked else None
