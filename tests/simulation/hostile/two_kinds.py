"""A user creates a second remediation of a node, of another kind or in another namespace."""

from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import MANUAL_REMEDIATION, NODE, SELF_REMEDIATION, Resource
from simulation.cluster.direct import Object
from simulation.cluster.machines import Machine
from simulation.cluster.people import Admin
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind

ELSEWHERE: Final = "default"
NO_BOOT: Final = "reports no boot ID"
SECOND: Final = ((MANUAL_REMEDIATION, ELSEWHERE), (SELF_REMEDIATION, well_known.SYSTEM_NAMESPACE))


def plan(around: Around) -> None:
    around.at_some_times(4, lambda: _ask(around))


def _ask(around: Around) -> None:
    """Create it, preferably for a node under remediation; it may also be a healthy node."""
    api, name = around.api, around.pick()
    kind, namespace = around.chance.choice(SECOND)
    if api.get(kind, name, namespace) is not None or api.get(NODE, name) is None:
        return
    token = around.token(Kind.TWO_KINDS)
    metadata = {"name": name, "annotations": {"example.com/why": token}}
    spec = {"instructions": "go"} if kind is MANUAL_REMEDIATION else {}
    around.note(f"somebody asks for a {kind.kind} of {name} in {namespace}")
    api.create(kind, {"metadata": metadata, "spec": spec}, namespace)
    around.counts.make(Kind.TWO_KINDS, token)
    around.later(lambda: _take_back(around, kind, name, namespace), (60.0, 200.0, 500.0))


def _take_back(around: Around, kind: Resource, name: str, namespace: str) -> None:
    around.api.delete(kind, name, namespace)


class CarefulAdmin(Admin):
    """Powers no machine on that another unused confirmation needs off.

    With two remediations of one node, the first may end while the second relies on the machine being off.
    SAFETY.md requires that the machine then stays off.
    """

    def _attend(self, remediation: Object, machine: Machine) -> None:
        """Repair a machine whose new Node has no boot ID to confirm, as the remediation advises."""
        if NO_BOOT in (remediation.get("status") or {}).get("message", ""):
            self._switch_on(machine, "it is repaired by hand")
        super()._attend(remediation, machine)

    def _switch_on(self, machine: Machine, why: str) -> None:
        if all(map(_is_over, self._of(machine.name))):
            super()._switch_on(machine, why)

    def _of(self, name: str) -> list[dict[str, Any]]:
        return [one for one in self._api.list(MANUAL_REMEDIATION) if one["metadata"]["name"] == name]


def _is_over(remediation: Object) -> bool:
    status = remediation.get("status") or {}
    waits = "confirmation" in remediation["spec"] or "evidence" in status
    return not waits or (bool(status.get("released")) and not status.get("tainted"))
