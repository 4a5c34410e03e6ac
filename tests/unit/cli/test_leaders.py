"""Whether a controller is alive depends on its Lease and two clocks."""

from datetime import UTC, datetime, timedelta

import pytest

from nodemend.api.meta import print_micro_time
from nodemend.api.upstream_types import Lease, LeaseSpec
from nodemend.cli.cluster import LeaderState, LeaseReading, evaluate_leader, read_leaders
from nodemend.safety.facts import Absent, Present, Unreadable
from simulation.cluster.world import Shape, World
from tests.unit.cli.simulated_caller import SimulatedCaller

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
POD = "nodemend-checker-7d9f-x2x"


def lease(ago: float, holder: str = f"{POD}_0123456789abcdef01234567", lasts: int = 15) -> Present[Lease]:
    renewed = print_micro_time(NOW - timedelta(seconds=ago))
    return Present(
        Lease(spec=LeaseSpec(holder_identity=holder, lease_duration_seconds=lasts, renew_time=renewed))
    )


@pytest.mark.parametrize(
    ("seen", "state", "sentence"),
    [
        (lease(2), LeaderState.ALIVE, f"checker: {POD} leads, renewed 2s ago"),
        (lease(-10), LeaderState.ALIVE, f"checker: {POD} leads, renewed 0s ago"),
        (lease(16), LeaderState.SILENT, f"checker: {POD} led, but has not renewed its Lease for 16s"),
        (lease(-16), LeaderState.SILENT, f"checker: {POD} led, but has not renewed its Lease for 0s"),
        (lease(2, holder=""), LeaderState.NO_HOLDER, "checker: no replica leads"),
        (Absent(), LeaderState.NEVER, "checker: no replica has ever led; it may not be installed"),
        (Unreadable("forbidden"), LeaderState.UNKNOWN, "checker: cannot be read: forbidden"),
    ],
)
def test_a_single_read(seen: Present[Lease] | Absent | Unreadable, state: LeaderState, sentence: str) -> None:
    view = evaluate_leader("checker", LeaseReading(seen, NOW))

    assert (view.state, view.sentence) == (state, sentence)


def test_a_leader_that_renews_between_two_reads_is_alive_regardless_of_its_clock() -> None:
    view = evaluate_leader("checker", LeaseReading(lease(3600), NOW), LeaseReading(lease(3602), NOW))

    assert (view.state, view.clock_differs) == (LeaderState.ALIVE, True)


def test_a_leader_that_does_not_renew_is_silent() -> None:
    view = evaluate_leader("checker", LeaseReading(lease(3600), NOW), LeaseReading(lease(3600), NOW))

    assert view.state is LeaderState.SILENT


def test_a_live_controller_is_detected_at_once_and_a_hanging_one_after_a_second() -> None:
    world = World("leaders", Shape(people=False))
    caller = SimulatedCaller(world)
    world.run(30.0)
    alive = caller.run(read_leaders)
    looked_for = world.scheduler.now - 30.0
    for replica in world.replicas:
        if replica.name.startswith("checker"):
            replica.process.pause(200.0)
    world.run(75.0)
    hung = caller.run(read_leaders)
    world.close()

    assert [view.state for view in alive] == [LeaderState.ALIVE, LeaderState.ALIVE]
    assert looked_for < 1.0
    assert world.scheduler.now - 75.0 > 3.0
    assert [view.state for view in hung] == [LeaderState.SILENT, LeaderState.ALIVE]
