"""A simulated cluster whose machines are metal3's hosts: a hold on a host is the end of what ran there."""

from collections.abc import Iterator

import pytest

from nodemend.api.resources import BARE_METAL_HOST
from simulation.api_server.admission import User
from simulation.cluster.direct import Object
from simulation.cluster.foreign_kinds import a_definition
from simulation.cluster.world import Account, Shape, World
from simulation.metal3.host import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from simulation.metal3.rack import KINDS, NAMESPACE, Rack

HOLD = "reboot.metal3.io/nodemend"
SHAPE = Shape(machines=2, workloads=2, replicas=0, people=False, definitions=tuple(map(a_definition, KINDS)))


class Cluster:
    """One with a rack, once every host is known to be on."""

    def __init__(self) -> None:
        self.world = World(1, SHAPE)
        account = Account(self.world.server, User("baremetal-operator"))
        self.rack = Rack(self.world.scheduler, self.world.machines, account)
        self.rack.enrol(self.world.admin_api)
        self.run(60.0)

    def run(self, seconds: float) -> None:
        self.world.run(self.world.scheduler.now + seconds)

    def powered(self, machine: str) -> bool:
        return self.world.machines[machine].powered

    def status(self, host: str) -> Object:
        found = self.world.admin_api.get(BARE_METAL_HOST, host, NAMESPACE)
        assert found is not None
        status: Object = found["status"]
        return status

    def hold(self, host: str, value: str | None) -> None:
        change = {"metadata": {"annotations": {HOLD: value}}}
        self.world.admin_api.patch(BARE_METAL_HOST, host, change, at=(NAMESPACE, ""))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.rack.close()
    cluster.world.close()


def test_a_hold_stops_the_machine_and_its_release_boots_it_again(cluster: Cluster) -> None:
    machine = cluster.world.machines["node-1"]
    assert machine.running
    assert cluster.status("node-1")["poweredOn"]

    cluster.hold("node-1", '{"mode":"hard"}')
    cluster.run(15.0)

    assert not cluster.powered("node-1")
    assert not machine.running
    assert not cluster.status("node-1")["poweredOn"]
    assert cluster.powered("node-2")
    assert cluster.status("node-2")["poweredOn"]

    cluster.hold("node-1", None)
    cluster.run(15.0)

    assert cluster.powered("node-1")
    assert machine.boots == 2
    assert cluster.status("node-1")["poweredOn"]


def test_a_machine_that_does_not_obey_keeps_running_and_the_host_says_so(cluster: Cluster) -> None:
    cluster.rack.bmcs["node-1"].faults.off_never_done = True

    cluster.hold("node-1", '{"mode":"hard"}')
    cluster.run(150.0)

    assert cluster.world.machines["node-1"].running
    assert cluster.status("node-1")["poweredOn"]
    assert cluster.status("node-1")["errorType"] == "power management error"


def test_an_operator_that_died_is_started_again_and_carries_the_hold_out(cluster: Cluster) -> None:
    cluster.rack.operator.process.crash()
    cluster.hold("node-1", "")

    cluster.run(60.0)

    assert cluster.rack.operator.starts == 2
    assert not cluster.status("node-1")["poweredOn"]


def test_a_pressed_switch_is_not_seen_until_ironic_looks_and_switches_back(cluster: Cluster) -> None:
    cluster.rack.bmcs["node-1"].press(on=False)
    cluster.run(1.0)
    assert not cluster.powered("node-1")
    assert cluster.status("node-1")["poweredOn"]

    cluster.run(130.0)
    assert cluster.powered("node-1")
    assert cluster.world.machines["node-1"].boots == 2
    assert cluster.status("node-1")["poweredOn"]


def test_firmware_work_runs_a_machine_that_is_held_off_and_the_host_shows_it_off(cluster: Cluster) -> None:
    api, named = cluster.world.admin_api, {"metadata": {"name": "node-1"}}
    api.create(HOST_UPDATE_POLICY, {**named, "spec": {"firmwareSettings": "onReboot"}}, NAMESPACE)
    api.create(HOST_FIRMWARE_SETTINGS, named, NAMESPACE)
    wanted = [{"type": kind, "status": "True"} for kind in ("ChangeDetected", "Valid")]
    change = {"status": {"conditions": wanted}}
    api.patch(HOST_FIRMWARE_SETTINGS, "node-1", change, at=(NAMESPACE, "status"))

    cluster.hold("node-1", '{"mode":"hard"}')
    cluster.run(25.0)

    assert cluster.powered("node-1")
    assert cluster.status("node-1")["operationalStatus"] == "servicing"
    assert not cluster.status("node-1")["poweredOn"]

    cluster.run(90.0)

    assert not cluster.powered("node-1")
    assert cluster.status("node-1")["operationalStatus"] == "OK"
    assert cluster.world.machines["node-1"].boots == 2
