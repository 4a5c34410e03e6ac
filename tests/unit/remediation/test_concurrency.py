"""Concurrent passes: no two of them take the same slot, and an unused slot is released."""

from collections.abc import Iterator

import pytest

from nodemend.api import well_known
from nodemend.api.resources import METAL3_REMEDIATION, NODE, REMEDIATION_POLICY, SELF_REMEDIATION
from nodemend.cli.cluster import Cluster
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request, Selection
from nodemend.remediation.node_state import ConcurrencyTracker, OtherRemediations
from nodemend.safety.facts import Present, ReadResult
from simulation.cluster.direct import Direct
from simulation.network import Endpoint, ServedWatch
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.remediation.self_fencing.fencing_world import FencingWorld

ASKED = ("node-1", "node-2", "node-3", "node-4", "node-5")


@pytest.fixture
def seed() -> int:
    return 0


@pytest.fixture
def world(seed: int) -> Iterator[FencingWorld]:
    found = FencingWorld(f"at work {seed}", machines=12)
    yield found
    assert found.twice == []
    found.close()


def ask_for(world: FencingWorld, nodes: tuple[str, ...], *, at_once: int) -> None:
    world.api.patch(REMEDIATION_POLICY, well_known.POLICY_NAME, {"spec": {"maxConcurrent": at_once}})
    for name in nodes:
        world.ask(name)


def phases(world: FencingWorld) -> list[str]:
    found = world.api.list(SELF_REMEDIATION, Selection(well_known.SYSTEM_NAMESPACE))
    return [one.get("status", {}).get("phase", "Pending") for one in found]


def in_hand(world: FencingWorld) -> int:
    return sum(phase in ("Fencing", "Releasing") for phase in phases(world))


# Each seed is another race: in about half of them, two would start with one free slot.
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("at_once", [1, 2])
def test_simultaneous_requests_start_no_more_than_the_limit(world: FencingWorld, at_once: int) -> None:
    ask_for(world, ASKED, at_once=at_once)

    most = 0
    for _ in range(100):
        world.run(0.1)
        most = max(most, in_hand(world))

    assert most == at_once


class Gateway:
    """A proxy in front of the API server: it answers every start with 504, and applies it 20 s later."""

    def __init__(self, world: FencingWorld, behind: Endpoint) -> None:
        self._scheduler = world.world.scheduler
        self._behind = behind

    def handle(self, request: Request) -> ApiResponse:
        if not (request.writes and b'"Fencing"' in request.body):
            return self._behind.handle(request)
        self._scheduler.after(20.0, lambda: self._apply(request))
        return ApiResponse(504, b"{}")

    def _apply(self, request: Request) -> None:
        self._behind.handle(request)

    def watch(self, request: Request) -> ServedWatch | ApiResponse:
        return self._behind.watch(request)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_one_whose_beginning_had_no_answer_keeps_its_place_for_as_long_as_that_may_come(
    world: FencingWorld,
) -> None:
    for replica in world.world.replicas:
        replica.link.endpoint = Gateway(world, replica.link.endpoint)
    ask_for(world, ASKED[:3], at_once=1)

    most = 0
    while phases(world) != ["Succeeded"] * 3:
        world.run(0.5)
        assert world.world.scheduler.now < 1200.0, phases(world)
        most = max(most, in_hand(world))
    assert most == 1


@pytest.mark.slow
def test_a_freed_slot_is_used_by_the_next_remediation_until_each_had_one(world: FencingWorld) -> None:
    ask_for(world, ASKED, at_once=1)

    world.run_until(lambda: phases(world) == ["Succeeded"] * len(ASKED), 900.0)


@pytest.mark.slow
def test_ready_control_plane_members_are_remediated_one_after_the_other(
    world: FencingWorld,
) -> None:
    members = ASKED[:3]
    for name in members:
        labels = {"node-role.kubernetes.io/control-plane": ""}
        world.api.patch(NODE, name, {"metadata": {"labels": labels}})
    ask_for(world, members, at_once=5)

    most = 0
    while phases(world) != ["Succeeded"] * len(members):
        world.run(0.5)
        assert world.world.scheduler.now < 900.0, phases(world)
        most = max(most, sum(phase not in ("Pending", "Succeeded") for phase in phases(world)))
    assert most == 1


@pytest.mark.attack("U3")
@pytest.mark.parametrize(
    ("phase", "contradicted", "in_progress"),
    [("contradicted", "True", 1), ("failed", "True", 1), ("power-on", "False", 0), ("succeeded", "True", 0)],
)
def test_a_node_that_may_run_its_workloads_twice_keeps_its_slot(
    world: FencingWorld, phase: str, contradicted: str, in_progress: int
) -> None:
    """No remediator of this world serves power cycles, so the status stays."""
    world.api.create(METAL3_REMEDIATION, {"metadata": {"name": "node-1"}}, well_known.SYSTEM_NAMESPACE)
    said = {"type": "EvidenceContradicted", "status": contradicted, "reason": "Said"}
    said |= {"lastTransitionTime": "2026-01-01T12:00:00Z"}
    reported = {"status": {"phase": phase, "nodeName": "node-1", "released": True, "conditions": [said]}}
    as_remediator = Direct(world.world.remediator)
    as_remediator.patch(METAL3_REMEDIATION, "node-1", reported, at=(well_known.SYSTEM_NAMESPACE, "status"))

    async def count(cluster: Cluster) -> ReadResult[OtherRemediations]:
        return await ConcurrencyTracker(cluster.reader).others("another", "node-2", may_begin=False)

    seen = SimulatedCaller(world.world).run(count)
    assert isinstance(seen, Present)
    assert seen.value.in_progress == in_progress
    assert seen.value.released == frozenset({"node-1"} if phase == "power-on" else ())
