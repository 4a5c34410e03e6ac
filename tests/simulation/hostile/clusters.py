"""A workload cluster whose nodes have the names of local ones. Its Machines refer to no local Node."""

from typing import Any, Final

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, METAL3_REMEDIATION, SECRET
from simulation.metal3.bmc import SimulatedBmc
from simulation.metal3.rack import MACHINE, METAL3_MACHINE, NAMESPACE, Rack, address, owned_by, secret_for
from simulation.processes import HostClock, SimulatedProcess
from tests.simulation.checks import world as checks
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind

FAR: Final = "far-1"
"""Name of its Machine, of its host, and of the remediation that is requested for it."""
KINDS: Final = (MACHINE, METAL3_MACHINE)


class FarMachine:
    """A machine of another cluster: powered like a local one, but no local Node belongs to it."""

    powered = True

    def power_off(self) -> None:
        self.powered = False

    def power_on(self) -> None:
        self.powered = True


class FarCluster:
    """A workload cluster whose host is in the local rack, as in a management cluster."""

    def __init__(self, around: Around, rack: Rack) -> None:
        self._around = around
        self._rack = rack
        self.machine = FarMachine()

    def plan(self) -> None:
        self._enrol()
        self._around.at_some_times(4, self._ask)

    def _enrol(self) -> None:
        api, name = self._around.api, self._around.chance.choice(self._around.nodes)
        process = SimulatedProcess(self._around.scheduler, "bmc of another cluster", HostClock())
        self._rack.bmcs[FAR] = SimulatedBmc(process, self.machine)
        self._rack.ironic._bmcs[address(FAR)] = self._rack.bmcs[FAR]  # type: ignore[index]
        api.create(SECRET, secret_for(FAR), NAMESPACE)
        consumer = {"kind": METAL3_MACHINE.kind, "name": FAR, "namespace": NAMESPACE}
        bmc = {"address": address(FAR), "credentialsName": f"{FAR}-bmc"}
        spec = {"online": True, "bmc": bmc, "externallyProvisioned": True, "consumerRef": consumer}
        api.create(BARE_METAL_HOST, {"metadata": {"name": FAR}, "spec": spec}, NAMESPACE)
        named = {"kind": METAL3_MACHINE.kind, "name": FAR, "apiVersion": METAL3_MACHINE.api_version}
        reported = {"clusterName": "far", "infrastructureRef": named, **self._provider()}
        machine = api.create(MACHINE, {"metadata": {"name": FAR}, "spec": reported}, NAMESPACE)
        metadata = {
            "name": FAR,
            "annotations": {well_known.HOST_OF_MACHINE: f"{NAMESPACE}/{FAR}"},
            "ownerReferences": [owned_by(MACHINE, machine)],
        }
        api.create(METAL3_MACHINE, {"metadata": metadata, "spec": self._provider()}, NAMESPACE)
        self._name(name)

    def _provider(self) -> dict[str, Any]:
        """Return a provider ID, in half of the calls. A missing one must not count as a match either."""
        said = f"metal3://{NAMESPACE}/{FAR}/{FAR}"
        return {"providerID": said} if self._around.chance.random() < 0.5 else {}

    def _name(self, node: str) -> None:
        status = {"nodeRef": {"name": node}}
        self._around.api.patch(MACHINE, FAR, {"status": status}, at=(NAMESPACE, "status"))

    def _ask(self) -> None:
        """Request a remediation of the far Machine, whose Node has a local name, often one in remediation."""
        around, api = self._around, self._around.api
        if api.get(METAL3_REMEDIATION, FAR, NAMESPACE) is not None:
            return
        node, token = around.pick(), around.token(Kind.CLUSTERS)
        self._name(node)
        machine = api.get(MACHINE, FAR, NAMESPACE)
        assert machine is not None
        around.note(f"a remediation is asked for {FAR}, whose node is called {node} as well")
        metadata = {
            "name": FAR,
            "annotations": {"example.com/why": token},
            "ownerReferences": [owned_by(MACHINE, machine)],
        }
        spec = {"strategy": "retry", "powerOffTimeoutSeconds": 300, "powerOnTimeoutSeconds": 120}
        api.create(METAL3_REMEDIATION, {"metadata": metadata, "spec": spec}, NAMESPACE)
        around.counts.make(Kind.CLUSTERS, token)
        around.later(lambda: api.delete(METAL3_REMEDIATION, FAR, NAMESPACE), (100.0, 300.0))


def plan_far_machines(around: Around) -> None:
    """Create far Machines with names of local nodes, and their own check. Their nodes' health is unknown."""
    api, chance = around.api, around.chance
    token = around.token(Kind.CLUSTERS)
    api.create(checks.CLUSTER, {"metadata": {"name": "far"}, "spec": {}}, checks.SPACE)
    ready = {"infrastructureProvisioned": True, "controlPlaneInitialized": True}
    api.patch(checks.CLUSTER, "far", {"status": {"initialization": ready}}, at=(checks.SPACE, "status"))
    for number in range(chance.randint(1, 3)):
        name, node = f"far-{number}", chance.choice(around.nodes)
        metadata = {"name": name, "labels": {"pool": "far", "token": token}}
        spec = {"clusterName": "far", "providerID": f"metal://{name}"}
        api.create(checks.MACHINE, {"metadata": metadata, "spec": spec}, checks.SPACE)
        status = {"nodeRef": {"name": node}, "initialization": {"infrastructureProvisioned": True}}
        api.patch(checks.MACHINE, name, {"status": status}, at=(checks.SPACE, "status"))
    check = api.get(checks.CHECK, "fixed", checks.SPACE) or {}
    selector = {"clusterName": "far", "selector": {"matchLabels": {"pool": "far"}}}
    named = {"name": "far", "labels": check["metadata"]["labels"]}
    api.create(checks.CHECK, {"metadata": named, "spec": {**check["spec"], **selector}}, checks.SPACE)
    around.counts.make(Kind.CLUSTERS, token)
