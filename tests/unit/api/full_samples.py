"""One full sample of each of Nodemend's kinds."""

from typing import Any, Final

from nodemend.api.crds import CUSTOM_RESOURCES, FLAT_MACHINE_HEALTH_CHECK, definition_of
from tests.unit.api.sample_objects import at, sample

ALL: Final = (*CUSTOM_RESOURCES, FLAT_MACHINE_HEALTH_CHECK)
BY_KIND: Final = {custom.resource.kind: custom for custom in ALL}
NEVER: Final = {
    "ManualRemediationTemplate": "spec.template.spec.confirmation",
    "MachineHealthCheck": "spec.externalRemediationTemplate",
}
"""A path that the schema has because of a shared type, and that a rule forbids in this kind."""
ONLY: Final = {"SelfRemediation": ("status.evidence.class", "E2")}
"""A path for which a rule requires another value than the example that its type has for all kinds."""


def full_sample(kind: str) -> dict[str, Any]:
    """Spec and status with every field set."""
    properties = schema_of(kind)["properties"]
    wanted = {part: sample(properties[part], part) for part in ("spec", "status") if part in properties}
    if path := NEVER.get(kind):
        above, _, last = path.rpartition(".")
        del at(wanted, above)[last]
    if rule := ONLY.get(kind):
        above, _, last = rule[0].rpartition(".")
        at(wanted, above)[last] = rule[1]
    return wanted


def schema_of(kind: str) -> dict[str, Any]:
    schema: dict[str, Any] = definition_of(BY_KIND[kind])["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema
