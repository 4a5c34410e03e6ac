"""Machines of a simulated cluster as metal3's hosts: a BMC for each, an Ironic, and the operator."""

from collections.abc import Coroutine, Mapping
from typing import Any, Final

from nodemend.api.group_versions import BARE_METAL_HOST, SECRET
from nodemend.kube.ports import Runtime, Transport
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.replicas import Replica
from nodemend.testing.metal3.bmc import SimulatedBmc, Switched
from nodemend.testing.metal3.ironic import Ironic, IronicClient
from nodemend.testing.metal3.operator import HostOperator
from nodemend.testing.network import GOOD_LINK, Endpoint, LinkQuality
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler

NAMESPACE: Final = "default"
_ADMIN: Final = "YWRtaW4="


class Rack:
    """The hosts have the names of their machines, and are provisioned externally.

    `endpoint` is the operator's account. The cluster must serve BareMetalHosts. What happens to a BMC, to
    Ironic or to the operator is for whoever has the rack: `bmcs[name].faults`, `ironic.stop()`,
    `operator.process.crash()`.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        machines: Mapping[str, Switched],
        endpoint: Endpoint,
        quality: LinkQuality = GOOD_LINK,
    ) -> None:
        self.bmcs = {
            name: SimulatedBmc(SimulatedProcess(scheduler, f"bmc of {name}", HostClock()), machine)
            for name, machine in machines.items()
        }
        self.ironic = Ironic({address(name): bmc for name, bmc in self.bmcs.items()})
        self.ironic.start(SimulatedProcess(scheduler, "ironic", HostClock()))
        self.operator = Replica(scheduler, "baremetal-operator", self._program, endpoint, quality)
        self.operator.watch_over()

    def enrol(self, api: Direct, *, deployed: bool = False, crossed: Mapping[str, str] | None = None) -> None:
        """Create a host for each machine, and let the operator find out the rest.

        What runs on them came from elsewhere, or from metal3 itself where they are `deployed`. A host that is
        `crossed` with another machine has that one's BMC.
        """
        for name in self.bmcs:
            api.create(SECRET, secret_for(name), NAMESPACE)
            behind = (crossed or {}).get(name, name)
            bmc = {"address": address(behind), "credentialsName": f"{name}-bmc"}
            source = {"image": {"url": "an image"}} if deployed else {"externallyProvisioned": True}
            spec = {"online": True, "bmc": bmc, **source}
            api.create(BARE_METAL_HOST, {"metadata": {"name": name}, "spec": spec}, NAMESPACE)

    def close(self) -> None:
        """End all of it."""
        self.operator.process.crash()
        self.ironic.stop()

    def _program(self, runtime: Runtime, transport: Transport, _name: str) -> Coroutine[Any, Any, None]:
        return HostOperator(runtime, transport, IronicClient(self.ironic, runtime)).run()


def secret_for(host: str) -> dict[str, Any]:
    """With which its BMC lets one in."""
    return {"metadata": {"name": f"{host}-bmc"}, "data": {"username": _ADMIN, "password": _ADMIN}}


def address(machine: str) -> str:
    """Of its BMC."""
    return f"redfish://{machine}.bmc/redfish/v1/Systems/1"
