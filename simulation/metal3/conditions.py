"""status.conditions, derived from the rest of a host's status."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from simulation.metal3.host import Host
from simulation.metal3.names import IN_USE, Operational, State

Condition = dict[str, Any]


class Says(NamedTuple):
    status: str
    reason: str


_PROGRESS: Final = {
    State.NONE: "Registering",
    State.REGISTERING: "Registering",
    State.INSPECTING: "Inspecting",
    State.PREPARING: "Preparing",
    State.PROVISIONING: "Provisioning",
    State.DEPROVISIONING: "Deprovisioning",
    State.POWERING_OFF_BEFORE_DELETE: "PoweringOffBeforeDelete",
    State.DELETING: "Deleting",
}
"""Hosts stay in the other states without progress."""

_NOT_READY: Final = {
    Operational.DETACHED: "Detached",
    Operational.ERROR: "Error",
    Operational.SERVICING: "Servicing",
}


def conditions_of(host: Host, *, bmc_lost: bool) -> dict[str, Says]:
    """Return status and reason by type. `bmc_lost` is the last report of the provisioner."""
    in_use = host.state in IN_USE
    return {
        "AvailableForProvisioning": _yes_or_no(
            "Available", "NotAvailable", yes=host.state is State.AVAILABLE
        ),
        "Healthy": Says("Unknown", "Unknown"),
        "Manageable": _manageable(host, bmc_lost=bmc_lost),
        "Progressing": _progressing(host),
        "Provisioned": _yes_or_no("Provisioned", "NotProvisioned", yes=in_use),
        "Ready": _ready(host, in_use=in_use),
    }


def _manageable(host: Host, *, bmc_lost: bool) -> Says:
    if host.state in {State.NONE, State.REGISTERING}:
        return Says("False", "Registering")
    return _yes_or_no("Manageable", "PowerFailure", yes=not bmc_lost)


def _progressing(host: Host) -> Says:
    if host.operational is Operational.DETACHED:
        return Says("False", "Detached")
    reason = _PROGRESS.get(host.state)
    return Says("False", "NotProgressing") if reason is None else Says("True", reason)


def _ready(host: Host, *, in_use: bool) -> Says:
    if reason := _NOT_READY.get(host.operational):
        return Says("False", reason)
    return _yes_or_no("Provisioned", "NotProvisioned", yes=in_use)


def _yes_or_no(for_yes: str, for_no: str, *, yes: bool) -> Says:
    return Says("True", for_yes) if yes else Says("False", for_no)


def renewed(host: Host, said: Mapping[str, Says], now: str) -> list[Condition]:
    """Return the conditions to save. A condition with unchanged status keeps its transition time."""
    before = {one["type"]: one for one in host.status.get("conditions", ())}
    return [_renewed(host, kind, says, before.get(kind), now) for kind, says in said.items()]


def _renewed(host: Host, kind: str, says: Says, before: Condition | None, now: str) -> Condition:
    same = before is not None and before["status"] == says.status
    return {
        "type": kind,
        "status": says.status,
        "reason": says.reason,
        "message": "",
        "observedGeneration": host.metadata["generation"],
        "lastTransitionTime": before["lastTransitionTime"] if before is not None and same else now,
    }
