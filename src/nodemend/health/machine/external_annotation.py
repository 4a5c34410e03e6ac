"""Machines without one of Nodemend's checks, whose remediation an annotation may request.

The annotation is treated as a check without conditions, so it has the same guard, the same live checks and
the same remediation. All such Machines are its targets, so that a storm is a share of all of them.
"""

from typing import Final

from nodemend.api import well_known
from nodemend.api.meta import LabelSelector
from nodemend.api.resources import METAL3_REMEDIATION_TEMPLATE, SELF_REMEDIATION_TEMPLATE, Resource
from nodemend.health.machine.annotation import RemediationAnnotation
from nodemend.health.machine.index import MachineCheckKey
from nodemend.records.machine import MachineCheckRecord, MachineRecord
from nodemend.records.remediation import RemediationRecord
from nodemend.rules.machine import MachineRules, TemplateNamed
from nodemend.safety.limits import LimitSemantics

NAME: Final = "external-remediation"
"""Replaces the name of a check, in the label of its remediations and in metrics."""
_NO_KIND: Final = Resource("", "", "", "")
_ASKING: Final = f"{well_known.EXTERNAL_REMEDIATION}="


KINDS: Final = (METAL3_REMEDIATION_TEMPLATE, SELF_REMEDIATION_TEMPLATE)
"""The kinds of templates for remediations of such Machines."""


def template_for(machine: MachineRecord, name: str) -> TemplateNamed:
    """Return the template: a host can be power-cycled; a Machine without a host must reset itself."""
    power_cycle, self_fencing = KINDS
    kind = power_cycle if machine.hosted else self_fencing
    return TemplateNamed(kind.api_version, kind.kind, name)


def check_key_for(machine: MachineRecord) -> MachineCheckKey:
    return MachineCheckKey("", machine.namespace, NAME)


def is_annotation(key: MachineCheckKey) -> bool:
    return key.group == ""


def as_check(machine: MachineRecord, template: str) -> MachineCheckRecord:
    """Return one Machine's annotation as a check, whose UID contains the value, to distinguish two requests.
    `template` is the name of the template for its remediation.
    """
    rules = MachineRules(
        cluster="",
        selector=LabelSelector(),
        of_node=(),
        of_machine=(),
        startup=None,
        gate=None,
        reading=LimitSemantics.AT_LIMIT,
        template=template_for(machine, template),
    )
    return MachineCheckRecord(
        resource=_NO_KIND,
        namespace=machine.namespace,
        name=NAME,
        uid=f"{_ASKING}{machine.asked_externally or ''}",
        version="",
        generation=0,
        rules=rules,
        claimed=True,
        paused=False,
        status={},
    )


def answers_to(record: RemediationRecord) -> str | None:
    """Return the annotation's value that a remediation was created for; None if it has another cause."""
    asked_by = record.annotations.get(well_known.CHECK_UID, "")
    return asked_by.removeprefix(_ASKING) if asked_by.startswith(_ASKING) else None


def asking_of(machine: MachineRecord) -> RemediationAnnotation | None:
    """Return the annotation's request with the relevant facts of the Machine, or None."""
    if machine.asked_externally is None:
        return None
    mark, owner = machine.marked_by_other, machine.owner
    return RemediationAnnotation(
        value=machine.asked_externally,
        served_by=f"the Machine has the annotation {mark}" if mark else "",
        owner_asked=f"The {owner.kind} of the Machine" if owner and machine.marks.asks_owner else "",
    )
