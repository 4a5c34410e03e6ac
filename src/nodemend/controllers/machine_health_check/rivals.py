"""Who else is at work on a machine, or on its node."""

from collections.abc import Iterable

from nodemend.controllers.machine_health_check.annotated_machine import answers_to
from nodemend.controllers.machine_health_check.fleet import cluster_of
from nodemend.controllers.machine_health_check.gather import Target
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.kube.remediation_record import RemediationRecord


def find_rival(
    view: MachineView, target: Target, records: Iterable[RemediationRecord]
) -> RemediationRecord | None:
    """Somebody else's remediation of this machine, or of its node, where that is one of ours."""
    return next((record for record in records if _is_rival(view, target, record)), None)


def _is_rival(view: MachineView, target: Target, record: RemediationRecord) -> bool:
    machine = target.machine
    if machine.uid in record.owners:
        return target.by_annotation and answers_to(record) is None
    if record.namespace == machine.namespace and record.name == machine.name:
        return True
    if view.clusters.is_elsewhere(cluster_of(machine)):
        return False
    of_a_machine = any(view.fleet.by_uid(uid) is not None for uid in record.owners)
    return bool(machine.node) and record.name == machine.node and not of_a_machine
