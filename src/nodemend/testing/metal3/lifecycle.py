"""From registering to deleting: what is done with a host in each state, and what comes after it."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from nodemend.api.group_versions import BARE_METAL_HOST
from nodemend.testing.metal3.credentials import release
from nodemend.testing.metal3.host import Host
from nodemend.testing.metal3.look import Again, AtOnce, Look, Outcome, Settled, Tools
from nodemend.testing.metal3.names import (
    FINALIZER,
    IN_USE,
    ON_ITS_WAY_OUT,
    Operational,
    State,
)
from nodemend.testing.metal3.power import manage_power, power_off_for_good
from nodemend.testing.metal3.provisioner import Progress, Working

Handler = Callable[[Look, Tools], Coroutine[Any, Any, Outcome]]

DETACHABLE: Final = IN_USE | {State.AVAILABLE}


def begin_deletion(look: Look) -> bool:
    """Turn a host that is to go towards the end. False when there is nothing to turn."""
    host = look.host
    if not host.deleting or host.state in ON_ITS_WAY_OUT:
        return False
    if host.operational is Operational.DETACHED and host.asks_to_detach:
        if host.waits_detached_for_deletion:
            return False
        look.enter(State.DELETING)
    elif host.state in {State.PROVISIONED, State.PROVISIONING}:
        _deprovision(look)
    elif host.state in {State.NONE, State.REGISTERING}:
        look.enter(State.DELETING)
    else:
        look.enter(State.POWERING_OFF_BEFORE_DELETE)
    return True


async def detach(look: Look, tools: Tools) -> Outcome | None:
    """Take our hands off, or put them on again. None when there is nothing of either to do."""
    host = look.host
    is_detached = host.operational is Operational.DETACHED
    if host.asks_to_detach and host.state in DETACHABLE:
        if not is_detached:
            await tools.provisioner.detach(host.ref)
            look.clear_error()
            host.operational = Operational.DETACHED
        look.dirty = True
        return Again(tools.settings.detached)
    if is_detached:
        host.operational = Operational.OK
        look.dirty = True
        return AtOnce()
    return None


async def _registered(look: Look, _tools: Tools) -> Outcome:
    look.tell("ProfileSet", "Hardware profile set: unknown")
    external = look.host.spec.get("externallyProvisioned")
    return look.complete(State.EXTERNALLY_PROVISIONED if external else State.INSPECTING)


async def _inspect(look: Look, tools: Tools) -> Outcome:
    progress = await tools.provisioner.inspect(look.host.ref)
    return _proceed(look, tools, progress, State.PREPARING, "InspectionComplete")


async def _prepare(look: Look, _tools: Tools) -> Outcome:
    return look.complete(State.AVAILABLE)


async def _wait_for_image(look: Look, tools: Tools) -> Outcome:
    if _wants_image(look.host):
        return look.complete(State.PROVISIONING)
    return await manage_power(look, tools)


async def _provision(look: Look, tools: Tools) -> Outcome:
    progress = await tools.provisioner.provision(look.host.ref)
    return _proceed(look, tools, progress, State.PROVISIONED, "ProvisioningComplete")


async def _keep(look: Look, tools: Tools) -> Outcome:
    if look.host.state is State.PROVISIONED and not _wants_image(look.host):
        return _deprovision(look)
    progress = await tools.provisioner.adopt(look.host.ref)
    if isinstance(progress, Working):
        return tools.settings.after(progress.seconds)
    return await manage_power(look, tools)


async def _clear(look: Look, tools: Tools) -> Outcome:
    progress = await tools.provisioner.deprovision(look.host.ref)
    after = State.POWERING_OFF_BEFORE_DELETE if look.host.deleting else State.AVAILABLE
    return _proceed(look, tools, progress, after, "DeprovisionComplete")


async def _switch_off(look: Look, tools: Tools) -> Outcome:
    return await power_off_for_good(look, tools) or look.complete(State.DELETING)


async def _delete(look: Look, tools: Tools) -> Outcome:
    """The machine is left as it is: off, unless the host was detached."""
    host = look.host
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


def _deprovision(look: Look) -> Outcome:
    look.tell("DeprovisionStarted", "Image deprovisioning started")
    look.enter(State.DEPROVISIONING)
    return AtOnce()


def _proceed(look: Look, tools: Tools, progress: Progress, after: State, reason: str) -> Outcome:
    if isinstance(progress, Working):
        return tools.settings.after(progress.seconds)
    look.tell(reason, f"The host is {after}")
    return look.complete(after)
