"""Gives a machine that power cycles did not heal to whoever would replace it, by that project's contract."""

from typing import Final

from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.conditions import ConditionStatus
from nodemend.controllers.power_cycle.locate import Behind
from nodemend.controllers.remediating.writes import FIELD_MANAGER
from nodemend.decide.facts import PolicyFacts
from nodemend.decide.machine_marks import Mark
from nodemend.decide.power_cycle_facts import MachineFacts
from nodemend.kube.api_request import Precondition, Request, delete, merge_patch
from nodemend.kube.machine_conditions import replaced
from nodemend.kube.machine_dialect import Dialect, dialect_of
from nodemend.kube.machine_record import OWNER

ASKED: Final = Mark(
    ConditionStatus.FALSE,
    # Not the reason of a check that waits: a check would take such a wish back while a template of its own
    # is at work.
    "PowerCyclesFailed",
    "Power cycles did not heal it; its host is held off until it is replaced.",
)


def machine_facts(
    behind: Behind, host: BareMetalHost | None, policy: PolicyFacts | None, refused: str
) -> MachineFacts:
    """`refused` is what the API server said when the owner was asked; empty when it did not refuse."""
    machine, dialect = behind.machine, dialect_of(behind.resource)
    asked = any(
        one.get("type") == OWNER and one.get("status") == "False" for one in machine.status.conditions
    )
    return MachineFacts(
        name=f"{behind.resource.kind} {machine.metadata.namespace}/{machine.metadata.name}",
        why_not=refused or _why_not(behind, dialect, host, policy),
        asked=asked and dialect.owners_read_conditions,
        deleting=machine.metadata.deleting,
    )


def _why_not(behind: Behind, dialect: Dialect, host: BareMetalHost | None, policy: PolicyFacts | None) -> str:
    metadata = behind.machine.metadata
    owner = next((one for one in metadata.owner_references if one.controller), None)
    if host is not None and host.spec.externally_provisioned:
        return "metal3 did not deploy its host, and would not do so again"
    if owner is None:
        return "no controller owns it, so nobody would replace it"
    if dialect.owners_read_conditions:
        return ""
    if any(metadata.labels.get(key) == value for key, value in dialect.control_plane_labels):
        return "it is of the control plane, and nobody replaces those by themselves"
    if policy is None or not policy.machines.delete:
        return f"its {owner.kind} reads no conditions, and the RemediationPolicy lets nobody delete Machines"
    return ""


def ask_owner(behind: Behind, now: str) -> Request:
    """A condition where owners read those; else the Machine is deleted, and its owner makes another."""
    metadata, dialect = behind.machine.metadata, dialect_of(behind.resource)
    only_if = Precondition(metadata.uid, metadata.resource_version)
    if not dialect.owners_read_conditions:
        return delete(behind.resource, metadata.name, metadata.namespace, only_if=only_if)
    conditions = replaced(behind.machine.status.conditions, {OWNER: ASKED}, dialect, now)
    return merge_patch(
        behind.resource,
        metadata.name,
        metadata.namespace,
        change={"status": {"conditions": conditions}},
        only_if=only_if,
        manager=FIELD_MANAGER,
        subresource="status",
    )
