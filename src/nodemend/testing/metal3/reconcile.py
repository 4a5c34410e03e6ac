"""One pass over one host, from the object as it is to at most one save of its status."""

from nodemend.api.group_versions import BARE_METAL_HOST
from nodemend.api.timestamps import print_time
from nodemend.testing.metal3.conditions import judge, renewed
from nodemend.testing.metal3.credentials import Credentials, Missing, Unusable, obtain
from nodemend.testing.metal3.events import Events
from nodemend.testing.metal3.host import Host, Object
from nodemend.testing.metal3.lifecycle import HANDLERS, begin_deletion, detach
from nodemend.testing.metal3.look import Again, AtOnce, Look, Outcome, Settled, Tools
from nodemend.testing.metal3.names import FINALIZER, ErrorType, State
from nodemend.testing.metal3.registration import register


class Reconciler:
    """Reads every object anew in each pass."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._events = Events(tools.api, tools.runtime)

    async def reconcile(self, name: str, namespace: str) -> Outcome:
        """Raises TroubleError when the API server did not let the pass end."""
        document = await self._tools.api.find(BARE_METAL_HOST, name, namespace)
        if document is None:
            return Settled()
        host = Host(document)
        if host.paused or (host.deleting and not host.has_finalizer):
            return Settled()
        if not host.has_finalizer:
            change = {"metadata": {"finalizers": [*host.finalizers, FINALIZER]}}
            await self._tools.api.change(BARE_METAL_HOST, document, change)
            return AtOnce()
        look = Look(host, bmc_lost=_was_lost(host))
        credentials = await obtain(self._tools.api, host)
        if not isinstance(credentials, Credentials):
            return await self._refuse(look, credentials)
        if not await self._tools.provisioner.ready():
            return Again(self._tools.settings.provisioner_not_ready)
        outcome = await self._act(look, credentials)
        await self._publish(look)
        await self._save(look)
        return outcome

    async def _refuse(self, look: Look, credentials: Missing | Unusable) -> Outcome:
        """No credentials, no power management: what the status says about power stays, true or not."""
        look.fail(ErrorType.REGISTRATION, credentials.why)
        look.tell("BMCCredentialError", credentials.why)
        await self._publish(look)
        # Conditions are not renewed here, not even the generation that they were made for.
        await self._write(look)
        if isinstance(credentials, Missing):
            return Again(self._tools.settings.without_secret)
        return Settled()

    async def _act(self, look: Look, credentials: Credentials) -> Outcome:
        """The first of these that has something to do ends the pass."""
        host = look.host
        if host.state is State.NONE:
            _begin(look)
            return AtOnce()
        if begin_deletion(look):
            return AtOnce()
        outcome = await detach(look, self._tools)
        if outcome is None and host.state is not State.DELETING:
            outcome = await register(look, self._tools, credentials)
        return outcome or await HANDLERS[host.state](look, self._tools)

    async def _publish(self, look: Look) -> None:
        for reason, note in look.told:
            await self._events.publish(look.host, reason, note)

    async def _save(self, look: Look) -> None:
        """If there is something to save. New conditions are, and the old ones when the spec has changed."""
        host = look.host
        if host.state is State.DELETING and not look.dirty:
            return
        if not look.dirty and host.disables_power_off:
            return  # Recorded, and not explained: such a host's conditions stay behind its spec.
        said = judge(host, bmc_lost=look.bmc_lost)
        conditions = renewed(host, said, print_time(self._tools.runtime.wall()))
        if conditions != host.status.get("conditions"):
            host.status["conditions"] = conditions
            look.dirty = True
        if look.dirty:
            await self._write(look)

    async def _write(self, look: Look) -> None:
        status = look.host.status
        status["lastUpdated"] = print_time(self._tools.runtime.wall())
        gone = {name: None for name in look.host.document.get("status", {}) if name not in status}
        change: Object = {"status": {**status, **gone}}
        changed = await self._tools.api.change(
            BARE_METAL_HOST, look.host.document, change, subresource="status"
        )
        look.host.moved_on(changed)


def _begin(look: Look) -> None:
    """The first status of a host."""
    look.host.status |= {
        "errorCount": 0,
        "errorMessage": "",
        "hardwareProfile": "",
        "operationalStatus": "",
        "poweredOn": False,
    }
    look.enter(State.REGISTERING)


def _was_lost(host: Host) -> bool:
    """What the provisioner last said of the BMC, for looks that do not come to ask."""
    return any(one["reason"] == "PowerFailure" for one in host.status.get("conditions", ()))
