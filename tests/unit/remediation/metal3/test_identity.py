"""No host is powered off unless host, Machine and Node state that they are one machine."""

from collections.abc import Iterator
from typing import Any

import pytest

from nodemend.api import well_known
from nodemend.api.resources import BARE_METAL_HOST, CAPM3_REMEDIATION, METAL3_REMEDIATION, NODE
from simulation.cluster.direct import Object
from simulation.cluster.machines import system_uuid
from simulation.metal3.rack import NAMESPACE
from tests.unit.remediation.metal3.power_world import MACHINE, METAL3_MACHINE, QUICK, PowerWorld, owned_by


class TwoClusters(PowerWorld):
    """A management cluster. m-1 belongs to a workload cluster; the management cluster's nodes have no
    Machines.
    """

    def _introduce(self, node: str, name: str, workers: Object) -> Object:
        return super()._introduce(node, name, workers) if node == "node-1" else {}

    def _join(self, node: str, provider: str, said: dict[str, str]) -> None:
        """Its kubelet joined the other cluster."""

    def name(self, node: str, **status: Any) -> None:
        """Set the name of the Machine's Node in its own cluster."""
        status = {"nodeRef": {"name": node}, "nodeInfo": None, **status}
        self.api.patch(MACHINE, "m-1", {"status": status}, at=(NAMESPACE, "status"))


@pytest.fixture
def two() -> Iterator[TwoClusters]:
    world = TwoClusters("two", capm3_kinds=True)
    yield world
    world.close()


@pytest.fixture
def one() -> Iterator[PowerWorld]:
    world = PowerWorld("one")
    yield world
    world.close()


def reason(found: Object | None) -> str:
    """The reason why it waits."""
    said = (found or {}).get("status", {}).get("conditions", ())
    return next((one["reason"] for one in said if one["type"] == "Processing"), "")


def nothing_is_switched(world: PowerWorld, seconds: float = 240.0) -> None:
    """Check that for this time no host is off, and that no Node of this cluster is out of service."""
    until = world.world.scheduler.now + seconds
    while world.world.scheduler.now < until:
        world.run(2.0)
        for host in world.api.list(BARE_METAL_HOST):
            annotations = host["metadata"].get("annotations", {})
            assert not [key for key in annotations if key.startswith(well_known.POWER_OFF_REQUEST_PREFIX)]
        for node in world.api.list(NODE):
            assert well_known.OUT_OF_SERVICE not in [one["key"] for one in node["spec"].get("taints", ())]
        assert all(machine.powered for machine in world.world.machines.values())


@pytest.mark.slow
@pytest.mark.attack("S2", "G1")
@pytest.mark.parametrize("provider", ["", "k3s://node-2"])
def test_an_own_node_with_the_name_of_a_workload_cluster_s_node(two: TwoClusters, provider: str) -> None:
    if provider:
        two.api.patch(NODE, "node-2", {"spec": {"providerID": provider}})
    two.name("node-2")
    two.world.machines["node-2"].connected = False
    two.ask("node-1")

    nothing_is_switched(two)

    assert reason(two.remediation) == ("WrongHost" if provider else "HostIdentityUnproven")


@pytest.mark.slow
@pytest.mark.attack("S2", "G1")
def test_an_own_node_created_elsewhere_with_all_the_same_names(two: TwoClusters) -> None:
    """Another management cluster made it, with the same names. Only the system UUID differs."""
    said = {well_known.MACHINE_OF_NODE: "m-1", well_known.NAMESPACE_OF_CLUSTER: NAMESPACE}
    change = {"metadata": {"annotations": said}, "spec": {"providerID": f"metal3://{NAMESPACE}/node-1/m-1"}}
    two.api.patch(NODE, "node-2", change)
    two.name("node-2", nodeInfo={"systemUUID": system_uuid("a stranger")})
    two.world.machines["node-2"].connected = False
    two.ask("node-1")

    nothing_is_switched(two)

    assert reason(two.remediation) == "WrongHost"


@pytest.mark.slow
@pytest.mark.attack("G2")
@pytest.mark.parametrize("node", ["node-9", ""])
def test_a_node_that_is_in_a_workload_cluster(two: TwoClusters, node: str) -> None:
    two.name(node)
    two.ask("node-1")

    nothing_is_switched(two)

    assert reason(two.remediation) == "NodeNotInCluster"


@pytest.mark.attack("G2")
def test_capm3s_remediations_of_such_nodes_wait_too(two: TwoClusters) -> None:
    two.name("node-9")
    machine = two.api.get(MACHINE, "m-1", NAMESPACE) or {}
    metadata = {"name": "m-1", "ownerReferences": [owned_by(MACHINE, machine)]}
    spec = {"strategy": {"type": "Reboot", "retryLimit": 1, "timeout": "100s"}}
    two.api.create(CAPM3_REMEDIATION, {"metadata": metadata, "spec": spec}, NAMESPACE)

    nothing_is_switched(two)

    assert reason(two.remediation) == "NodeNotInCluster"


def claim(world: PowerWorld, node: str, said: dict[str, str]) -> None:
    """A node registers with the provider ID of node-1 and with these annotations, and falls silent."""
    machine = world.world.machines[node]
    machine.provider_id, machine.annotations = f"metal3://{NAMESPACE}/node-1/m-1", said
    world.api.delete(NODE, node)
    machine.restart_kubelet()
    world.run(10.0)
    machine.connected = False


def ask_by_node(world: PowerWorld, node: str) -> None:
    world.api.create(METAL3_REMEDIATION, {"metadata": {"name": node}, "spec": QUICK}, NAMESPACE)


@pytest.mark.slow
@pytest.mark.attack("S8")
@pytest.mark.parametrize("machine", ["m-1", "m-3", None])
def test_a_node_that_states_the_provider_id_of_another(one: PowerWorld, machine: str | None) -> None:
    """It holds for any Machine that it names: the other's, its own, or none."""
    named = (
        {well_known.MACHINE_OF_NODE: machine, well_known.NAMESPACE_OF_CLUSTER: NAMESPACE} if machine else {}
    )
    claim(one, "node-3", named)
    ask_by_node(one, "node-3")

    nothing_is_switched(one)

    why = reason(one.api.get(METAL3_REMEDIATION, "node-3", NAMESPACE))
    assert why == ("WrongHost" if machine else "NodesShareIdentity")


@pytest.mark.slow
@pytest.mark.attack("S8")
def test_the_other_node_is_not_power_cycled_either_while_two_state_the_same() -> None:
    one = PowerWorld("one", check={"selector": {"matchLabels": {"nobody": "checks"}}})
    claim(one, "node-3", {})
    one.world.machines["node-1"].connected = False
    one.ask("node-1")

    nothing_is_switched(one)

    assert reason(one.remediation) == "NodesShareIdentity"

    one.api.delete(NODE, "node-3")
    one.run(240.0)

    assert one.status["host"]["name"] == "node-1"
    assert one.world.machines["node-1"].boots > 1
    one.close()


@pytest.mark.attack("S8")
def test_two_nodes_with_one_system_uuid(one: PowerWorld) -> None:
    info = {"systemUUID": system_uuid("node-1").upper().replace("-", "")}
    one.api.patch(NODE, "node-3", {"status": {"nodeInfo": info}}, at=("", "status"))
    one.world.machines["node-1"].connected = False
    one.ask("node-1")

    nothing_is_switched(one, 120.0)

    assert reason(one.remediation) == "NodesShareIdentity"


@pytest.mark.slow
@pytest.mark.attack("S2")
def test_a_machine_that_was_deleted_and_recreated(one: PowerWorld) -> None:
    """Its Metal3Machine and the host still belong to the deleted Machine."""
    old = one.api.get(MACHINE, "m-1", NAMESPACE) or {}
    metadata = {"name": "m-1", "finalizers": ["example.com/keep"]}
    one.api.patch(METAL3_MACHINE, "m-1", {"metadata": metadata}, at=(NAMESPACE, ""))
    one.api.delete(MACHINE, "m-1", NAMESPACE)
    one.api.create(MACHINE, {"metadata": {"name": "m-1"}, "spec": old["spec"]}, NAMESPACE)
    status = {"nodeRef": {"name": "node-1"}, "nodeInfo": old["status"]["nodeInfo"]}
    one.api.patch(MACHINE, "m-1", {"status": status}, at=(NAMESPACE, "status"))
    one.world.machines["node-1"].connected = False
    ask_by_node(one, "node-1")

    nothing_is_switched(one)

    assert reason(one.api.get(METAL3_REMEDIATION, "node-1", NAMESPACE)) == "WrongHost"


@pytest.mark.attack("S2")
def test_a_host_that_another_machine_uses_now(one: PowerWorld) -> None:
    consumer = {"kind": METAL3_MACHINE.kind, "name": "m-9", "namespace": NAMESPACE}
    one.patch_host({"spec": {"consumerRef": consumer}})
    one.world.machines["node-1"].connected = False
    one.ask("node-1")

    nothing_is_switched(one, 120.0)

    assert reason(one.remediation) == "WrongHost"
