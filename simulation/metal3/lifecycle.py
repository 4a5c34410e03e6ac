"""Provisioning states of a host, from registering to deleting: the work in each state and its successor."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from nodemend.api.resources import BARE_METAL_HOST
from simulation.metal3.credentials import release
from simulation.metal3.host import FINALIZER, IN_USE, ON_ITS_WAY_OUT, Host, Operational, State
from simulation.metal3.power import manage_power, power_off_permanently
from simulation.metal3.provisioner import Progress, Working
from simulation.metal3.reconcile_pass import Again, ImmediateOutcome, Look, Outcome, Settled, Tools

Handler = Callable[[Look, Tools], Coroutine[Any, Any, Outcome]]

DETACHABLE: Final = IN_USE | {State.AVAILABLE}


def begin_deletion(host_pass: Look) -> bool:
    """Move a host that is being deleted to the next state. Returns False if there is nothing to do."""
    host = host_pass.host
    if not host.deleting or host.state in ON_ITS_WAY_OUT:
        return False
    if host.operational is Operational.DETACHED and host.asks_to_detach:
        if host.waits_detached_for_deletion:
            return False
        host_pass.set_state(State.DELETING)
    elif host.state in {State.PROVISIONED, State.PROVISIONING}:
        _deprovision(host_pass)
    elif host.state in {State.NONE, State.REGISTERING}:
        host_pass.set_state(State.DELETING)
    else:
        host_pass.set_state(State.POWERING_OFF_BEFORE_DELETE)
    return True


async def detach(host_pass: Look, tools: Tools) -> Outcome | None:
    """Detach the host or attach it again. Returns None if neither is needed."""
    host = host_pass.host
    is_detached = host.operational is Operational.DETACHED
    if host.asks_to_detach and host.state in DETACHABLE:
        if not is_detached:
            await tools.provisioner.detach(host.ref)
            host_pass.clear_error()
            host.operational = Operational.DETACHED
        host_pass.dirty = True
        return Again(tools.settings.detached)
    if is_detached:
        host.operational = Operational.OK
        host_pass.dirty = True
        return ImmediateOutcome()
    return None


async def _registered(host_pass: Look, _tools: Tools) -> Outcome:
    host_pass.tell("ProfileSet", "Hardware profile set: unknown")
    external = host_pass.host.spec.get("externallyProvisioned")
    return host_pass.complete(State.EXTERNALLY_PROVISIONED if external else State.INSPECTING)


async def _inspect(host_pass: Look, tools: Tools) -> Outcome:
    progress = await tools.provisioner.inspect(host_pass.host.ref)
    return _proceed(host_pass, tools, progress, State.PREPARING, "InspectionComplete")


async def _prepare(host_pass: Look, _tools: Tools) -> Outcome:
    return host_pass.complete(State.AVAILABLE)


async def _wait_for_image(host_pass: Look, tools: Tools) -> Outcome:
    if _wants_image(host_pass.host):
        return host_pass.complete(State.PROVISIONING)
    return await manage_power(host_pass, tools)


async def _provision(host_pass: Look, tools: Tools) -> Outcome:
    progress = await tools.provisioner.provision(host_pass.host.ref)
    return _proceed(host_pass, tools, progress, State.PROVISIONED, "ProvisioningComplete")


async def _keep(host_pass: Look, tools: Tools) -> Outcome:
    if host_pass.host.state is State.PROVISIONED and not _wants_image(host_pass.host):
        return _deprovision(host_pass)
    progress = await tools.provisioner.adopt(host_pass.host.ref)
    if isinstance(progress, Working):
        return tools.settings.after(progress.seconds)
    return await manage_power(host_pass, tools)


async def _clear(host_pass: Look, tools: Tools) -> Outcome:
    progress = await tools.provisioner.deprovision(host_pass.host.ref)
    after = State.POWERING_OFF_BEFORE_DELETE if host_pass.host.deleting else State.AVAILABLE
    return _proceed(host_pass, tools, progress, after, "DeprovisionComplete")


async def _switch_off(host_pass: Look, tools: Tools) -> Outcome:
    return await power_off_permanently(host_pass, tools) or host_pass.complete(State.DELETING)


async def _delete(host_pass: Look, tools: Tools) -> Outcome:
    """Remove the host. The power of the machine stays as it is: off, unless the host was detached."""
    host = host_pass.host
    await tools.provisioner.delete(host.ref)
    await release(tools.api, host)
    kept = [one for one in host.finalizers if one != FINALIZER]
    await tools.api.change(BARE_METAL_HOST, host.document, {"metadata": {"finalizers": kept}})
    return Settled()


HANDLERS: Final[dict[State, Handler]] = {
    State.REGISTERING: _registered,
    State.INSPECTING: _inspect,
    State.PREPARING: _prepare,
    State.AVAILABLE: _wait_for_image,
    State.PROVISIONING: _provision,
    State.PROVISIONED: _keep,
    State.EXTERNALLY_PROVISIONED: _keep,
    State.DEPROVISIONING: _clear,
    State.POWERING_OFF_BEFORE_DELETE: _switch_off,
    State.DELETING: _delete,
}


def _wants_image(host: Host) -> bool:
    return bool(host.spec.get("image")) and not host.deleting


def _deprovision(host_pass: Look) -> Outcome:
    host_pass.tell("DeprovisionStarted", "Image deprovisioning started")
    host_pass.set_state(State.DEPROVISIONING)
    return ImmediateOutcome()


def _proceed(host_pass: Look, tools: Tools, progress: Progress, after: State, reason: str) -> Outcome:
    if isinstance(progress, Working):
        return tools.settings.after(progress.seconds)
    host_pass.tell(reason, f"The host is {after}")
    return host_pass.complete(after)
