"""A workload cluster whose nodes have the names of ours: no Node of ours is meant by its Machines."""

from typing import Any, Final

from nodemend.api import keys
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION, SECRET
from nodemend.testing.metal3.bmc import SimulatedBmc
from nodemend.testing.metal3.introductions import MACHINE, METAL3_MACHINE, owned_by
from nodemend.testing.metal3.rack import NAMESPACE, Rack, address, secret_for
from nodemend.testing.processes import HostClock, SimulatedProcess
from tests.simulation.checks import world as checks
from tests.simulation.hostile.kinds import Kind
from tests.simulation.hostile.surroundings import Around

FAR: Final = "far-1"
"""Its Machine, its host and the remediation that is asked for it."""
KINDS: Final = (MACHINE, METAL3_MACHINE)


class FarMachine:
    """A machine of another cluster: switched like ours, and nothing of it is seen here."""

    powered = True

    def power_off(self) -> None:
        self.powered = False

    def power_on(self) -> None:
        self.powered = True


class FarCluster:
    """Its host is in our rack, as in a management cluster."""

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
        told = {"clusterName": "far", "infrastructureRef": named, **self._provider()}
        machine = api.create(MACHINE, {"metadata": {"name": FAR}, "spec": told}, NAMESPACE)
        metadata = {
            "name": FAR,
            "annotations": {keys.HOST_OF_MACHINE: f"{NAMESPACE}/{FAR}"},
            "ownerReferences": [owned_by(MACHINE, machine)],
        }
        api.create(METAL3_MACHINE, {"metadata": metadata, "spec": self._provider()}, NAMESPACE)
        self._name(name)

    def _provider(self) -> dict[str, Any]:
        """Silence is no agreement either: half of them have none."""
        said = f"metal3://{NAMESPACE}/{FAR}/{FAR}"
        return {"providerID": said} if self._around.chance.random() < 0.5 else {}

    def _name(self, node: str) -> None:
        status = {"nodeRef": {"name": node}}
        self._around.api.patch(MACHINE, FAR, {"status": status}, at=(NAMESPACE, "status"))

    def _ask(self) -> None:
        """For the far Machine, when it names a node that is sick here, or any."""
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
        around.tally.make(Kind.CLUSTERS, token)
        around.later(lambda: api.delete(METAL3_REMEDIATION, FAR, NAMESPACE), (100.0, 300.0))


def plan_far_machines(around: Around) -> None:
    """Under a check of their own, with names of our nodes. Nobody can say how their nodes are."""
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
    around.tally.make(Kind.CLUSTERS, token)
