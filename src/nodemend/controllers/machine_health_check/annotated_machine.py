"""Machines that no check of ours has, where an annotation may ask for their remediation.

The annotation is read as a check without conditions: so it stands under the same guard, looks a second time
as all do, and makes the same remediation. All such Machines are its targets, that a storm be a share of all.
"""

from typing import Final

from nodemend.api import keys
from nodemend.api.group_versions import (
    LEASE,
    METAL3_REMEDIATION_TEMPLATE,
    SELF_REMEDIATION_TEMPLATE,
    Resource,
)
from nodemend.api.label_selector import LabelSelector
from nodemend.api.lease import Lease
from nodemend.controllers.fresh_reads import Reader, project, seen
from nodemend.controllers.machine_health_check.fleet import MachineCheckKey
from nodemend.controllers.sightings import Sightings
from nodemend.decide.annotated_machine import Asking
from nodemend.decide.asking_doubts import doubt_alone
from nodemend.decide.holds import Hold
from nodemend.decide.limits import Reading
from nodemend.decide.machine_rules import MachineRules, TemplateNamed
from nodemend.decide.neighbour_lease import NeighbourLease
from nodemend.kube.machine_check_record import MachineCheckRecord
from nodemend.kube.machine_record import MachineRecord
from nodemend.kube.remediation_record import RemediationRecord

NAME: Final = "external-remediation"
"""What stands in the place of a check's name: the label of its remediations, and in metrics."""
_NO_KIND: Final = Resource("", "", "", "")
_ASKING: Final = f"{keys.EXTERNAL_REMEDIATION}="


KINDS: Final = (METAL3_REMEDIATION_TEMPLATE, SELF_REMEDIATION_TEMPLATE)
"""Of templates from which something may be made for such a Machine."""


def template_for(machine: MachineRecord, name: str) -> TemplateNamed:
    """A host can be switched off and on. Without one, a machine has to end itself."""
    power_cycle, self_fencing = KINDS
    kind = power_cycle if machine.hosted else self_fencing
    return TemplateNamed(kind.api_version, kind.kind, name)


def check_key_for(machine: MachineRecord) -> MachineCheckKey:
    return MachineCheckKey("", machine.namespace, NAME)


def is_annotation(key: MachineCheckKey) -> bool:
    return key.group == ""


def as_check(machine: MachineRecord, template: str) -> MachineCheckRecord:
    """The annotation of one machine. Its value is in the UID: so one asking is told from the next.

    `template` is the name of that from which its remediation would be made.
    """
    rules = MachineRules(
        cluster="",
        selector=LabelSelector(),
        of_node=(),
        of_machine=(),
        startup=None,
        gate=None,
        reading=Reading.STOPS_AT,
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
    """The value of the annotation that a remediation was made for; None where another asked for it."""
    asked_by = record.annotations.get(keys.CHECK_UID, "")
    return asked_by.removeprefix(_ASKING) if asked_by.startswith(_ASKING) else None


def asking_of(machine: MachineRecord) -> Asking | None:
    """What the annotation asks for, with all that the Machine itself says about it."""
    if machine.asked_externally is None:
        return None
    mark, owner = machine.marked_by_other, machine.owner
    return Asking(
        value=machine.asked_externally,
        served_by=f"the Machine has the annotation {mark}" if mark else "",
        owner_asked=f"The {owner.kind} of the Machine" if owner and machine.marks.asks_owner else "",
    )


class Actuator:
    """OpenShift's bare-metal actuator, which acts upon the same annotation. One leadership's view of it."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._sightings = Sightings()

    async def at_work_in(self, namespace: str) -> Hold | None:
        """By its leader's Lease, which it renews for as long as it lives."""
        name, monotonic = keys.LEASE_OF_THE_ACTUATOR, self._reader.runtime.monotonic
        asked_at = monotonic()
        found = seen(await self._reader.get(LEASE, name, Lease, namespace))
        answered_at = monotonic()

        def as_facts(lease: Lease) -> NeighbourLease:
            unchanged_for = self._sightings.unchanged_for(
                namespace, (lease.metadata.uid, lease.spec), asked_at=asked_at, answered_at=answered_at
            )
            spec = lease.spec
            return NeighbourLease(
                name, spec.holder_identity or "", spec.lease_duration_seconds, unchanged_for
            )

        return doubt_alone(project(found, as_facts), f"{namespace}/{name}")
