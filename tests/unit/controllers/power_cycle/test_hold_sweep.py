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


class SlowSweep:
    """Hosts with their Nodes, and one that looks at them: every message takes it so many seconds."""

    def __init__(self, delay: float) -> None:
        self.scheduler = Scheduler("slow lists")
        kinds = [definition_of(custom) for custom in CUSTOM_RESOURCES]
        server = SimulatedApiServer(self.scheduler.wall, definitions=[*kinds, a_definition(BARE_METAL_HOST)])
        account = Account(server, ADMIN)
        self.api, process = Direct(account), SimulatedProcess(self.scheduler, "remediator", HostClock())
        link = Link(process, account, LinkQuality(delay=(delay, delay)))
        client = ApiClient(SimulatedTransport(link), process)
        sweep = HoldSweep(Reader(client, process), client, Told(self.scheduler).recorder, lambda: True)
        process.spawn(sweep.run(), "sweep")

    def add(self, host: str, *holds: str) -> None:
        metadata = {"name": host, "annotations": dict.fromkeys(holds, keys.HARD_HOLD)}
        self.api.create(BARE_METAL_HOST, {"metadata": metadata}, "default")
        spec = {"providerID": f"metal3://default/{host}/machine-of-{host}"}
        self.api.create(NODE, {"metadata": {"name": f"node-of-{host}"}, "spec": spec})

    def run(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    def holds(self, host: str) -> set[str]:
        found = self.api.get(BARE_METAL_HOST, host, "default")
        assert found is not None
        return set(found["metadata"].get("annotations", {}))


def test_lists_that_take_longer_than_other_reads_are_waited_for() -> None:
    """All Nodes of a large cluster take ten seconds and more."""
    slow = SlowSweep(delay=4.0)
    slow.add("h1", LEFT)
    slow.run(60.0)

    assert slow.holds("h1") == set()


def test_a_hold_that_lands_with_its_remediation_between_the_two_lists_stays() -> None:
    slow = SlowSweep(delay=1.0)
    slow.add("h1")
    slow.add("h2", LEFT)
    slow.run(2.0)  # The first list was answered at 1, and the second will be at 3.
    made = slow.api.create(METAL3_REMEDIATION, {"metadata": {"name": "r1"}}, "default")
    ours = f"{keys.OUR_HOLD_PREFIX}{made['metadata']['uid']}"
    change = {"metadata": {"annotations": {ours: keys.HARD_HOLD}}}
    slow.api.patch(BARE_METAL_HOST, "h1", change, at=("default", ""))
    slow.run(30.0)

    assert slow.holds("h1") == {ours}
    assert slow.holds("h2") == set(), "both lists were read"
