"""One pass over one host, from the current object to at most one write of its status with its conditions."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from nodemend.api.meta import print_time
from nodemend.api.resources import BARE_METAL_HOST
from simulation.metal3.credentials import Credentials, Missing, Unusable, obtain, register
from simulation.metal3.host import FINALIZER, IN_USE, ErrorType, Host, Object, Operational, State
from simulation.metal3.host_api import Events
from simulation.metal3.lifecycle import HANDLERS, begin_deletion, detach
from simulation.metal3.reconcile_pass import Again, ImmediateOutcome, Look, Outcome, Settled, Tools


class Reconciler:
    """Reads every object again in each pass."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._events = Events(tools.api, tools.runtime)

    async def reconcile(self, name: str, namespace: str) -> Outcome:
        """Reconcile one host. Raises TroubleError if an API call failed."""
        document = await self._tools.api.find(BARE_METAL_HOST, name, namespace)
        if document is None:
            return Settled()
        host = Host(document)
        if host.paused or (host.deleting and not host.has_finalizer):
            return Settled()
        if not host.has_finalizer:
            change = {"metadata": {"finalizers": [*host.finalizers, FINALIZER]}}
            await self._tools.api.change(BARE_METAL_HOST, document, change)
            return ImmediateOutcome()
        host_pass = Look(host, bmc_lost=_was_lost(host))
        credentials = await obtain(self._tools.api, host)
        if not isinstance(credentials, Credentials):
            return await self._refuse(host_pass, credentials)
        if not await self._tools.provisioner.ready():
            return Again(self._tools.settings.provisioner_not_ready)
        outcome = await self._act(host_pass, credentials)
        await self._publish(host_pass)
        await self._save(host_pass)
        return outcome

    async def _refuse(self, host_pass: Look, credentials: Missing | Unusable) -> Outcome:
        """Report missing or unusable credentials. Power is not managed, so its status may become wrong."""
        host_pass.fail(ErrorType.REGISTRATION, credentials.why)
        host_pass.tell("BMCCredentialError", credentials.why)
        await self._publish(host_pass)
        # Conditions are not updated here, and neither is their observedGeneration.
        await self._write(host_pass)
        if isinstance(credentials, Missing):
            return Again(self._tools.settings.without_secret)
        return Settled()

    async def _act(self, host_pass: Look, credentials: Credentials) -> Outcome:
        """Run the first step that has something to do."""
        host = host_pass.host
        if host.state is State.NONE:
            _begin(host_pass)
            return ImmediateOutcome()
        if begin_deletion(host_pass):
            return ImmediateOutcome()
        outcome = await detach(host_pass, self._tools)
        if outcome is None and host.state is not State.DELETING:
            outcome = await register(host_pass, self._tools, credentials)
        return outcome or await HANDLERS[host.state](host_pass, self._tools)

    async def _publish(self, host_pass: Look) -> None:
        for reason, note in host_pass.events:
            await self._events.publish(host_pass.host, reason, note)

    async def _save(self, host_pass: Look) -> None:
        """Save the status if it changed. A changed observedGeneration of conditions is enough."""
        host = host_pass.host
        if host.state is State.DELETING and not host_pass.dirty:
            return
        if not host_pass.dirty and host.disables_power_off:
            return  # As recorded; the reason is unknown. The conditions of such a host lag behind its spec.
        said = conditions_of(host, bmc_lost=host_pass.bmc_lost)
        conditions = renewed(host, said, print_time(self._tools.runtime.wall()))
        if conditions != host.status.get("conditions"):
            host.status["conditions"] = conditions
            host_pass.dirty = True
        if host_pass.dirty:
            await self._write(host_pass)

    async def _write(self, host_pass: Look) -> None:
        status = host_pass.host.status
        status["lastUpdated"] = print_time(self._tools.runtime.wall())
        gone = {name: None for name in host_pass.host.document.get("status", {}) if name not in status}
        change: Object = {"status": {**status, **gone}}
        changed = await self._tools.api.change(
            BARE_METAL_HOST, host_pass.host.document, change, subresource="status"
        )
        host_pass.host.moved_on(changed)


def _begin(host_pass: Look) -> None:
    """Set the initial status of a host."""
    host_pass.host.status |= {
        "errorCount": 0,
        "errorMessage": "",
        "hardwareProfile": "",
        "operationalStatus": "",
        "poweredOn": False,
    }
    host_pass.set_state(State.REGISTERING)


def _was_lost(host: Host) -> bool:
    """Return the last known loss of the BMC, for passes that do not query the provisioner."""
    return any(one["reason"] == "PowerFailure" for one in host.status.get("conditions", ()))


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
