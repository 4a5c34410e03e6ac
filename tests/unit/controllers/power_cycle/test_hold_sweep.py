"""A hold of ours whose remediation is gone does not keep a host off, unless its node is being emptied."""

from collections.abc import Iterator

import pytest

from nodemend.api import keys
from nodemend.api.custom_resources import CUSTOM_RESOURCES, definition_of
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION, NODE, POD
from nodemend.controllers.fresh_reads import Reader
from nodemend.controllers.power_cycle.hold_sweep import HoldSweep
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_request import Method
from nodemend.testing.api_server.admission import ADMIN
from nodemend.testing.api_server.server import SimulatedApiServer
from nodemend.testing.cluster.direct import Direct
from nodemend.testing.cluster.foreign_kinds import a_definition
from nodemend.testing.cluster.world import Account
from nodemend.testing.metal3.rack import NAMESPACE
from nodemend.testing.network import GOOD_LINK, Link, LinkQuality
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler
from nodemend.testing.transport import SimulatedTransport
from tests.unit.controllers.power_cycle.power_telling import Told
from tests.unit.controllers.power_cycle.power_world import SICK, PowerWorld

LEFT = f"{keys.OUR_HOLD_PREFIX}of-a-remediation-that-is-gone"
THEIRS = "reboot.metal3.io/somebody-else"


@pytest.fixture
def world() -> Iterator[PowerWorld]:
    found = PowerWorld("hold sweep")
    yield found
    found.close()


def hold(world: PowerWorld, *holds: str) -> None:
    """While some other remediation is open: then hosts are looked at every minute."""
    world.api.create(METAL3_REMEDIATION, {"metadata": {"name": "of-no-node"}}, NAMESPACE)
    world.patch_host({"metadata": {"annotations": dict.fromkeys(holds, keys.HARD_HOLD)}})


def test_it_is_taken_off_within_a_minute_and_the_host_comes_back(world: PowerWorld) -> None:
    hold(world, LEFT)
    world.run(150.0)

    assert LEFT not in world.annotations
    assert world.world.machines[SICK].powered
    assert world.world.machines[SICK].boots == 2


def test_where_nothing_is_remediated_it_is_found_within_half_an_hour(world: PowerWorld) -> None:
    world.patch_host({"metadata": {"annotations": {LEFT: keys.HARD_HOLD}}})
    world.run(300.0)
    assert LEFT in world.annotations
    world.run(1600.0)
    assert LEFT not in world.annotations


def test_anothers_hold_stays(world: PowerWorld) -> None:
    hold(world, LEFT, THEIRS)
    world.run(150.0)

    assert LEFT not in world.annotations
    assert THEIRS in world.annotations
    assert not world.world.machines[SICK].powered


def test_it_stays_while_the_node_has_our_taint(world: PowerWorld) -> None:
    ours = {"key": keys.OUT_OF_SERVICE, "value": keys.OUR_TAINT_VALUE, "effect": keys.NO_EXECUTE}
    world.api.patch(NODE, SICK, {"spec": {"taints": [ours]}})
    hold(world, LEFT)
    world.run(150.0)

    assert LEFT in world.annotations


def test_the_hold_of_a_living_one_is_its_own(world: PowerWorld) -> None:
    world.rack.bmcs[SICK].faults.off_never_done = True
    world.world.machines[SICK].hung = True
    world.ask(powerOffTimeoutSeconds=600)
    world.run(250.0)

    assert world.status["phase"] == "power-off"
    assert world.holds


class Sweeper:
    """One more that looks at all hosts, and tells what it saw."""

    def __init__(self, world: PowerWorld) -> None:
        scheduler = world.world.scheduler
        self.told = Told(scheduler)
        process = SimulatedProcess(scheduler, "sweeper", HostClock())
        transport = SimulatedTransport(Link(process, world.world.remediator, GOOD_LINK))
        client = ApiClient(transport, process)
        sweep = HoldSweep(Reader(client, process), client, self.told.recorder, lambda: True)
        process.spawn(sweep.run(), "sweep")

    @property
    def held(self) -> set[tuple[str, ...]]:
        """Host, namespace and remediation."""
        return set(self.told.samples("host_held_since_timestamp_seconds"))


def test_a_host_is_told_to_be_held_for_as_long_as_it_is(world: PowerWorld) -> None:
    world.rack.bmcs[SICK].faults.off_never_done = True
    world.world.machines[SICK].hung = True
    sweeper = Sweeper(world)
    world.ask(powerOffTimeoutSeconds=600)
    world.run(250.0)
    assert sweeper.held == {(SICK, NAMESPACE, "m-1")}

    # While hosts cannot be read, nothing new is known.
    world.world.remediator.forbidden.add((Method.GET, "baremetalhosts"))
    world.run(90.0)
    assert sweeper.held == {(SICK, NAMESPACE, "m-1")}

    world.world.remediator.forbidden.clear()
    world.api.delete(METAL3_REMEDIATION, "m-1", NAMESPACE)
    world.run(150.0)
    assert sweeper.held == set()


def test_one_that_is_left_behind_and_stays_is_told_without_a_remediation(world: PowerWorld) -> None:
    ours = {"key": keys.OUT_OF_SERVICE, "value": keys.OUR_TAINT_VALUE, "effect": keys.NO_EXECUTE}
    world.api.patch(NODE, SICK, {"spec": {"taints": [ours]}})
    hold(world, LEFT)
    sweeper = Sweeper(world)
    world.run(30.0)
    assert sweeper.held == {(SICK, NAMESPACE, "")}
    assert sweeper.told.samples("holds_left_behind_total") == {("kept",): 1.0}

    world.api.patch(NODE, SICK, {"spec": {"taints": None}})
    world.run(150.0)
    assert sweeper.held == set()


def test_where_one_stays_it_is_looked_at_again_every_minute(world: PowerWorld) -> None:
    """Also when nothing is remediated any more."""
    ours = {"key": keys.OUT_OF_SERVICE, "value": keys.OUR_TAINT_VALUE, "effect": keys.NO_EXECUTE}
    world.api.patch(NODE, SICK, {"spec": {"taints": [ours]}})
    world.patch_host({"metadata": {"annotations": {LEFT: keys.HARD_HOLD}}})
    world.run(1900.0)
    assert LEFT in world.annotations

    world.api.patch(NODE, SICK, {"spec": {"taints": None}})
    world.run(90.0)
    assert LEFT not in world.annotations


def test_it_stays_while_pods_are_left_of_a_node_that_is_gone(world: PowerWorld) -> None:
    """Perhaps it was deleted to release them: they are being removed by force."""
    pods = [pod for pod in world.api.list(POD) if pod["spec"]["nodeName"] == SICK]
    assert pods
    world.world.machines[SICK].hung = True
    world.api.delete(NODE, SICK)
    hold(world, LEFT)
    world.run(62.0)
    assert LEFT in world.annotations

    world.run(90.0)
    assert not [pod for pod in world.api.list(POD) if pod["spec"]["nodeName"] == SICK]
    assert LEFT not in world.annotations


def test_lists_that_take_longer_than_other_reads_are_waited_for() -> None:
    """All Nodes of a large cluster take ten seconds and more."""
    scheduler = Scheduler("slow lists")
    kinds = [definition_of(custom) for custom in CUSTOM_RESOURCES]
    server = SimulatedApiServer(scheduler.wall, definitions=[*kinds, a_definition(BARE_METAL_HOST)])
    account = Account(server, ADMIN)
    api, process = Direct(account), SimulatedProcess(scheduler, "remediator", HostClock())
    client = ApiClient(SimulatedTransport(Link(process, account, LinkQuality(delay=(4.0, 4.0)))), process)
    api.create(
        BARE_METAL_HOST, {"metadata": {"name": "h1", "annotations": {LEFT: keys.HARD_HOLD}}}, "default"
    )
    api.create(NODE, {"metadata": {"name": "n1"}, "spec": {"providerID": "metal3://default/h1/m1"}})
    sweep = HoldSweep(Reader(client, process), client, Told(scheduler).recorder, lambda: True)

    process.spawn(sweep.run(), "sweep")
    scheduler.run(scheduler.now + 60.0)

    host = api.get(BARE_METAL_HOST, "h1", "default")
    assert host is not None
    assert LEFT not in host["metadata"].get("annotations", {})
