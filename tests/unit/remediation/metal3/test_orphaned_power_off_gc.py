"""A power-off request without a remediation does not keep a host off, unless its node is being emptied."""

from collections.abc import Iterator

import pytest

from nodemend.api import well_known
from nodemend.api.crds import CUSTOM_RESOURCES, definition_of
from nodemend.api.resources import BARE_METAL_HOST, METAL3_REMEDIATION, NODE, POD
from nodemend.kube.client import ApiClient
from nodemend.kube.request import Method
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.metal3.sweep import OrphanedPowerOffGC
from simulation.api_server.admission import ADMIN
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.foreign_kinds import a_definition
from simulation.cluster.world import Account
from simulation.metal3.rack import NAMESPACE
from simulation.network import GOOD_LINK, Link, LinkQuality
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport
from tests.unit.remediation.metal3.power_world import SICK, PowerWorld
from tests.unit.remediation.metal3.recorded_power_events import RecordedEvents

LEFT = f"{well_known.POWER_OFF_REQUEST_PREFIX}of-a-remediation-that-is-gone"
THEIRS = "reboot.metal3.io/somebody-else"


@pytest.fixture
def world() -> Iterator[PowerWorld]:
    found = PowerWorld("hold sweep")
    yield found
    found.close()


def hold(world: PowerWorld, *holds: str) -> None:
    """Put requests on a host while another remediation exists: then hosts are checked every minute."""
    world.api.create(METAL3_REMEDIATION, {"metadata": {"name": "of-no-node"}}, NAMESPACE)
    world.patch_host({"metadata": {"annotations": dict.fromkeys(holds, well_known.HARD_HOLD)}})


def test_it_is_taken_off_within_a_minute_and_the_host_comes_back(world: PowerWorld) -> None:
    hold(world, LEFT)
    world.run(150.0)

    assert LEFT not in world.annotations
    assert world.world.machines[SICK].powered
    assert world.world.machines[SICK].boots == 2


@pytest.mark.slow
def test_without_an_active_remediation_it_is_found_within_half_an_hour(world: PowerWorld) -> None:
    world.patch_host({"metadata": {"annotations": {LEFT: well_known.HARD_HOLD}}})
    world.run(300.0)
    assert LEFT in world.annotations
    world.run(1600.0)
    assert LEFT not in world.annotations


def test_a_hold_of_another_owner_stays(world: PowerWorld) -> None:
    hold(world, LEFT, THEIRS)
    world.run(150.0)

    assert LEFT not in world.annotations
    assert THEIRS in world.annotations
    assert not world.world.machines[SICK].powered


def test_it_stays_while_the_node_has_nodemend_s_taint(world: PowerWorld) -> None:
    ours = {
        "key": well_known.OUT_OF_SERVICE,
        "value": well_known.OUR_TAINT_VALUE,
        "effect": well_known.NO_EXECUTE,
    }
    world.api.patch(NODE, SICK, {"spec": {"taints": [ours]}})
    hold(world, LEFT)
    world.run(150.0)

    assert LEFT in world.annotations


@pytest.mark.slow
def test_the_hold_of_a_living_one_is_its_own(world: PowerWorld) -> None:
    world.rack.bmcs[SICK].faults.off_never_done = True
    world.world.machines[SICK].hung = True
    world.ask(powerOffTimeoutSeconds=600)
    world.run(250.0)

    assert world.status["phase"] == "power-off"
    assert world.holds


class Sweeper:
    """A second sweep over all hosts, and what it reports."""

    def __init__(self, world: PowerWorld) -> None:
        scheduler = world.world.scheduler
        self.reported = RecordedEvents(scheduler)
        process = SimulatedProcess(scheduler, "sweeper", HostClock())
        transport = SimulatedTransport(Link(process, world.world.remediator, GOOD_LINK))
        client = ApiClient(transport, process)
        sweep = OrphanedPowerOffGC(LiveReader(client, process), client, self.reported.recorder, lambda: True)
        process.spawn(sweep.run(), "sweep")

    @property
    def held(self) -> set[tuple[str, ...]]:
        """Host, namespace and remediation."""
        return set(self.reported.samples("host_held_since_timestamp_seconds"))


@pytest.mark.slow
def test_a_held_host_is_reported_for_as_long_as_it_is_held(world: PowerWorld) -> None:
    world.rack.bmcs[SICK].faults.off_never_done = True
    world.world.machines[SICK].hung = True
    sweeper = Sweeper(world)
    world.ask(powerOffTimeoutSeconds=600)
    world.run(250.0)
    assert sweeper.held == {(SICK, NAMESPACE, "m-1")}

    # While hosts cannot be read, nothing changes.
    world.world.remediator.forbidden.add((Method.GET, "baremetalhosts"))
    world.run(90.0)
    assert sweeper.held == {(SICK, NAMESPACE, "m-1")}

    world.world.remediator.forbidden.clear()
    world.api.delete(METAL3_REMEDIATION, "m-1", NAMESPACE)
    world.run(150.0)
    assert sweeper.held == set()


def test_an_orphaned_hold_that_stays_is_reported_without_a_remediation(world: PowerWorld) -> None:
    ours = {
        "key": well_known.OUT_OF_SERVICE,
        "value": well_known.OUR_TAINT_VALUE,
        "effect": well_known.NO_EXECUTE,
    }
    world.api.patch(NODE, SICK, {"spec": {"taints": [ours]}})
    hold(world, LEFT)
    sweeper = Sweeper(world)
    world.run(30.0)
    assert sweeper.held == {(SICK, NAMESPACE, "")}
    assert sweeper.reported.samples("power_off_requests_left_behind_total") == {("kept",): 1.0}

    world.api.patch(NODE, SICK, {"spec": {"taints": None}})
    world.run(150.0)
    assert sweeper.held == set()


@pytest.mark.slow
def test_a_host_with_an_orphaned_hold_is_checked_again_every_minute(world: PowerWorld) -> None:
    """This also holds after the last remediation is gone."""
    ours = {
        "key": well_known.OUT_OF_SERVICE,
        "value": well_known.OUR_TAINT_VALUE,
        "effect": well_known.NO_EXECUTE,
    }
    world.api.patch(NODE, SICK, {"spec": {"taints": [ours]}})
    world.patch_host({"metadata": {"annotations": {LEFT: well_known.HARD_HOLD}}})
    world.run(1900.0)
    assert LEFT in world.annotations

    world.api.patch(NODE, SICK, {"spec": {"taints": None}})
    world.run(90.0)
    assert LEFT not in world.annotations


def test_it_stays_while_pods_are_left_of_a_node_that_is_gone(world: PowerWorld) -> None:
    """It may have been deleted to release them: Kubernetes removes them by force."""
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
    """Hosts with their Nodes, and a sweep whose every message takes this many seconds."""

    def __init__(self, delay: float) -> None:
        self.scheduler = Scheduler("slow lists")
        kinds = [definition_of(custom) for custom in CUSTOM_RESOURCES]
        server = SimulatedApiServer(self.scheduler.wall, definitions=[*kinds, a_definition(BARE_METAL_HOST)])
        account = Account(server, ADMIN)
        self.api, process = Direct(account), SimulatedProcess(self.scheduler, "remediator", HostClock())
        link = Link(process, account, LinkQuality(delay=(delay, delay)))
        client = ApiClient(SimulatedTransport(link), process)
        sweep = OrphanedPowerOffGC(
            LiveReader(client, process), client, RecordedEvents(self.scheduler).recorder, lambda: True
        )
        process.spawn(sweep.run(), "sweep")

    def add(self, host: str, *holds: str) -> None:
        metadata = {"name": host, "annotations": dict.fromkeys(holds, well_known.HARD_HOLD)}
        self.api.create(BARE_METAL_HOST, {"metadata": metadata}, "default")
        spec = {"providerID": f"metal3://default/{host}/machine-of-{host}"}
        self.api.create(NODE, {"metadata": {"name": f"node-of-{host}"}, "spec": spec})

    def run(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds)

    def holds(self, host: str) -> set[str]:
        found = self.api.get(BARE_METAL_HOST, host, "default")
        assert found is not None
        return set(found["metadata"].get("annotations", {}))


def test_the_gc_waits_for_lists_that_take_longer_than_other_reads() -> None:
    """Listing all Nodes of a large cluster takes ten seconds and more."""
    slow = SlowSweep(delay=4.0)
    slow.add("h1", LEFT)
    slow.run(60.0)

    assert slow.holds("h1") == set()


def test_a_hold_that_lands_with_its_remediation_between_the_two_lists_stays() -> None:
    slow = SlowSweep(delay=1.0)
    slow.add("h1")
    slow.add("h2", LEFT)
    slow.run(2.0)  # The first list was answered at 1 s; the second is answered at 3 s.
    made = slow.api.create(METAL3_REMEDIATION, {"metadata": {"name": "r1"}}, "default")
    ours = f"{well_known.POWER_OFF_REQUEST_PREFIX}{made['metadata']['uid']}"
    change = {"metadata": {"annotations": {ours: well_known.HARD_HOLD}}}
    slow.api.patch(BARE_METAL_HOST, "h1", change, at=("default", ""))
    slow.run(30.0)

    assert slow.holds("h1") == {ours}
    assert slow.holds("h2") == set(), "both lists were read"
