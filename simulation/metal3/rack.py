"""Machines of a simulated cluster as metal3 hosts: a BMC for each, an Ironic, and the operator."""

from collections.abc import Coroutine, Mapping
from typing import Any, Final

from nodemend.api.resources import BARE_METAL_HOST, SECRET
from nodemend.kube.ports import Runtime, Transport
from simulation.cluster.direct import Direct
from simulation.cluster.replicas import Replica
from simulation.metal3.bmc import SimulatedBmc, Switched
from simulation.metal3.ironic import Ironic, IronicClient
from simulation.metal3.operator import HostOperator
from simulation.network import GOOD_LINK, Endpoint, LinkQuality
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler

NAMESPACE: Final = "default"
_ADMIN: Final = "YWRtaW4="


class Rack:
    """The metal3 installation of one simulated cluster. Hosts have the names of their machines.

    `endpoint` is the operator's account. The cluster must serve BareMetalHosts. Callers inject faults with
    `bmcs[name].faults`, `ironic.stop()` and `operator.process.crash()`.
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
        """Create a host for each machine; the operator discovers the rest.

        Hosts are provisioned externally, or by metal3 if `deployed`. `crossed` maps a host to the machine
        whose BMC it has.
        """
        for name in self.bmcs:
            api.create(SECRET, secret_for(name), NAMESPACE)
            behind = (crossed or {}).get(name, name)
            bmc = {"address": address(behind), "credentialsName": f"{name}-bmc"}
            source = {"image": {"url": "an image"}} if deployed else {"externallyProvisioned": True}
            spec = {"online": True, "bmc": bmc, **source}
            api.create(BARE_METAL_HOST, {"metadata": {"name": name}, "spec": spec}, NAMESPACE)

    def close(self) -> None:
        """End the operator and Ironic."""
        self.operator.process.crash()
        self.ironic.stop()

    def _program(self, runtime: Runtime, transport: Transport, _name: str) -> Coroutine[Any, Any, None]:
        return HostOperator(runtime, transport, IronicClient(self.ironic, runtime)).run()


def secret_for(host: str) -> dict[str, Any]:
    """Return the Secret with the credentials of the host's BMC."""
    return {"metadata": {"name": f"{host}-bmc"}, "data": {"username": _ADMIN, "password": _ADMIN}}


def address(machine: str) -> str:
    """Return the address of the machine's BMC."""
    return f"redfish://{machine}.bmc/redfish/v1/Systems/1"
